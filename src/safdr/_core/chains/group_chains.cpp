#include "chains/group_chains.hpp"

#include <algorithm>
#include <vector>

#include "aligned.hpp"
#include "chains/group_pack.hpp"
#include "chains/random.hpp"
#include "parallel.hpp"

namespace safdr {
namespace {

// Proposals for one position: to factorise the others takes as long as to look at some candidates. Against one,
// four halve the time of a run, and it ends as high (docs/kernel.md).
constexpr std::int64_t kProposalsAPlace = 4;

// Four replicas on their way: what they look at, and what came of it.
struct GroupWalkers {
  const Replicas& replicas;
  ReplicaBlock block;
  GroupPack now;  // under the criterion of each replica
  GroupPack all_rows;
  double tol;
  Doubles beta{}, kept{};  // what the group that may leave adds to the others
  Flags n_accepted{};
  std::int64_t a[kPackSize], b[kPackSize], j[kPackSize];  // the candidates' places in the order, and who they are
  std::vector<std::int32_t> sorted[kPackSize];

  GroupWalkers(const Criterion& first, const Criterion& all, const FeatureGroups& groups, const Replicas& replicas,
               std::int64_t index, double tol, Doubles* memory)
      : replicas(replicas), block(replicas, groups.n_groups, index), now(groups, first, memory),
        all_rows(groups, all, memory + GroupPack::size(groups, first.n_columns)), tol(tol) {
    // Nothing may be thrown later on, through clones for several instruction sets.
    for (auto& each : sorted) each.reserve(static_cast<std::size_t>(replicas.size));
  }

  // In vectors.
  static std::int64_t size(const FeatureGroups& groups, std::int64_t n_columns) {
    return 2 * GroupPack::size(groups, n_columns);
  }

  // The value of the members on all rows.
  SAFDR_INLINE Doubles value() {
    const std::int64_t nobody[] = {-1, -1, -1, -1};
    static_assert(kPackSize == 4);
    const Doubles J = all_rows.others(block, replicas.size, nobody);
    return replicas.cost == nullptr ? J : J - members_cost(replicas.cost, block, replicas.size);
  }

  // The member at position a[n] may leave; returns J of the others.
  SAFDR_INLINE Doubles open_places() {
    const Doubles J = now.others(block, replicas.size, a);
    std::int64_t leaving[kPackSize];
    for (int n = 0; n < kPackSize; ++n) leaving[n] = block.order[n][a[n]];
    kept = now.added(leaving);
    return J;
  }

  // What it would cost to take the candidates in.
  SAFDR_INLINE Doubles their_cost() const {
    return gather([&](int n) { return replicas.cost[j[n]] - replicas.cost[block.order[n][a[n]]]; });
  }

  // Which of those replicas may take their candidate in.
  SAFDR_INLINE Flags allowed(Flags ask) {
    if (replicas.conflicts != nullptr && any(ask)) {
      const Flags place = places_for(replicas, block, now.groups.n_groups, j, ask);
      for (int n = 0; n < kPackSize; ++n) ask.set(n, place[n] == kAnywhere || place[n] == a[n] ? ask[n] : 0);
    }
    if (now.groups.redundant == nullptr || !any(ask)) return ask;
    // Where no more features of the candidate are redundant than within the group, it has nothing in common with
    // the others, and makes none of them redundant.
    Flags known;
    for (int n = 0; n < kPackSize; ++n) known.set(n, now.groups.redundant[j[n]]);
    const Flags unsure = ask & (now.n_redundant(j, tol) > known);
    return any(unsure) ? ask & ~(unsure & redundant_with_candidates(unsure)) : ask;
  }

  SAFDR_INLINE Flags redundant_with_candidates(const Flags& ask) {
    for (int n = 0; n < kPackSize; ++n) {
      sorted[n].clear();
      if (!ask[n]) continue;
      sorted[n].assign(block.order[n], block.order[n] + replicas.size);
      sorted[n][static_cast<std::size_t>(a[n])] = static_cast<std::int32_t>(j[n]);
      std::sort(sorted[n].begin(), sorted[n].end());
    }
    return all_rows.has_redundant(sorted, tol);
  }

