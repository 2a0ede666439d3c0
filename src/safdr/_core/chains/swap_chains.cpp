#include "chains/swap_chains.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "aligned.hpp"
#include "parallel.hpp"
#include "chains/random.hpp"
#include "chains/replica_block.hpp"

namespace safdr {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Groups that share the positions to be replaced: eight replicas. One group's arithmetic fills the time that
// another one's waits; each is updated only where one of its own four accepts.
constexpr std::int64_t kTeam = 2;

// Drift is told relative to the value, or to this, where no class differs from another and values are rounding.
constexpr double kLeastValue = 1e-9;

// Builds the state anew, and notes by how much its value had drifted, relative to itself.
SAFDR_INLINE void rebuild(SubsetLanes& state, const Flags& count, Lanes& worst) {
  const Lanes incremental = state.value;
  state.build();
  const Lanes size = absolute(state.value);
  const Lanes drift =
      absolute(incremental - state.value) / choose(size > kLeastValue, size, constant(kLeastValue));
  worst = choose(count & (drift > worst), drift, worst);
}

// The states of one group: one under the criterion of each lane, or one under each criterion of the stack.
std::vector<SubsetLanes> make_states(const CriterionStack& criteria, bool draw_each, const Group& group,
                                     std::int64_t size, Lanes* memory) {
  const std::int64_t n_states = draw_each ? criteria.n_criteria : 1;
  std::vector<SubsetLanes> states;
  states.reserve(static_cast<std::size_t>(n_states));
  for (std::int64_t s = 0; s < n_states; ++s) {
    states.emplace_back(size, criteria[s], group.members.data(), memory);
    memory += SubsetLanes::size(size, criteria.n_columns);
  }
  return states;
}

// A group on its way: what it looks at, and what came of it.
struct Walkers {
  Group group;
  std::vector<SubsetLanes> states;
  RandomLanes random;
  Lanes beta, gain, worst_drift;
  Flags accept, n_accepted;
  std::int64_t b[kLanes], j[kLanes];  // the candidates: their places in the order, and who they are

  Walkers(const CriterionStack& criteria, const Replicas& replicas, bool draw_each, std::int64_t index,
          Lanes* memory)
      : group(replicas, criteria.n_features, index),
        states(make_states(criteria, draw_each, group, replicas.size, memory)), random(group.streams), beta{},
        gain{}, worst_drift{}, accept{}, n_accepted{} {}

  SAFDR_INLINE void draw_candidates(const Words& bits, const Replicas& replicas) {
    const Words places = RandomLanes::below(bits >> 32, replicas.n_usable - replicas.size) +
                         static_cast<std::uint64_t>(replicas.size);
    for (int n = 0; n < kLanes; ++n) {
      b[n] = static_cast<std::int64_t>(places[n]);
      j[n] = group.order[n][b[n]];
    }
  }

  // Which lanes accept their candidate for the member at position a, under the criterion of one state. Conflicts
  // and costs are compiled apart, so that those without them do not pay for the questions.
  template <bool kLimited>
  SAFDR_INLINE void decide(SubsetLanes& state, std::int64_t a, double tol, const Replicas& replicas) {
    Flags possible;
    // What an accepted swap needs and a refused one does not costs less beforehand than afterwards: it is
    // computed if the last proposal was accepted.
    const Lanes left = state.look(j, any(accept));
    gain = state.gain(a, left, state.projection(a), tol, possible);
    Lanes rise = gain;
    if (kLimited && replicas.cost != nullptr) rise -= swap_cost(replicas.cost, group, a, j);
    accept = group.range.alive & possible & accepted(random.uniform(), beta * rise);
    if (kLimited && replicas.conflicts != nullptr) {
      accept = accept & fits(places_for(replicas, group, state.n_features, j, accept), a);
    }
  }

  SAFDR_INLINE void move(SubsetLanes& state, std::int64_t a) {
    state.swap(a, gain, accept);
    Flags unknown{}, possible;
    for (SubsetLanes& other : states) {
      if (&other == &state) continue;
      // A tolerance of zero: the other criteria follow the one that was asked. Where one can't, its value
      // is marked as unknown, and it is built anew.
      const Lanes its_left = other.look(j, true);
      const Lanes its_gain = other.gain(a, its_left, other.projection(a), 0.0, possible);
      other.swap(a, its_gain, accept & possible);
      other.value = choose(accept & ~possible, constant(std::nan("")), other.value);
      unknown |= accept & ~possible;
    }
    group.swap(a, b, accept);
    n_accepted -= accept;
    for (SubsetLanes& each : states) {
      each.confirm_wear(a);
      unknown |= each.worn;
    }
    if (any(unknown)) rebuild_all();
  }

