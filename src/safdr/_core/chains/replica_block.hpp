// Four replicas side by side: where they have their members and random streams, what swaps cost them, and
// which they may and do accept. A member is a feature, or a group of several.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "chains/swap_chains.hpp"
#include "simd/pack.hpp"
#include "simd/vector_math.hpp"

namespace safdr {

// A swap that raises J by less than this share may be rounding error (among copies of a feature it is): a
// climb that followed it could go round in circles.
constexpr double kSmallestRise = 1e-9;

inline std::int64_t blocks_of(std::int64_t n_replicas) { return (n_replicas + kPackSize - 1) / kPackSize; }

// Four neighbouring replicas. Where there are fewer, the last one fills the places that are left, and never
// moves there.
struct BlockRange {
  std::int64_t first;
  int n_alive;
  Flags alive;

  BlockRange(std::int64_t block, std::int64_t n_replicas)
      : first(block * kPackSize), n_alive(static_cast<int>(std::min<std::int64_t>(kPackSize, n_replicas - first))) {
    for (int n = 0; n < kPackSize; ++n) alive.set(n, n < n_alive ? -1 : 0);
  }

  std::int64_t replica(int slot) const { return first + std::min(slot, n_alive - 1); }
};

// The first `size` numbers of each row of the range, interleaved: size x kPackSize.
inline std::vector<std::int32_t> interleave(const BlockRange& range, const std::int32_t* rows, std::int64_t row_length,
                                            std::int64_t size) {
  std::vector<std::int32_t> members(static_cast<std::size_t>(size * kPackSize));
  for (int n = 0; n < kPackSize; ++n) {
    const std::int32_t* row = rows + range.replica(n) * row_length;
    for (std::int64_t l = 0; l < size; ++l) members[static_cast<std::size_t>(l * kPackSize + n)] = row[l];
  }
  return members;
}

// A range of replicas with its places in their arrays.
struct ReplicaBlock {
  BlockRange range;
  std::int32_t* order[kPackSize];
  std::uint64_t* streams[kPackSize];
  std::vector<std::int32_t> members;

  ReplicaBlock(const Replicas& replicas, std::int64_t n_features, std::int64_t index)
      : range(index, replicas.n_replicas), members(interleave(range, replicas.order, n_features, replicas.size)) {
    for (int n = 0; n < kPackSize; ++n) {
      order[n] = replicas.order + range.replica(n) * n_features;
      streams[n] = replicas.streams + 4 * range.replica(n);
    }
  }

  // The member at position a and the feature at place b[n] of the order change roles.
  SAFDR_INLINE void swap(std::int64_t a, const std::int64_t* b, const Flags& accept) {
    for (int n = 0; n < kPackSize; ++n) {
      if (accept[n]) swap(n, a, b[n]);
    }
  }

  SAFDR_INLINE void swap(int slot, std::int64_t a, std::int64_t b) {
    std::swap(order[slot][a], order[slot][b]);
    members[static_cast<std::size_t>(a * kPackSize + slot)] = order[slot][a];
  }
};

// What it costs to take feature j[n] in for the member at position a.
SAFDR_INLINE Doubles swap_cost(const double* cost, const ReplicaBlock& block, std::int64_t a, const std::int64_t* j) {
  const std::int32_t* leaving = block.members.data() + a * kPackSize;
  return gather([&](int n) { return cost[j[n]] - cost[leaving[n]]; });
}

// What the members cost, all together.
SAFDR_INLINE Doubles members_cost(const double* cost, const ReplicaBlock& block, std::int64_t k) {
  Doubles sum = constant(0.0);
  for (std::int64_t l = 0; l < k; ++l) {
    const std::int32_t* member = block.members.data() + l * kPackSize;
    sum += gather([&](int n) { return cost[member[n]]; });
  }
  return sum;
}

// Where feature j[n] may come in: the position of the only member it is in conflict with, kAnywhere if there
// is none, kNowhere if there are several. Replicas that do not ask get kAnywhere.
constexpr std::int64_t kAnywhere = -1, kNowhere = -2;

SAFDR_INLINE Flags places_for(const Replicas& replicas, const ReplicaBlock& block, std::int64_t n_features,
                              const std::int64_t* j, const Flags& ask) {
  Flags place = broadcast(kAnywhere);
  for (int n = 0; n < kPackSize; ++n) {
    if (!ask[n]) continue;
    const std::uint8_t* row = replicas.conflicts + j[n] * n_features;
    for (std::int64_t l = 0; l < replicas.size && place[n] != kNowhere; ++l) {
      if (row[block.order[n][l]]) place.set(n, place[n] == kAnywhere ? l : kNowhere);
    }
  }
  return place;
}

SAFDR_INLINE Flags fits(const Flags& place, std::int64_t a) { return (place == kAnywhere) | (place == a); }

// The Metropolis rule, for a uniform draw and beta times the gain.
SAFDR_INLINE Flags accepted(const Doubles& draw, const Doubles& exponent) {
  const Doubles loss = choose(exponent < 0.0, constant(0.0) - exponent, constant(0.0));
  Doubles probability;
  for (int i = 0; i < loss.kParts; ++i) probability.part[i] = exp_minus<Words::Part>(loss.part[i]);
  return draw < probability;
}

}  // namespace safdr