  SAFDR_INLINE void take_in(const Flags& accept) {
    for (int n = 0; n < kPackSize; ++n) {
      if (accept[n]) block.swap(n, a[n], b[n]);
    }
  }
};

// The replicas' criteria: those of the sweep, or one drawn for each.
SAFDR_INLINE void set_criteria(GroupWalkers& walkers, const CriterionStack& criteria, const std::int64_t* which,
                               RandomPack& random) {
  Words drawn{};
  if (which == nullptr) drawn = RandomPack::below(random.bits() >> 32, criteria.n_criteria);
  for (int n = 0; n < kPackSize; ++n) {
    const std::int64_t i =
        which == nullptr ? static_cast<std::int64_t>(drawn[n]) : which[walkers.block.range.replica(n)];
    walkers.now.factor.set_criterion(n, criteria[i]);
  }
}

SAFDR_INLINE void draw_candidates(GroupWalkers& walkers, const Words& bits) {
  const Replicas& replicas = walkers.replicas;
  const Words places = RandomPack::below(bits >> 32, replicas.n_usable - replicas.size);
  for (int n = 0; n < kPackSize; ++n) {
    walkers.b[n] = replicas.size + static_cast<std::int64_t>(places[n]);
    walkers.j[n] = walkers.block.order[n][walkers.b[n]];
  }
}

SAFDR_INLINE void draw_places(GroupWalkers& walkers, const Words& bits) {
  const Replicas& replicas = walkers.replicas;
  const Words places = RandomPack::below(bits & std::uint64_t{0xffffffffu}, replicas.size - replicas.n_fixed);
  for (int n = 0; n < kPackSize; ++n) walkers.a[n] = replicas.n_fixed + static_cast<std::int64_t>(places[n]);
}

SAFDR_INLINE void propose(GroupWalkers& walkers, RandomPack& random) {
  const Doubles added = walkers.now.added(walkers.j);
  Doubles rise = added - walkers.kept;
  if (walkers.replicas.cost != nullptr) rise -= walkers.their_cost();
  const Flags accept = walkers.allowed(walkers.block.range.alive & accepted(random.uniform(), walkers.beta * rise));
  walkers.kept = choose(accept, added, walkers.kept);
  walkers.n_accepted -= accept;
  walkers.take_in(accept);
}

// One sweep; where criteria are drawn, each for one proposal.
SAFDR_INLINE void sweep_once(GroupWalkers& walkers, const CriterionStack& criteria, const std::int64_t* which,
                             RandomPack& random, std::int64_t n_proposals) {
  const std::int64_t most = which == nullptr ? 1 : kProposalsAPlace;
  if (which != nullptr) set_criteria(walkers, criteria, which, random);
  for (std::int64_t t = 0; t < n_proposals; ++t) {
    if (stopped_at(t)) return;
    const Words bits = random.bits();
    if (which == nullptr) set_criteria(walkers, criteria, which, random);
    if (t % most == 0) {
      draw_places(walkers, bits);
      walkers.open_places();
    }
    draw_candidates(walkers, bits);
    propose(walkers, random);
  }
}

SAFDR_CLONES void sweep_often(GroupWalkers& walkers, const CriterionStack& criteria, const double* beta,
                              const std::int64_t* which, std::int64_t n_sweeps, std::int64_t n_proposals,
                              std::int64_t* accepted, double* values) {
  const BlockRange& range = walkers.block.range;
  RandomPack random(walkers.block.streams);
  for (std::int64_t t = 0; t < n_sweeps && !stopped(); ++t) {
    const std::int64_t row = t * walkers.replicas.n_replicas;
    walkers.beta = gather([&](int n) { return beta[row + range.replica(n)]; });
    walkers.n_accepted = Flags{};
    sweep_once(walkers, criteria, which == nullptr ? nullptr : which + row, random, n_proposals);
    const Doubles value = walkers.value();
    for (int n = 0; n < range.n_alive; ++n) {
      accepted[row + range.first + n] = walkers.n_accepted[n];
      values[row + range.first + n] = value[n];
    }
  }
  random.store(walkers.block.streams, range.n_alive);
}

// One round over all positions: each member leaves for the candidate that raises the value most, if one does.
// False when nothing moved.
SAFDR_INLINE bool climb_round(GroupWalkers& walkers, const Flags& active) {
  const Replicas& replicas = walkers.replicas;
  bool moved = false;
  for (std::int64_t position = replicas.n_fixed; position < replicas.size; ++position) {
    if (stopped()) return false;
    std::fill_n(walkers.a, kPackSize, position);
    Doubles most = kSmallestRise * (walkers.open_places() + walkers.kept);
    Flags best = broadcast<std::int64_t>(-1);
    for (std::int64_t place = replicas.size; place < replicas.n_usable; ++place) {
      if (stopped_at(place)) return false;
      for (int n = 0; n < kPackSize; ++n) walkers.j[n] = walkers.block.order[n][place];
      Doubles rise = walkers.now.added(walkers.j) - walkers.kept;
      if (replicas.cost != nullptr) rise -= walkers.their_cost();
      const Flags better = walkers.allowed(active & (rise > most));
      most = choose(better, rise, most);
      best = choose(better, broadcast(place), best);
    }
    const Flags accept = best >= std::int64_t{0};
    for (int n = 0; n < kPackSize; ++n) walkers.b[n] = best[n];
    walkers.take_in(accept);
    moved = moved || any(accept);
  }
  return moved;
}

SAFDR_CLONES void climb_block(GroupWalkers& walkers, double* values) {
  // A replica goes on as long as a round has raised its value, computed from scratch: so all come to an end.
  Flags active = walkers.block.range.alive;
  Doubles value = walkers.value();
  while (climb_round(walkers, active)) {
    const Doubles before = value;
    value = walkers.value();
    active = active & (value > before);
  }
  for (int n = 0; n < walkers.block.range.n_alive; ++n) values[walkers.block.range.first + n] = value[n];
}

SAFDR_CLONES void count_pack(GroupPack& pack, std::int64_t first, double tol, std::int64_t* redundant) {
  std::int64_t u[kPackSize];
  for (int n = 0; n < kPackSize; ++n) u[n] = std::min(first + n, pack.groups.n_groups - 1);
  pack.added(u);
  const Flags count = pack.n_redundant(u, tol);
  for (int n = 0; n < kPackSize; ++n) redundant[u[n]] = count[n];
}

}  // namespace

void count_redundant(const Criterion& criterion, const FeatureGroups& groups, double collinear_tol,
                     std::int64_t* redundant) {
  AlignedBuffer<Doubles> memory(GroupPack::size(groups, criterion.n_columns));
  GroupPack pack(groups, criterion, memory.data());
  for (std::int64_t u = 0; u < groups.n_groups && !stopped(); u += kPackSize)
    count_pack(pack, u, collinear_tol, redundant);
}

void sweep_groups(const CriterionStack& criteria, const Criterion& all_rows, const FeatureGroups& groups,
                  const Replicas& replicas, const double* beta, const std::int64_t* which, std::int64_t n_sweeps,
                  const SweepOptions& options, std::int64_t* accepted, double* values) {
  run_tasks(blocks_of(replicas.n_replicas), options.n_threads, [&](auto next) {
    AlignedBuffer<Doubles> memory(GroupWalkers::size(groups, all_rows.n_columns));
    for (std::int64_t i = next(); i >= 0; i = next()) {
      GroupWalkers walkers(criteria[0], all_rows, groups, replicas, i, options.collinear_tol, memory.data());
      sweep_often(walkers, criteria, beta, which, n_sweeps, options.n_proposals, accepted, values);
    }
  });
}

void climb_groups(const Criterion& criterion, const FeatureGroups& groups, const Replicas& replicas,
                  double collinear_tol, std::int64_t n_threads, double* values) {
  run_tasks(blocks_of(replicas.n_replicas), n_threads, [&](auto next) {
    AlignedBuffer<Doubles> memory(GroupWalkers::size(groups, criterion.n_columns));
    for (std::int64_t i = next(); i >= 0; i = next()) {
      GroupWalkers walkers(criterion, criterion, groups, replicas, i, collinear_tol, memory.data());
      climb_block(walkers, values);
    }
  });
}

}  // namespace safdr