  SAFDR_INLINE void rebuild_all() {
    for (SubsetLanes& each : states) rebuild(each, group.range.alive, worst_drift);
  }
};

// One sweep of neighbouring groups, which share positions: those that the first replica of all draws.
template <bool kLimited>
SAFDR_INLINE void sweep_together(const Replicas& replicas, std::vector<Walkers>& team, const SweepOptions& options) {
  const std::int64_t n_members = replicas.size - replicas.n_fixed;
  const std::size_t n_states = team[0].states.size();
  for (Walkers& walkers : team) {
    walkers.n_accepted = Flags{};
    for (SubsetLanes& state : walkers.states) state.build();
  }
  for (std::int64_t t = 0; t < options.n_proposals; ++t) {
    if (stopped_at(t)) return;
    std::uint64_t first = 0, second = 0;
    for (Walkers& walkers : team) {
      const Words bits = walkers.random.bits();
      walkers.draw_candidates(bits, replicas);
      if (&walkers == &team[0]) first = bits[0] & 0xffffffffu;
      if (n_states == 1) continue;
      const Words more = walkers.random.bits();
      if (&walkers == &team[0]) second = more[0] >> 32;
    }
    const std::int64_t a = replicas.n_fixed + static_cast<std::int64_t>(RandomLanes::below(first, n_members));
    const std::size_t drawn = RandomLanes::below(second, static_cast<std::int64_t>(n_states));
    // All decide before any moves: so the processor can work on several.
    for (Walkers& walkers : team) {
      walkers.decide<kLimited>(walkers.states[drawn], a, options.collinear_tol, replicas);
    }
    for (Walkers& walkers : team) {
      if (any(walkers.accept)) walkers.move(walkers.states[drawn], a);
    }
  }
}

// J of four subsets under one criterion.
SAFDR_INLINE Lanes evaluate_lanes(const Criterion& criterion, const std::int32_t* members, std::int64_t k,
                                  Lanes* memory) {
  SubsetLanes state(k, criterion, members, memory);
  state.evaluate();
  return state.value;
}

SAFDR_CLONES void value_lanes(const Criterion& criterion, const std::int32_t* members, std::int64_t k,
                              const LaneRange& range, Lanes* memory, double* values, double* left) {
  const Lanes value = evaluate_lanes(criterion, members, k, memory);
  for (int n = 0; n < range.n_lanes; ++n) values[range.first + n] = value[n];
  if (left == nullptr) return;
  for (std::int64_t l = 0; l < k; ++l) {
    // The factor's diagonal, inverted, is in the memory still.
    const Lanes diagonal = memory[l * (l + 1) / 2 + l], variance = 1.0 / (diagonal * diagonal);
    for (int n = 0; n < range.n_lanes; ++n) left[(range.first + n) * k + l] = variance[n];
  }
}

// All sweeps of a team. The value on all rows is computed in the memory of the first state, which is built
// anew with the next sweep anyway.
SAFDR_CLONES void sweep_often(const CriterionStack& criteria, const Criterion& all_rows,
                              const Replicas& replicas, std::vector<Walkers>& team, const double* beta,
                              const std::int64_t* which, std::int64_t n_sweeps, const SweepOptions& options,
                              const SweepReport& report) {
  const bool limited = replicas.conflicts != nullptr || replicas.cost != nullptr;
  for (std::int64_t t = 0; t < n_sweeps && !stopped(); ++t) {
    const std::int64_t row = t * replicas.n_replicas;
    for (Walkers& walkers : team) {
      const LaneRange& range = walkers.group.range;
      walkers.beta = gather([&](int n) { return beta[row + range.replica(n)]; });
      for (int n = 0; which != nullptr && n < kLanes; ++n) {
        walkers.states[0].set_criterion(n, criteria[which[row + range.replica(n)]]);
      }
    }
    if (limited) {
      sweep_together<true>(replicas, team, options);
    } else {
      sweep_together<false>(replicas, team, options);
    }
    for (Walkers& walkers : team) {
      const LaneRange& range = walkers.group.range;
      if (team[0].group.range.first == 0 && t + 1 == n_sweeps) walkers.rebuild_all();
      Lanes value = evaluate_lanes(all_rows, walkers.group.members.data(), replicas.size, walkers.states[0].P);
      if (replicas.cost != nullptr) value -= members_cost(replicas.cost, walkers.group, replicas.size);
      for (int n = 0; n < range.n_lanes; ++n) {
        report.accepted[row + range.first + n] = walkers.n_accepted[n];
        report.values[row + range.first + n] = value[n];
      }
    }
  }
  for (Walkers& walkers : team) {
    const LaneRange& range = walkers.group.range;
    walkers.random.store(walkers.group.streams, range.n_lanes);
    for (int n = 0; n < range.n_lanes; ++n) report.drift[range.first + n] = walkers.worst_drift[n];
  }
}

// What `sign` times J loses when a member goes, and the inverse of its place on the diagonal of P.
SAFDR_INLINE void price_members(const SubsetLanes& state, double sign, Lanes* lost, Lanes* inverse_p) {
  for (std::int64_t a = 0; a < state.k; ++a) {
    inverse_p[a] = state.inverse_diagonal(a);
    lost[a] = sign * state.loss(a) * inverse_p[a];
  }
}

// One round over all candidates: each comes in for the member whose place it fills best, if that raises `sign`
// times J. False when nothing moved. scratch: two numbers a member.
SAFDR_INLINE bool climb_round(SubsetLanes& state, const Replicas& replicas, Group& group, double sign,
                              const Flags& active, double tol, Lanes* scratch) {
  bool moved = false;
  Lanes *lost = scratch, *inverse_p = scratch + state.k;
  price_members(state, sign, lost, inverse_p);
  for (std::int64_t place = replicas.size; place < replicas.n_usable; ++place) {
    if (stopped_at(place)) return false;
    std::int64_t b[kLanes], j[kLanes];
    for (int n = 0; n < kLanes; ++n) {
      b[n] = place;
      j[n] = group.order[n][place];
    }
    Flags position = broadcast(kAnywhere);
    if (replicas.conflicts != nullptr) position = places_for(replicas, group, state.n_features, j, active);
    const Lanes left = state.look(j, true);
    Lanes most = kSmallestRise * absolute(state.value);
    Flags best = broadcast<std::int64_t>(-1), possible;
    for (std::int64_t a = replicas.n_fixed; a < replicas.size; ++a) {
      Lanes cost = constant(0.0);
      if (replicas.cost != nullptr) cost = swap_cost(replicas.cost, group, a, j);
      const Lanes gained = replicas.cost == nullptr ? most + lost[a] : most + cost + lost[a];
      Flags better = active & state.gains_more(a, left, inverse_p[a], sign, gained, tol);
      if (replicas.conflicts != nullptr) better = better & fits(position, a);
      if (!any(better)) continue;
      Lanes rise = sign * state.gain(a, left, state.g[a], tol, possible);
      if (replicas.cost != nullptr) rise -= cost;
      most = choose(better, rise, most);
      best = choose(better, broadcast(a), best);
    }
    if (!any(best >= std::int64_t{0})) continue;
    moved = true;
    for (std::int64_t a = replicas.n_fixed; a < replicas.size; ++a) {
      const Flags accept = best == a;
      if (!any(accept)) continue;
      // A swap in another lane leaves this lane as it was, but not what gain() has noted.
      state.look(j, true);
      const Lanes gain = state.gain(a, left, state.g[a], tol, possible);
      state.swap(a, gain, accept);
      group.swap(a, b, accept);
      state.confirm_wear(a);
    }
    if (any(state.worn)) state.build();
    price_members(state, sign, lost, inverse_p);
  }
  return moved;
}

SAFDR_CLONES void climb_group(const Criterion& criterion, const Replicas& replicas, Group& group, double sign,
                              double tol, Lanes* memory, double* values) {
  SubsetLanes state(replicas.size, criterion, group.members.data(), memory);
  state.build();
  // A lane goes on as long as a round has raised its value, computed from scratch: so all come to an end.
  Flags active = group.range.alive;
  const auto value_now = [&] {
    return replicas.cost == nullptr ? state.value
                                    : state.value - members_cost(replicas.cost, group, replicas.size);
  };
  Lanes value = value_now();
  Lanes* scratch = memory + SubsetLanes::size(replicas.size, criterion.n_columns);
  while (climb_round(state, replicas, group, sign, active, tol, scratch)) {
    state.build();
    const Lanes before = value;
    value = value_now();
    active = active & (sign * value > sign * before);
  }
  for (int n = 0; n < group.range.n_lanes; ++n) values[group.range.first + n] = value[n];
}

// All lanes walk the same way; the first one tells.
SAFDR_CLONES double walk_lanes(SubsetLanes& state, std::int32_t* members, const std::int64_t* positions,
                               const std::int64_t* candidates, std::int64_t n_swaps, double tol,
                               double* gains) {
  Lanes worst = constant(0.0);
  const Flags everywhere = broadcast<std::int64_t>(-1);
  state.build();
  for (std::int64_t t = 0; t < n_swaps; ++t) {
    const std::int64_t a = positions[t];
    std::int64_t j[kLanes];
    std::fill_n(j, kLanes, candidates[t]);
    Flags possible;
    const Lanes left = state.look(j, true);
    const Lanes gain = state.gain(a, left, state.projection(a), tol, possible);
    gains[t] = possible[0] ? gain[0] : -kInfinity;
    if (!possible[0]) continue;
    state.swap(a, gain, everywhere);
    std::fill_n(members + a * kLanes, kLanes, static_cast<std::int32_t>(candidates[t]));
    state.confirm_wear(a);
    if (state.worn[0] || t + 1 == n_swaps) rebuild(state, everywhere, worst);
  }
  return worst[0];
}

}  // namespace

