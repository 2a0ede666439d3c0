// Replicas, each a subset of a fixed number of groups of features; four of them side by side.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "simd/pack.hpp"

namespace safdr {

// Features that enter together: those of group u are features[starts[u]] to features[starts[u + 1]].
struct Groups {
  const std::int64_t* starts;
  const std::int32_t* features;
  std::int64_t n_groups;
  std::int64_t longest;  // features of the longest group
  std::int64_t width;    // features of the largest subset
};

// Row i of order is a permutation of the groups: first the members of the subset, of which the first n_fixed must stay;
// then the candidates, up to n_usable; the rest must stay out.
struct Replicas {
  std::int32_t* order;
  std::uint64_t* streams;  // four words of random state each
  std::int64_t n_replicas, size, n_fixed, n_usable;
  double sign;  // 1 to maximise J, -1 to minimise it (without groups and conflicts)
  // Null, or: conflicts between groups, n_groups x n_groups; cost of each group, subtracted from J.
  const std::uint8_t* conflicts;
  const double* cost;
};

inline std::int64_t count_blocks(std::int64_t n_replicas) { return (n_replicas + kPackSize - 1) / kPackSize; }

// Four neighbouring replicas. If there are fewer, the last one fills up the pack, and does not move in these slots.
struct ReplicaBlock {
  std::int64_t first, last;
  Flags alive;
  std::int32_t* order[kPackSize];
  std::uint64_t* streams[kPackSize];

  ReplicaBlock(const Replicas& replicas, std::int64_t n_groups, std::int64_t index)
      : first(index * kPackSize), last(std::min(first + kPackSize, replicas.n_replicas)) {
    for (int n = 0; n < kPackSize; ++n) {
      alive[n] = first + n < last ? -1 : 0;
      order[n] = replicas.order + replica(n) * n_groups;
      streams[n] = replicas.streams + 4 * replica(n);
    }
  }

  int n_alive() const { return static_cast<int>(last - first); }
  std::int64_t replica(int slot) const { return std::min(first + slot, last - 1); }

  // Moves the member at position a to the end of the members; the others keep their order.
  SAFDR_INLINE void move_to_end(std::int64_t a, std::int64_t size) {
    for (int n = 0; n < n_alive(); ++n) {
      const std::int32_t member = order[n][a];
      for (std::int64_t l = a; l + 1 < size; ++l) order[n][l] = order[n][l + 1];
      order[n][size - 1] = member;
    }
  }

  // Exchanges the groups at two positions in the replicas that accept it. (A branch would be unpredictable.)
  SAFDR_INLINE void exchange(std::int64_t a, const Flags& b, const Flags& accept) {
    for (int n = 0; n < kPackSize; ++n) {
      const std::int32_t first = order[n][a], second = order[n][b[n]];
      order[n][a] = accept[n] ? second : first;
      order[n][b[n]] = accept[n] ? first : second;
    }
  }
};

}  // namespace safdr
