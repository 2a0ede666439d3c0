#include "swaps/local_search.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "chains/candidates.hpp"
#include "parallel.hpp"
#include "swaps/gains.hpp"

namespace safdr {
namespace {

// A swap that raises J by less than this share may be rounding error: a search that made it could go round in circles.
constexpr double kSmallestRise = 1e-9;

// Turns, or one round if that is longer, after which P is computed from scratch: updates add up rounding errors.
constexpr std::int64_t kTurnsABuild = 16;

// ---- Features: tiles of candidates, each against all members --------------------------------------------------------

// A swap of the member at position a for the candidate at a place.
struct Swap {
  double gain;
  std::int64_t a = -1, place = -1;
};

// Single features, one replica after the other.
class FeatureSearch {
 public:
  FeatureSearch(const Criterion& criterion, const Replicas& replicas)
      : replicas_(replicas), n_features_(criterion.n_features),
        gains_(criterion, replicas.cost, replicas.sign, replicas.size) {}

  // Makes the best swap of each tile, one tile after the other, until no tile has one. The state is sometimes
  // recomputed, and the value must have risen: so the search ends.
  SAFDR_INLINE void run(std::int64_t replica) {
    order_ = replicas_.order + replica * n_features_;
    const std::int64_t n_tiles = (replicas_.n_usable - replicas_.size + kTile - 1) / kTile;
    const std::int64_t n_turns = std::max(n_tiles, kTurnsABuild);
    double value = kNever;
    for (std::int64_t turn = 0, n_idle = 0; n_idle < n_tiles; ++turn) {
      if (stopped_at(turn)) break;
      if (turn % n_turns == 0) {
        const double before = value;
        value = replicas_.sign * gains_.build(order_);
        if (!(value > before)) break;  // a rise by rounding alone
      }
      const std::int64_t first = replicas_.size + turn % n_tiles * kTile;
      const std::int64_t count = std::min(kTile, replicas_.n_usable - first);
      gains_.look(order_ + first, count);
      const Swap swap = best_of(first, count, kSmallestRise * std::abs(value));
      n_idle = swap.a < 0 ? n_idle + 1 : 0;
      if (swap.a < 0) continue;
      std::swap(order_[swap.a], order_[swap.place]);
      gains_.swap(swap.a, swap.place - first);
    }
  }

 private:
  SAFDR_INLINE Swap best_of(std::int64_t first, std::int64_t count, double least) {
    Swap best{least};
    for (std::int64_t a = replicas_.n_fixed; a < replicas_.size; ++a) {
      double gain[kTile];
      if (!gains_.gains(a, best.gain, gain)) continue;
      for (std::int64_t t = 0; t < count; ++t) {
        if (gain[t] > best.gain && may_replace(a, order_[first + t])) best = {gain[t], a, first + t};
      }
    }
    return best;
  }

  // Returns true if a candidate has no conflict, except with the member at position a.
  SAFDR_INLINE bool may_replace(std::int64_t a, std::int64_t feature) const {
    if (replicas_.conflicts == nullptr) return true;
    const std::uint8_t* conflicts = replicas_.conflicts + feature * n_features_;
    for (std::int64_t l = 0; l < replicas_.size; ++l) {
      if (l != a && conflicts[order_[l]]) return false;
    }
    return true;
  }

  const Replicas& replicas_;
  std::int64_t n_features_;
  std::int32_t* order_ = nullptr;
  SwapGains gains_;
};

SAFDR_CLONES void search_features(FeatureSearch& search, std::int64_t replica) { search.run(replica); }

// ---- Groups: for each member all candidates, four replicas side by side ------------------------------------------------

// The best candidate for the place of the last member takes it, if it adds more than `most`.
SAFDR_INLINE bool fill_place(Candidates& candidates, Doubles most, const Flags& active) {
  const Replicas& replicas = candidates.replicas;
  Flags best = broadcast<std::int64_t>(-1);
  for (std::int64_t place = replicas.size; place < replicas.n_usable; place += kBatch) {
    if (stopped_at(place / kBatch)) return false;
    const int count = static_cast<int>(std::min<std::int64_t>(kBatch, replicas.n_usable - place));
    for (int t = 0; t < count; ++t) candidates.place[t] = broadcast(place + t);
    candidates.evaluate(count);
    for (int t = 0; t < count; ++t) {
      const Flags better = active & (candidates.gain[t] > most);
      most = choose(better, candidates.gain[t], most);
      best = choose(better, candidates.place[t], best);
    }
  }
  const Flags accept = best >= std::int64_t{0};
  candidates.block.exchange(replicas.size - 1, choose(accept, best, broadcast(replicas.size)), accept);
  return any(accept);
}

// One round over all members, each moved to the end. Returns false if no swap was made.
SAFDR_INLINE bool search_round(Candidates& candidates, const Doubles& value, const Flags& active) {
  const Replicas& replicas = candidates.replicas;
  const Doubles least = kSmallestRise * absolute(value);
  bool moved = false;
  for (std::int64_t l = replicas.n_fixed; l < replicas.size; ++l) {
    if (stopped()) return false;
    const Doubles kept = candidates.open(replicas.n_fixed);
    moved = fill_place(candidates, kept + least, active) || moved;
    candidates.close();
  }
  return moved;
}

SAFDR_CLONES void search_block(Candidates& candidates) {
  // A replica continues while a round raises its recomputed value: so all replicas end.
  Flags active = candidates.block.alive;
  Doubles value = candidates.build();
  while (any(active) && search_round(candidates, value, active)) {
    const Doubles before = value;
    value = candidates.build();
    active = active & (value > before);
  }
}

}  // namespace

void local_search(const Criterion& criterion, const Groups& groups, const Replicas& replicas, std::int64_t n_threads) {
  if (groups.longest == 1) {
    run_tasks(replicas.n_replicas, n_threads, [&](auto next) {
      FeatureSearch search(criterion, replicas);
      for (std::int64_t i = next(); i >= 0; i = next()) search_features(search, i);
    });
    return;
  }
  run_tasks(count_blocks(replicas.n_replicas), n_threads, [&](auto next) {
    Factor factor = Candidates::make_factor(criterion, groups);
    for (std::int64_t i = next(); i >= 0; i = next()) {
      Candidates candidates(groups, replicas, i, factor);
      search_block(candidates);
    }
  });
}

}  // namespace safdr