void sweep(const CriterionStack& criteria, const Criterion& all_rows, const Replicas& replicas,
           const double* beta, const std::int64_t* which, std::int64_t n_sweeps, const SweepOptions& options,
           const SweepReport& report) {
  const std::int64_t n_states = which == nullptr ? criteria.n_criteria : 1, n_groups = groups_of(replicas.n_replicas);
  const std::int64_t memory_size = n_states * SubsetLanes::size(replicas.size, criteria.n_columns);
  run_tasks((n_groups + kTeam - 1) / kTeam, options.n_threads, [&](auto next) {
    AlignedBuffer<Lanes> memory(kTeam * memory_size);
    for (std::int64_t i = next(); i >= 0; i = next()) {
      std::vector<Walkers> team;
      team.reserve(kTeam);
      for (std::int64_t group = i * kTeam; group < std::min((i + 1) * kTeam, n_groups); ++group) {
        Lanes* its_memory = memory.data() + static_cast<std::int64_t>(team.size()) * memory_size;
        team.emplace_back(criteria, replicas, which == nullptr, group, its_memory);
      }
      sweep_often(criteria, all_rows, replicas, team, beta, which, n_sweeps, options, report);
    }
  });
}

void climb(const Criterion& criterion, const Replicas& replicas, bool downhill, double collinear_tol,
           std::int64_t n_threads, double* values) {
  const double sign = downhill ? -1.0 : 1.0;
  run_tasks(groups_of(replicas.n_replicas), n_threads, [&](auto next) {
    AlignedBuffer<Lanes> memory(SubsetLanes::size(replicas.size, criterion.n_columns) + 2 * replicas.size);
    for (std::int64_t i = next(); i >= 0; i = next()) {
      Group group(replicas, criterion.n_features, i);
      climb_group(criterion, replicas, group, sign, collinear_tol, memory.data(), values);
    }
  });
}

