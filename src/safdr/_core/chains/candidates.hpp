// Gains of groups given the members of four replicas, one of which may leave: shared by sweeps and local search.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "chains/factor.hpp"
#include "chains/replicas.hpp"

namespace safdr {

// Candidates that are evaluated at a time for the place of one member: two blocks of four rows.
constexpr int kBatch = 8;

constexpr double kNever = -std::numeric_limits<double>::infinity();

struct Candidates {
  const Groups& groups;
  const Replicas& replicas;
  ReplicaBlock block;
  Factor& factor;
  Flags place[kBatch];   // of the candidates, in the order of each replica
  Doubles gain[kBatch];  // gain of each given the other members, less its cost

  Candidates(const Groups& groups, const Replicas& replicas, std::int64_t index, Factor& factor)
      : groups(groups), replicas(replicas), block(replicas, groups.n_groups, index), factor(factor) {}

  // A factor for one block of replicas after the other.
  static Factor make_factor(const Criterion& criterion, const Groups& groups) {
    return Factor(groups.width + kBatch * groups.longest, groups.width + groups.longest, criterion);
  }

  // Builds the factor of all members; returns J less their cost.
  SAFDR_INLINE Doubles build() {
    Doubles value = build_members(replicas.size);
    for (std::int64_t l = 0; l < replicas.size; ++l) value -= cost_at(l);
    return value;
  }

  // Moves the member at position a to the end: it may leave. The factor of all members becomes that of the others.
  // Returns the gain of the member given them, less its cost.
  SAFDR_INLINE Doubles open(std::int64_t a) {
    const std::int64_t last = replicas.size - 1;
    block.move_to_end(a, replicas.size);
    if (groups.longest == 1) return factor.open(a) - cost_at(last);
    build_members(last);
    place[0] = constant(last);
    evaluate(1);
    return gain[0];
  }

  // Candidates, by number, take the place of the member at the end; -1 leaves it there.
  SAFDR_INLINE void replace(const Flags& t) {
    if (groups.longest == 1 && any(t >= std::int64_t{0})) factor.replace(t + replicas.size);
  }

  // The member at the end stays.
  SAFDR_INLINE void close() {
    if (groups.longest == 1) factor.close();  // for groups open() builds the factor
  }

  // Gains of the candidates at some positions.
  SAFDR_INLINE void evaluate(int count) {
    if (groups.longest == 1) {
      evaluate_features(count);
    } else {
      evaluate_groups(count);
    }
    for (int t = 0; t < count; ++t) {
      if (replicas.cost != nullptr) {
        gain[t] -= gather([&](int n) SAFDR_INLINE_LAMBDA { return replicas.cost[block.order[n][place[t][n]]]; });
      }
      if (replicas.conflicts != nullptr) gain[t] = choose(excluded(place[t]), constant(kNever), gain[t]);
    }
  }

 private:
  SAFDR_INLINE Doubles build_members(std::int64_t count) {
    factor.clear();
    if (groups.longest == 1) {
      for (std::int64_t l = 0; l < count; ++l) {
        for (int n = 0; n < kPackSize; ++n) factor.put(n, l, block.order[n][l]);
      }
      return factor.extend(count);
    }
    return factor.extend(put(0, count, [&](int n, std::int64_t l) { return block.order[n][l]; }));
  }

  SAFDR_INLINE void evaluate_features(int count) {
    const std::int64_t first = replicas.size;  // after the row of the member that may leave
    for (int t = 0; t < count; ++t) {
      for (int n = 0; n < kPackSize; ++n) factor.put(n, first + t, block.order[n][place[t][n]]);
    }
    factor.solve(first, first + count);
    for (int t = 0; t < count; ++t) gain[t] = factor.added(first + t);
  }

  SAFDR_INLINE void evaluate_groups(int count) {
    std::int64_t start[kBatch + 1] = {factor.length()};
    for (int t = 0; t < count; ++t) {
      start[t + 1] = put(start[t], 1, [&](int n, std::int64_t) { return block.order[n][place[t][n]]; });
    }
    factor.solve(start[0], start[count]);
    for (int t = 0; t < count; ++t) gain[t] = factor.finish(start[t], start[t + 1]);
  }

  // Puts the features of some groups into rows from `first` on; returns where they end, shorter ones filled up.
  template <class Get>
  SAFDR_INLINE std::int64_t put(std::int64_t first, std::int64_t count, Get group) {
    std::int64_t end[kPackSize], last = first;
    for (int n = 0; n < kPackSize; ++n) {
      end[n] = first;
      for (std::int64_t l = 0; l < count; ++l) {
        const std::int32_t u = group(n, l);
        for (std::int64_t i = groups.starts[u]; i < groups.starts[u + 1]; ++i) {
          factor.put_or_fill(n, end[n]++, groups.features[i]);
        }
      }
      last = std::max(last, end[n]);
    }
    for (int n = 0; n < kPackSize; ++n) {
      while (end[n] < last) factor.put_or_fill(n, end[n]++, -1);
    }
    return last;
  }

  SAFDR_INLINE Doubles cost_at(std::int64_t l) const {
    if (replicas.cost == nullptr) return constant(0.0);
    return gather([&](int n) SAFDR_INLINE_LAMBDA { return replicas.cost[block.order[n][l]]; });
  }

  // Returns true for candidates in conflict with a member other than the last one.
  SAFDR_INLINE Flags excluded(const Flags& at) const {
    Flags found{};
    for (int n = 0; n < kPackSize; ++n) {
      const std::uint8_t* conflicts = replicas.conflicts + block.order[n][at[n]] * groups.n_groups;
      const auto conflict = [&](std::int32_t member) { return conflicts[member] != 0; };
      if (at[n] >= replicas.size && std::any_of(block.order[n], block.order[n] + replicas.size - 1, conflict)) {
        found[n] = -1;
      }
    }
    return found;
  }
};

}  // namespace safdr
