// Four selections of units side by side, as rows of features that the Cholesky factor of their criterion is made
// of. Selections differ in length: shorter ones are filled up with the feature of which all numbers are zero.
// (Its pivots are the smallest there are, times which zero is zero.)
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "chains/replica_block.hpp"
#include "chains/subset_pack.hpp"
#include "chains/group_chains.hpp"

namespace safdr {

// What is close to a linear combination, for a first look that misses none.
constexpr double kCloseBy = 2.0;

struct UnitLanes {
  const Units& units;
  std::vector<std::int32_t> features;  // rows x kLanes
  std::int64_t n_rows[kLanes];
  SubsetLanes factor;

  // In vectors.
  static std::int64_t size(const Units& units, std::int64_t n_columns) {
    return SubsetLanes::size(units.most_rows(), n_columns);
  }

  // memory: size() vectors.
  UnitLanes(const Units& units, const Criterion& criterion, Lanes* memory)
      : units(units), features(static_cast<std::size_t>(units.most_rows() * kLanes)), n_rows{},
        factor(units.most_rows(), criterion, features.data(), memory) {}

  SAFDR_INLINE void clear() { std::fill_n(n_rows, kLanes, 0); }

  SAFDR_INLINE void put(int lane, std::int64_t unit) {
    for (std::int64_t i = units.starts[unit]; i < units.starts[unit + 1]; ++i) {
      features[static_cast<std::size_t>(n_rows[lane]++ * kLanes + lane)] = units.features[i];
    }
  }

  // Fills all lanes up to the longest one, and to a multiple of some number; returns the length.
  SAFDR_INLINE std::int64_t fill(std::int64_t multiple) {
    std::int64_t length = *std::max_element(n_rows, n_rows + kLanes);
    length += (multiple - length % multiple) % multiple;
    const auto filler = static_cast<std::int32_t>(factor.n_features - 1);
    for (int n = 0; n < kLanes; ++n) {
      for (; n_rows[n] < length; ++n_rows[n]) features[static_cast<std::size_t>(n_rows[n] * kLanes + n)] = filler;
    }
    return length;
  }

  // J of the members of each lane without the one at position a[n] (none, if that is negative).
  SAFDR_INLINE Lanes others(const Group& group, std::int64_t size, const std::int64_t* a) {
    clear();
    for (int n = 0; n < kLanes; ++n) {
      for (std::int64_t l = 0; l < size; ++l) {
        if (l != a[n]) put(n, group.order[n][l]);
      }
    }
    return factor.extend(0, fill(2));
  }

  // What unit u[n] adds to those that others() has looked at last.
  SAFDR_INLINE Lanes added(const std::int64_t* u) {
    const std::int64_t first = n_rows[0];
    for (int n = 0; n < kLanes; ++n) put(n, u[n]);
    const std::int64_t last = fill(1);
    const Lanes result = factor.extend(first, last);
    std::fill_n(n_rows, kLanes, first);
    return result;
  }

  // How many features of the units that added() has looked at are close to linear combinations of those before
  // them.
  SAFDR_INLINE Flags n_needless(const std::int64_t* u, double tol) const {
    Flags count{}, length{};
    for (int n = 0; n < kLanes; ++n) length.set(n, units.length(u[n]));
    const double least = 1.0 / (kCloseBy * tol);
    for (std::int64_t i = 0; any(length > i); ++i) {
      count -= (factor.inverse_left(n_rows[0] + i) >= least) & (length > i);
    }
    return count;
  }

  // Whether some unit is a linear combination of the others: by the rule of single features (see
  // SubsetLanes::gain), each of its features of those before it. The answer hangs on the selection alone, not on
  // the order of its units. sorted: the units of one lane, in increasing order.
  SAFDR_INLINE Flags has_needless(const std::vector<std::int32_t>* sorted, double tol) {
    clear();
    for (int n = 0; n < kLanes; ++n) {
      for (const std::int32_t unit : sorted[n]) put(n, unit);
    }
    factor.factorise(0, fill(1));
    Flags found{};
    for (int n = 0; n < kLanes; ++n) {
      std::int64_t row = 0;
      for (const std::int32_t unit : sorted[n]) {
        bool each = true;
        for (std::int64_t end = row + units.length(unit); row < end; ++row) each = each && is_needless(n, row, tol);
        if (each) found.set(n, -1);
      }
    }
    return found;
  }

 private:
  SAFDR_INLINE bool is_needless(int lane, std::int64_t row, double tol) const {
    const std::int32_t j = features[static_cast<std::size_t>(row * kLanes + lane)];
    const double left = 1.0 / factor.inverse_left(row)[lane], own = factor.A[lane][j * factor.n_features + j];
    return left <= tol && left < 0.5 * own;
  }
};

}  // namespace safdr
