// Four selections of groups side by side, as rows of features that the Cholesky factor of their criterion is made
// of. Selections differ in length: shorter ones are filled up with the feature of which all numbers are zero.
// (Its pivots are the smallest there are, times which zero is zero.)
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "chains/group_chains.hpp"
#include "chains/replica_block.hpp"
#include "chains/subset_pack.hpp"

namespace safdr {

// What is close to a linear combination, for a first look that misses none.
constexpr double kCloseBy = 2.0;

struct GroupPack {
  const FeatureGroups& groups;
  std::vector<std::int32_t> features;  // rows x kPackSize
  std::int64_t n_rows[kPackSize];
  SubsetPack factor;

  // In vectors.
  static std::int64_t size(const FeatureGroups& groups, std::int64_t n_columns) {
    return SubsetPack::size(groups.most_rows(), n_columns);
  }

  // memory: size() vectors.
  GroupPack(const FeatureGroups& groups, const Criterion& criterion, Doubles* memory)
      : groups(groups), features(static_cast<std::size_t>(groups.most_rows() * kPackSize)), n_rows{},
        factor(groups.most_rows(), criterion, features.data(), memory) {}

  SAFDR_INLINE void clear() { std::fill_n(n_rows, kPackSize, 0); }

  SAFDR_INLINE void put(int slot, std::int64_t group) {
    for (std::int64_t i = groups.starts[group]; i < groups.starts[group + 1]; ++i) {
      features[static_cast<std::size_t>(n_rows[slot]++ * kPackSize + slot)] = groups.features[i];
    }
  }

  // Fills all selections up to the longest one, and to a multiple of some number; returns the length.
  SAFDR_INLINE std::int64_t fill(std::int64_t multiple) {
    std::int64_t length = *std::max_element(n_rows, n_rows + kPackSize);
    length += (multiple - length % multiple) % multiple;
    const auto filler = static_cast<std::int32_t>(factor.n_features - 1);
    for (int n = 0; n < kPackSize; ++n) {
      for (; n_rows[n] < length; ++n_rows[n]) features[static_cast<std::size_t>(n_rows[n] * kPackSize + n)] = filler;
    }
    return length;
  }

  // J of the members of each replica without the one at position a[n] (none, if that is negative).
  SAFDR_INLINE Doubles others(const ReplicaBlock& block, std::int64_t size, const std::int64_t* a) {
    clear();
    for (int n = 0; n < kPackSize; ++n) {
      for (std::int64_t l = 0; l < size; ++l) {
        if (l != a[n]) put(n, block.order[n][l]);
      }
    }
    return factor.extend(0, fill(2));
  }

  // What group u[n] adds to those that others() has looked at last.
  SAFDR_INLINE Doubles added(const std::int64_t* u) {
    const std::int64_t first = n_rows[0];
    for (int n = 0; n < kPackSize; ++n) put(n, u[n]);
    const std::int64_t last = fill(1);
    const Doubles result = factor.extend(first, last);
    std::fill_n(n_rows, kPackSize, first);
    return result;
  }

  // How many features of the groups that added() has looked at are close to linear combinations of those before
  // them.
  SAFDR_INLINE Flags n_redundant(const std::int64_t* u, double tol) const {
    Flags count{}, length{};
    for (int n = 0; n < kPackSize; ++n) length.set(n, groups.length(u[n]));
    const double least = 1.0 / (kCloseBy * tol);
    for (std::int64_t i = 0; any(length > i); ++i) {
      count -= (factor.inverse_left(n_rows[0] + i) >= least) & (length > i);
    }
    return count;
  }

  // Whether some group is a linear combination of the others: by the rule of single features (see
  // SubsetPack::gain), each of its features of those before it. The answer hangs on the selection alone, not on
  // the order of its groups. sorted: the groups of each replica, in increasing order.
  SAFDR_INLINE Flags has_redundant(const std::vector<std::int32_t>* sorted, double tol) {
    clear();
    for (int n = 0; n < kPackSize; ++n) {
      for (const std::int32_t group : sorted[n]) put(n, group);
    }
    factor.factorise(0, fill(1));
    Flags found{};
    for (int n = 0; n < kPackSize; ++n) {
      std::int64_t row = 0;
      for (const std::int32_t group : sorted[n]) {
        bool each = true;
        for (std::int64_t end = row + groups.length(group); row < end; ++row) each = each && is_redundant(n, row, tol);
        if (each) found.set(n, -1);
      }
    }
    return found;
  }

 private:
  SAFDR_INLINE bool is_redundant(int slot, std::int64_t row, double tol) const {
    const std::int32_t j = features[static_cast<std::size_t>(row * kPackSize + slot)];
    const double left = 1.0 / factor.inverse_left(row)[slot], own = factor.A[slot][j * factor.n_features + j];
    return left <= tol && left < 0.5 * own;
  }
};

}  // namespace safdr
