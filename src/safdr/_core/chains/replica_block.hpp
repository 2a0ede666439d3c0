// Four replicas side by side: where they have their members and random streams, what swaps cost them, and
// which they may and do accept. A member is a feature, or a unit of several.
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

inline std::int64_t groups_of(std::int64_t n_replicas) { return (n_replicas + kLanes - 1) / kLanes; }

// Four neighbouring replicas. Where there are fewer, the last one fills the lanes that are left, and never
// moves there.
struct LaneRange {
  std::int64_t first;
  int n_lanes;
  Flags alive;

  LaneRange(std::int64_t group, std::int64_t n_replicas)
      : first(group * kLanes),
        n_lanes(static_cast<int>(std::min<std::int64_t>(kLanes, n_replicas - first))) {
    for (int n = 0; n < kLanes; ++n) alive.set(n, n < n_lanes ? -1 : 0);
  }

  std::int64_t replica(int lane) const { return first + std::min(lane, n_lanes - 1); }
};

// The first `size` numbers of each row of the range, lane by lane: size x kLanes.
inline std::vector<std::int32_t> interleave(const LaneRange& range, const std::int32_t* rows,
                                            std::int64_t row_length, std::int64_t size) {
  std::vector<std::int32_t> members(static_cast<std::size_t>(size * kLanes));
  for (int n = 0; n < kLanes; ++n) {
    const std::int32_t* row = rows + range.replica(n) * row_length;
    for (std::int64_t l = 0; l < size; ++l) members[static_cast<std::size_t>(l * kLanes + n)] = row[l];
  }
  return members;
}

// A range of replicas with its places in their arrays.
struct Group {
  LaneRange range;
  std::int32_t* order[kLanes];
  std::uint64_t* streams[kLanes];
  std::vector<std::int32_t> members;

  Group(const Replicas& replicas, std::int64_t n_features, std::int64_t index)
      : range(index, replicas.n_replicas),
        members(interleave(range, replicas.order, n_features, replicas.size)) {
    for (int n = 0; n < kLanes; ++n) {
      order[n] = replicas.order + range.replica(n) * n_features;
      streams[n] = replicas.streams + 4 * range.replica(n);
    }
  }

  // The member at position a and the feature at place b[n] of the order change roles.
  SAFDR_INLINE void swap(std::int64_t a, const std::int64_t* b, const Flags& accept) {
    for (int n = 0; n < kLanes; ++n) {
      if (accept[n]) swap(n, a, b[n]);
    }
  }

  SAFDR_INLINE void swap(int lane, std::int64_t a, std::int64_t b) {
    std::swap(order[lane][a], order[lane][b]);
    members[static_cast<std::size_t>(a * kLanes + lane)] = order[lane][a];
  }
};

// What it costs to take feature j[n] in for the member at position a.
SAFDR_INLINE Lanes swap_cost(const double* cost, const Group& group, std::int64_t a, const std::int64_t* j) {
  const std::int32_t* leaving = group.members.data() + a * kLanes;
  return gather([&](int n) { return cost[j[n]] - cost[leaving[n]]; });
}

// What the members cost, all together.
SAFDR_INLINE Lanes members_cost(const double* cost, const Group& group, std::int64_t k) {
  Lanes sum = constant(0.0);
  for (std::int64_t l = 0; l < k; ++l) {
    const std::int32_t* member = group.members.data() + l * kLanes;
    sum += gather([&](int n) { return cost[member[n]]; });
  }
  return sum;
}

// Where feature j[n] may come in: the position of the only member it is in conflict with, kAnywhere if there
// is none, kNowhere if there are several. Lanes that do not ask get kAnywhere.
constexpr std::int64_t kAnywhere = -1, kNowhere = -2;

SAFDR_INLINE Flags places_for(const Replicas& replicas, const Group& group, std::int64_t n_features,
                              const std::int64_t* j, const Flags& ask) {
  Flags place = broadcast(kAnywhere);
  for (int n = 0; n < kLanes; ++n) {
    if (!ask[n]) continue;
    const std::uint8_t* row = replicas.conflicts + j[n] * n_features;
    for (std::int64_t l = 0; l < replicas.size && place[n] != kNowhere; ++l) {
      if (row[group.order[n][l]]) place.set(n, place[n] == kAnywhere ? l : kNowhere);
    }
  }
  return place;
}

SAFDR_INLINE Flags fits(const Flags& place, std::int64_t a) { return (place == kAnywhere) | (place == a); }

// The Metropolis rule, for a uniform draw and beta times the gain.
SAFDR_INLINE Flags accepted(const Lanes& draw, const Lanes& exponent) {
  const Lanes loss = choose(exponent < 0.0, constant(0.0) - exponent, constant(0.0));
  Lanes probability;
  for (int i = 0; i < loss.kParts; ++i) probability.part[i] = exp_minus<Words::Part>(loss.part[i]);
  return draw < probability;
}

}  // namespace safdr
