#include "chains/group_chains.hpp"

#include <algorithm>
#include <vector>

#include "aligned.hpp"
#include "parallel.hpp"
#include "chains/random.hpp"
#include "chains/group_pack.hpp"

namespace safdr {
namespace {

// Proposals for one position: to factorise the others takes as long as to look at some candidates. Against one,
// four halve the time of a run, and it ends as high (docs/kernel.md).
constexpr std::int64_t kProposalsAPlace = 4;

// Four replicas on their way: what they look at, and what came of it.
struct UnitWalkers {
  const Replicas& replicas;
  Group group;
  UnitLanes now;       // under the criterion of each lane
  UnitLanes all_rows;
  double tol;
  Lanes beta{}, kept{};  // what the unit that may leave adds to the others
  Flags n_accepted{};
  std::int64_t a[kLanes], b[kLanes], j[kLanes];  // the candidates' places in the order, and who they are
  std::vector<std::int32_t> sorted[kLanes];

  UnitWalkers(const Criterion& first, const Criterion& all, const Units& units, const Replicas& replicas,
              std::int64_t index, double tol, Lanes* memory)
      : replicas(replicas), group(replicas, units.n_units, index), now(units, first, memory),
        all_rows(units, all, memory + UnitLanes::size(units, first.n_columns)), tol(tol) {}

  // In vectors.
  static std::int64_t size(const Units& units, std::int64_t n_columns) {
    return 2 * UnitLanes::size(units, n_columns);
  }

  // The value of the members on all rows.
  SAFDR_INLINE Lanes value() {
    const std::int64_t nobody[] = {-1, -1, -1, -1};
    static_assert(kLanes == 4);
    const Lanes J = all_rows.others(group, replicas.size, nobody);
    return replicas.cost == nullptr ? J : J - members_cost(replicas.cost, group, replicas.size);
  }

  // The member at position a[n] may leave; returns J of the others.
  SAFDR_INLINE Lanes open_places() {
    const Lanes J = now.others(group, replicas.size, a);
    std::int64_t leaving[kLanes];
    for (int n = 0; n < kLanes; ++n) leaving[n] = group.order[n][a[n]];
    kept = now.added(leaving);
    return J;
  }

  // What it would cost to take the candidates in.
  SAFDR_INLINE Lanes their_cost() const {
    return gather([&](int n) { return replicas.cost[j[n]] - replicas.cost[group.order[n][a[n]]]; });
  }

  // Which of those lanes may take their candidate in.
  SAFDR_INLINE Flags allowed(Flags ask) {
    if (replicas.conflicts != nullptr && any(ask)) {
      const Flags place = places_for(replicas, group, now.units.n_units, j, ask);
      for (int n = 0; n < kLanes; ++n) ask.set(n, place[n] == kAnywhere || place[n] == a[n] ? ask[n] : 0);
    }
    if (now.units.needless == nullptr || !any(ask)) return ask;
    // Where no more features of the candidate are needless than within the unit, it has nothing in common with
    // the others, and makes none of them needless.
    Flags known;
    for (int n = 0; n < kLanes; ++n) known.set(n, now.units.needless[j[n]]);
    const Flags unsure = ask & (now.n_needless(j, tol) > known);
    return any(unsure) ? ask & ~(unsure & with_candidates_needless(unsure)) : ask;
  }

  SAFDR_INLINE Flags with_candidates_needless(const Flags& ask) {
    for (int n = 0; n < kLanes; ++n) {
      sorted[n].clear();
      if (!ask[n]) continue;
      sorted[n].assign(group.order[n], group.order[n] + replicas.size);
      sorted[n][static_cast<std::size_t>(a[n])] = static_cast<std::int32_t>(j[n]);
      std::sort(sorted[n].begin(), sorted[n].end());
    }
    return all_rows.has_needless(sorted, tol);
  }

