#include "chains/swap_chains.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "aligned.hpp"
#include "chains/random.hpp"
#include "chains/replica_block.hpp"
#include "parallel.hpp"

namespace safdr {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Blocks that share the positions to be replaced: eight replicas. One block's arithmetic fills the time that
// another one's waits; each is updated only where one of its own four accepts.
constexpr std::int64_t kTeam = 2;

// Drift is told relative to the value, or to this, where no class differs from another and values are rounding.
constexpr double kLeastValue = 1e-9;

// Builds the state anew, and notes by how much its value had drifted, relative to itself.
SAFDR_INLINE void rebuild(SubsetPack& state, const Flags& count, Doubles& worst) {
  const Doubles incremental = state.value;
  state.build();
  const Doubles size = absolute(state.value);
  const Doubles drift = absolute(incremental - state.value) / choose(size > kLeastValue, size, constant(kLeastValue));
  worst = choose(count & (drift > worst), drift, worst);
}

// The states of one block: one under the criterion of each replica, or one under each criterion of the stack.
std::vector<SubsetPack> make_states(const CriterionStack& criteria, bool draw_each, const ReplicaBlock& block,
                                    std::int64_t size, Doubles* memory) {
  const std::int64_t n_states = draw_each ? criteria.n_criteria : 1;
  std::vector<SubsetPack> states;
  states.reserve(static_cast<std::size_t>(n_states));
  for (std::int64_t s = 0; s < n_states; ++s) {
    states.emplace_back(size, criteria[s], block.members.data(), memory);
    memory += SubsetPack::size(size, criteria.n_columns);
  }
  return states;
}

// A block on its way: what it looks at, and what came of it.
struct Walkers {
  ReplicaBlock block;
  std::vector<SubsetPack> states;
  RandomPack random;
  Doubles beta, gain, worst_drift;
  Flags accept, n_accepted;
  std::int64_t b[kPackSize], j[kPackSize];  // the candidates: their places in the order, and who they are

  Walkers(const CriterionStack& criteria, const Replicas& replicas, bool draw_each, std::int64_t index, Doubles* memory)
      : block(replicas, criteria.n_features, index),
        states(make_states(criteria, draw_each, block, replicas.size, memory)), random(block.streams), beta{}, gain{},
        worst_drift{}, accept{}, n_accepted{} {}

  SAFDR_INLINE void draw_candidates(const Words& bits, const Replicas& replicas) {
    const Words places =
        RandomPack::below(bits >> 32, replicas.n_usable - replicas.size) + static_cast<std::uint64_t>(replicas.size);
    for (int n = 0; n < kPackSize; ++n) {
      b[n] = static_cast<std::int64_t>(places[n]);
      j[n] = block.order[n][b[n]];
    }
  }

  // Which replicas accept their candidate for the member at position a, under the criterion of one state. Conflicts
  // and costs are compiled apart, so that those without them do not pay for the questions.
  template <bool kLimited>
  SAFDR_INLINE void decide(SubsetPack& state, std::int64_t a, double tol, const Replicas& replicas) {
    Flags possible;
    // What an accepted swap needs and a refused one does not costs less beforehand than afterwards: it is
    // computed if the last proposal was accepted.
    const Doubles left = state.look(j, any(accept));
    gain = state.gain(a, left, state.projection(a), tol, possible);
    Doubles rise = gain;
    if (kLimited && replicas.cost != nullptr) rise -= swap_cost(replicas.cost, block, a, j);
    accept = block.range.alive & possible & accepted(random.uniform(), beta * rise);
    if (kLimited && replicas.conflicts != nullptr) {
      accept = accept & fits(places_for(replicas, block, state.n_features, j, accept), a);
    }
  }

