#include "chains/candidates.hpp"
#include "chains/sweep.hpp"
#include "parallel.hpp"

namespace safdr {
namespace {

// A swap that raises J by less than this share may be rounding error: a search that made it could go round in circles.
constexpr double kSmallestRise = 1e-9;

// The best candidate for the place of the last member takes it, if it adds more than `most`. Returns true if there was
// one.
SAFDR_INLINE bool fill_place(Candidates& candidates, Doubles most, const Flags& active) {
  const Replicas& replicas = candidates.replicas;
  const Flags last = constant(replicas.size - 1);
  Flags best = last;
  for (std::int64_t place = replicas.size; place < replicas.n_usable; place += kBatch) {
    if (stopped_at(place / kBatch)) return false;
    const int count = static_cast<int>(std::min<std::int64_t>(kBatch, replicas.n_usable - place));
    for (int t = 0; t < count; ++t) candidates.place[t] = constant(place + t);
    candidates.evaluate(count);
    for (int t = 0; t < count; ++t) {
      const Doubles gain = replicas.sign * candidates.gain[t];
      const Flags better = active & (gain > most);
      most = choose(better, gain, most);
      best = choose(better, candidates.place[t], best);
    }
  }
  const Flags accept = best > last;
  if (!any(accept)) return false;
  candidates.place[0] = best;
  candidates.evaluate(1);
  candidates.replace(~accept);
  candidates.block.exchange(replicas.size - 1, best, accept);
  return true;
}

// Fills the place of one member after the other, until no place changes. A replica continues while a round raises its
// recomputed value: so all replicas end.
SAFDR_CLONES void search_block(Candidates& candidates) {
  const Replicas& replicas = candidates.replicas;
  const std::int64_t n_members = replicas.size - replicas.n_fixed;
  Flags active = candidates.block.alive;
  Doubles value = constant(kNever);
  for (std::int64_t turn = 0, n_idle = 0; n_idle < n_members && !stopped(); ++turn) {
    if (turn % n_members == 0) {
      const Doubles before = value;
      value = replicas.sign * candidates.build();
      active = active & (value > before);
      if (!any(active)) return;
    }
    const Doubles kept = replicas.sign * candidates.open(replicas.n_fixed);
    const Doubles least = kSmallestRise * choose(value < 0.0, -value, value);
    n_idle = fill_place(candidates, kept + least, active) ? 0 : n_idle + 1;
    candidates.close();
  }
}

}  // namespace

void local_search(const Criterion& criterion, const Groups& groups, const Replicas& replicas, std::int64_t n_threads) {
  run_tasks(count_blocks(replicas.n_replicas), n_threads, [&](auto next) {
    Factor factor = Candidates::make_factor(criterion, groups);
    for (std::int64_t i = next(); i >= 0; i = next()) {
      Candidates candidates(groups, replicas, i, factor);
      search_block(candidates);
    }
  });
}

}  // namespace safdr