  SAFDR_INLINE void take_in(const Flags& accept) {
    for (int n = 0; n < kLanes; ++n) {
      if (accept[n]) group.swap(n, a[n], b[n]);
    }
  }
};

// The lanes' criteria: those of the sweep, or one drawn for each.
SAFDR_INLINE void set_criteria(UnitWalkers& walkers, const CriterionStack& criteria, const std::int64_t* which,
                               RandomLanes& random) {
  Words drawn{};
  if (which == nullptr) drawn = RandomLanes::below(random.bits() >> 32, criteria.n_criteria);
  for (int n = 0; n < kLanes; ++n) {
    const std::int64_t i =
        which == nullptr ? static_cast<std::int64_t>(drawn[n]) : which[walkers.group.range.replica(n)];
    walkers.now.factor.set_criterion(n, criteria[i]);
  }
}

SAFDR_INLINE void draw_candidates(UnitWalkers& walkers, const Words& bits) {
  const Replicas& replicas = walkers.replicas;
  const Words places = RandomLanes::below(bits >> 32, replicas.n_usable - replicas.size);
  for (int n = 0; n < kLanes; ++n) {
    walkers.b[n] = replicas.size + static_cast<std::int64_t>(places[n]);
    walkers.j[n] = walkers.group.order[n][walkers.b[n]];
  }
}

SAFDR_INLINE void draw_places(UnitWalkers& walkers, const Words& bits) {
  const Replicas& replicas = walkers.replicas;
  const Words places =
      RandomLanes::below(bits & std::uint64_t{0xffffffffu}, replicas.size - replicas.n_fixed);
  for (int n = 0; n < kLanes; ++n) walkers.a[n] = replicas.n_fixed + static_cast<std::int64_t>(places[n]);
}

SAFDR_INLINE void propose(UnitWalkers& walkers, RandomLanes& random) {
  const Lanes added = walkers.now.added(walkers.j);
  Lanes rise = added - walkers.kept;
  if (walkers.replicas.cost != nullptr) rise -= walkers.their_cost();
  const Flags accept =
      walkers.allowed(walkers.group.range.alive & accepted(random.uniform(), walkers.beta * rise));
  walkers.kept = choose(accept, added, walkers.kept);
  walkers.n_accepted -= accept;
  walkers.take_in(accept);
}

// One sweep; where criteria are drawn, each for one proposal.
SAFDR_INLINE void sweep_once(UnitWalkers& walkers, const CriterionStack& criteria, const std::int64_t* which,
                             RandomLanes& random, std::int64_t n_proposals) {
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

SAFDR_CLONES void sweep_often(UnitWalkers& walkers, const CriterionStack& criteria, const double* beta,
                              const std::int64_t* which, std::int64_t n_sweeps, std::int64_t n_proposals,
                              std::int64_t* accepted, double* values) {
  const LaneRange& range = walkers.group.range;
  RandomLanes random(walkers.group.streams);
  for (std::int64_t t = 0; t < n_sweeps && !stopped(); ++t) {
    const std::int64_t row = t * walkers.replicas.n_replicas;
    walkers.beta = gather([&](int n) { return beta[row + range.replica(n)]; });
    walkers.n_accepted = Flags{};
    sweep_once(walkers, criteria, which == nullptr ? nullptr : which + row, random, n_proposals);
    const Lanes value = walkers.value();
    for (int n = 0; n < range.n_lanes; ++n) {
      accepted[row + range.first + n] = walkers.n_accepted[n];
      values[row + range.first + n] = value[n];
    }
  }
  random.store(walkers.group.streams, range.n_lanes);
}

// One round over all positions: each member leaves for the candidate that raises the value most, if one does.
// False when nothing moved.
SAFDR_INLINE bool climb_round(UnitWalkers& walkers, const Flags& active) {
  const Replicas& replicas = walkers.replicas;
  bool moved = false;
  for (std::int64_t position = replicas.n_fixed; position < replicas.size; ++position) {
    if (stopped()) return false;
    std::fill_n(walkers.a, kLanes, position);
    Lanes most = kSmallestRise * (walkers.open_places() + walkers.kept);
    Flags best = broadcast<std::int64_t>(-1);
    for (std::int64_t place = replicas.size; place < replicas.n_usable; ++place) {
      if (stopped_at(place)) return false;
      for (int n = 0; n < kLanes; ++n) walkers.j[n] = walkers.group.order[n][place];
      Lanes rise = walkers.now.added(walkers.j) - walkers.kept;
      if (replicas.cost != nullptr) rise -= walkers.their_cost();
      const Flags better = walkers.allowed(active & (rise > most));
      most = choose(better, rise, most);
      best = choose(better, broadcast(place), best);
    }
    const Flags accept = best >= std::int64_t{0};
    for (int n = 0; n < kLanes; ++n) walkers.b[n] = best[n];
    walkers.take_in(accept);
    moved = moved || any(accept);
  }
  return moved;
}

SAFDR_CLONES void climb_group(UnitWalkers& walkers, double* values) {
  // A lane goes on as long as a round has raised its value, computed from scratch: so all come to an end.
  Flags active = walkers.group.range.alive;
  Lanes value = walkers.value();
  while (climb_round(walkers, active)) {
    const Lanes before = value;
    value = walkers.value();
    active = active & (value > before);
  }
  for (int n = 0; n < walkers.group.range.n_lanes; ++n) values[walkers.group.range.first + n] = value[n];
}

SAFDR_CLONES void count_lanes(UnitLanes& lanes, std::int64_t first, double tol, std::int64_t* needless) {
  std::int64_t u[kLanes];
  for (int n = 0; n < kLanes; ++n) u[n] = std::min(first + n, lanes.units.n_units - 1);
  lanes.added(u);
  const Flags count = lanes.n_needless(u, tol);
  for (int n = 0; n < kLanes; ++n) needless[u[n]] = count[n];
}

}  // namespace

void count_needless(const Criterion& criterion, const Units& units, double collinear_tol, std::int64_t* needless) {
  AlignedBuffer<Lanes> memory(UnitLanes::size(units, criterion.n_columns));
  UnitLanes lanes(units, criterion, memory.data());
  for (std::int64_t u = 0; u < units.n_units && !stopped(); u += kLanes) count_lanes(lanes, u, collinear_tol, needless);
}

void sweep_units(const CriterionStack& criteria, const Criterion& all_rows, const Units& units,
                 const Replicas& replicas, const double* beta, const std::int64_t* which, std::int64_t n_sweeps,
                 const SweepOptions& options, std::int64_t* accepted, double* values) {
  run_tasks(groups_of(replicas.n_replicas), options.n_threads, [&](auto next) {
    AlignedBuffer<Lanes> memory(UnitWalkers::size(units, all_rows.n_columns));
    for (std::int64_t i = next(); i >= 0; i = next()) {
      UnitWalkers walkers(criteria[0], all_rows, units, replicas, i, options.collinear_tol, memory.data());
      sweep_often(walkers, criteria, beta, which, n_sweeps, options.n_proposals, accepted, values);
    }
  });
}

void climb_units(const Criterion& criterion, const Units& units, const Replicas& replicas, double collinear_tol,
                 std::int64_t n_threads, double* values) {
  run_tasks(groups_of(replicas.n_replicas), n_threads, [&](auto next) {
    AlignedBuffer<Lanes> memory(UnitWalkers::size(units, criterion.n_columns));
    for (std::int64_t i = next(); i >= 0; i = next()) {
      UnitWalkers walkers(criterion, criterion, units, replicas, i, collinear_tol, memory.data());
      climb_group(walkers, values);
    }
  });
}

}  // namespace safdr