void subset_values(const Criterion& criterion, const std::int32_t* subsets, std::int64_t n_subsets,
                   std::int64_t size, std::int64_t n_threads, double* values, double* left) {
  run_tasks(groups_of(n_subsets), n_threads, [&](auto next) {
    AlignedBuffer<Lanes> memory(SubsetLanes::size(size, criterion.n_columns));
    for (std::int64_t i = next(); i >= 0; i = next()) {
      const LaneRange range(i, n_subsets);
      const std::vector<std::int32_t> members = interleave(range, subsets, size, size);
      value_lanes(criterion, members.data(), size, range, memory.data(), values, left);
    }
  });
}

double walk(const Criterion& criterion, const std::vector<std::int32_t>& subset, const std::int64_t* positions,
            const std::int64_t* candidates, std::int64_t n_swaps, double collinear_tol, double* gains) {
  const auto k = static_cast<std::int64_t>(subset.size());
  std::vector<std::int32_t> members = interleave(LaneRange(0, 1), subset.data(), k, k);
  AlignedBuffer<Lanes> memory(SubsetLanes::size(k, criterion.n_columns));
  SubsetLanes state(k, criterion, members.data(), memory.data());
  return walk_lanes(state, members.data(), positions, candidates, n_swaps, collinear_tol, gains);
}

}  // namespace safdr