  SAFDR_INLINE void move(SubsetPack& state, std::int64_t a) {
    state.swap(a, gain, accept);
    Flags unknown{}, possible;
    for (SubsetPack& other : states) {
      if (&other == &state) continue;
      // A tolerance of zero: the other criteria follow the one that was asked. Where one can't, its value
      // is marked as unknown, and it is built anew.
      const Doubles its_left = other.look(j, true);
      const Doubles its_gain = other.gain(a, its_left, other.projection(a), 0.0, possible);
      other.swap(a, its_gain, accept & possible);
      other.value = choose(accept & ~possible, constant(std::nan("")), other.value);
      unknown |= accept & ~possible;
    }
    block.swap(a, b, accept);
    n_accepted -= accept;
    for (SubsetPack& each : states) {
      each.confirm_stale(a);
      unknown |= each.stale;
    }
    if (any(unknown)) rebuild_all();
  }

  SAFDR_INLINE void rebuild_all() {
    for (SubsetPack& each : states) rebuild(each, block.range.alive, worst_drift);
  }
};

// One sweep of neighbouring blocks, which share positions: those that the first replica of all draws.
template <bool kLimited>
SAFDR_INLINE void sweep_together(const Replicas& replicas, std::vector<Walkers>& team, const SweepOptions& options) {
  const std::int64_t n_members = replicas.size - replicas.n_fixed;
  const std::size_t n_states = team[0].states.size();
  for (Walkers& walkers : team) {
    walkers.n_accepted = Flags{};
    for (SubsetPack& state : walkers.states) state.build();
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
    const std::int64_t a = replicas.n_fixed + static_cast<std::int64_t>(RandomPack::below(first, n_members));
    const std::size_t drawn = RandomPack::below(second, static_cast<std::int64_t>(n_states));
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
SAFDR_INLINE Doubles evaluate_pack(const Criterion& criterion, const std::int32_t* members, std::int64_t k,
                                   Doubles* memory) {
  SubsetPack state(k, criterion, members, memory);
  state.evaluate();
  return state.value;
}

SAFDR_CLONES void value_pack(const Criterion& criterion, const std::int32_t* members, std::int64_t k,
                             const BlockRange& range, Doubles* memory, double* values, double* left) {
  const Doubles value = evaluate_pack(criterion, members, k, memory);
  for (int n = 0; n < range.n_alive; ++n) values[range.first + n] = value[n];
  if (left == nullptr) return;
  for (std::int64_t l = 0; l < k; ++l) {
    // The factor's diagonal, inverted, is in the memory still.
    const Doubles diagonal = memory[l * (l + 1) / 2 + l], variance = 1.0 / (diagonal * diagonal);
    for (int n = 0; n < range.n_alive; ++n) left[(range.first + n) * k + l] = variance[n];
  }
}

// All sweeps of a team. The value on all rows is computed in the memory of the first state, which is built
// anew with the next sweep anyway.
SAFDR_CLONES void sweep_often(const CriterionStack& criteria, const Criterion& all_rows, const Replicas& replicas,
                              std::vector<Walkers>& team, const double* beta, const std::int64_t* which,
                              std::int64_t n_sweeps, const SweepOptions& options, const SweepReport& report) {
  const bool limited = replicas.conflicts != nullptr || replicas.cost != nullptr;
  for (std::int64_t t = 0; t < n_sweeps && !stopped(); ++t) {
    const std::int64_t row = t * replicas.n_replicas;
    for (Walkers& walkers : team) {
      const BlockRange& range = walkers.block.range;
      walkers.beta = gather([&](int n) { return beta[row + range.replica(n)]; });
      for (int n = 0; which != nullptr && n < kPackSize; ++n) {
        walkers.states[0].set_criterion(n, criteria[which[row + range.replica(n)]]);
      }
    }
    if (limited) {
      sweep_together<true>(replicas, team, options);
    } else {
      sweep_together<false>(replicas, team, options);
    }
    for (Walkers& walkers : team) {
      const BlockRange& range = walkers.block.range;
      if (team[0].block.range.first == 0 && t + 1 == n_sweeps) walkers.rebuild_all();
      Doubles value = evaluate_pack(all_rows, walkers.block.members.data(), replicas.size, walkers.states[0].P);
      if (replicas.cost != nullptr) value -= members_cost(replicas.cost, walkers.block, replicas.size);
      for (int n = 0; n < range.n_alive; ++n) {
        report.accepted[row + range.first + n] = walkers.n_accepted[n];
        report.values[row + range.first + n] = value[n];
      }
    }
  }
  for (Walkers& walkers : team) {
    const BlockRange& range = walkers.block.range;
    walkers.random.store(walkers.block.streams, range.n_alive);
    for (int n = 0; n < range.n_alive; ++n) report.drift[range.first + n] = walkers.worst_drift[n];
  }
}

// All four walk the same way; the first one tells.
SAFDR_CLONES double walk_pack(SubsetPack& state, std::int32_t* members, const std::int64_t* positions,
                              const std::int64_t* candidates, std::int64_t n_swaps, double tol, double* gains) {
  Doubles worst = constant(0.0);
  const Flags everywhere = broadcast<std::int64_t>(-1);
  state.build();
  for (std::int64_t t = 0; t < n_swaps; ++t) {
    const std::int64_t a = positions[t];
    std::int64_t j[kPackSize];
    std::fill_n(j, kPackSize, candidates[t]);
    Flags possible;
    const Doubles left = state.look(j, true);
    const Doubles gain = state.gain(a, left, state.projection(a), tol, possible);
    gains[t] = possible[0] ? gain[0] : -kInfinity;
    if (!possible[0]) continue;
    state.swap(a, gain, everywhere);
    std::fill_n(members + a * kPackSize, kPackSize, static_cast<std::int32_t>(candidates[t]));
    state.confirm_stale(a);
    if (state.stale[0] || t + 1 == n_swaps) rebuild(state, everywhere, worst);
  }
  return worst[0];
}

}  // namespace

void sweep(const CriterionStack& criteria, const Criterion& all_rows, const Replicas& replicas, const double* beta,
           const std::int64_t* which, std::int64_t n_sweeps, const SweepOptions& options, const SweepReport& report) {
  const std::int64_t n_states = which == nullptr ? criteria.n_criteria : 1, n_blocks = blocks_of(replicas.n_replicas);
  const std::int64_t memory_size = n_states * SubsetPack::size(replicas.size, criteria.n_columns);
  run_tasks((n_blocks + kTeam - 1) / kTeam, options.n_threads, [&](auto next) {
    AlignedBuffer<Doubles> memory(kTeam * memory_size);
    for (std::int64_t i = next(); i >= 0; i = next()) {
      std::vector<Walkers> team;
      team.reserve(kTeam);
      for (std::int64_t block = i * kTeam; block < std::min((i + 1) * kTeam, n_blocks); ++block) {
        Doubles* its_memory = memory.data() + static_cast<std::int64_t>(team.size()) * memory_size;
        team.emplace_back(criteria, replicas, which == nullptr, block, its_memory);
      }
      sweep_often(criteria, all_rows, replicas, team, beta, which, n_sweeps, options, report);
    }
  });
}

void subset_values(const Criterion& criterion, const std::int32_t* subsets, std::int64_t n_subsets, std::int64_t size,
                   std::int64_t n_threads, double* values, double* left) {
  run_tasks(blocks_of(n_subsets), n_threads, [&](auto next) {
    AlignedBuffer<Doubles> memory(SubsetPack::size(size, criterion.n_columns));
    for (std::int64_t i = next(); i >= 0; i = next()) {
      const BlockRange range(i, n_subsets);
      const std::vector<std::int32_t> members = interleave(range, subsets, size, size);
      value_pack(criterion, members.data(), size, range, memory.data(), values, left);
    }
  });
}

double walk(const Criterion& criterion, const std::vector<std::int32_t>& subset, const std::int64_t* positions,
            const std::int64_t* candidates, std::int64_t n_swaps, double collinear_tol, double* gains) {
  const auto k = static_cast<std::int64_t>(subset.size());
  std::vector<std::int32_t> members = interleave(BlockRange(0, 1), subset.data(), k, k);
  AlignedBuffer<Doubles> memory(SubsetPack::size(k, criterion.n_columns));
  SubsetPack state(k, criterion, members.data(), memory.data());
  return walk_pack(state, members.data(), positions, candidates, n_swaps, collinear_tol, gains);
}

}  // namespace safdr
