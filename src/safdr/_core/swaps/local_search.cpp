#include "swaps/local_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "aligned.hpp"
#include "chains/candidates.hpp"
#include "parallel.hpp"
#include "swaps/gains.hpp"

namespace safdr {
namespace {

// A swap that raises J by less than this share may be rounding error: a search that made it could go round in circles.
constexpr double kSmallestRise = 1e-9;

// ---- Features: tiles of all features, each against all members ------------------------------------------------------

// A swap of the member at position a for a feature.
struct Swap {
  double gain;
  std::int64_t a = -1, feature = -1;
};

// One replica of single features.
class FeatureSearch {
 public:
  FeatureSearch(const Criterion& criterion, const Replicas& replicas, std::int64_t index, double* memory)
      : replicas_(replicas), n_features_(criterion.n_features), order_(replicas.order + index * n_features_),
        place_(static_cast<std::size_t>(n_features_)), gains_(criterion, replicas.cost, replicas.size, memory) {
    for (std::int64_t l = 0; l < n_features_; ++l) place_[static_cast<std::size_t>(order_[l])] = l;
  }

  // Makes the best swap of each tile in turn, until no tile has one; returns the value. Each round begins from scratch,
  // and the value must have risen: so the search comes to an end.
  SAFDR_INLINE double run() {
    const std::int64_t n_tiles = (n_features_ + kTile - 1) / kTile;
    double value = -std::numeric_limits<double>::infinity();
    for (std::int64_t turn = 0, n_idle = 0; n_idle < n_tiles; ++turn) {
      if (stopped_at(turn)) break;
      const std::int64_t first = turn % n_tiles * kTile;
      if (first == 0) {
        const double before = value;
        value = gains_.build(order_);
        if (!(value > before)) return value;  // a rise by rounding alone
      }
      gains_.look(first);
      const Swap swap = best_of(first, kSmallestRise * std::abs(value));
      n_idle = swap.a < 0 ? n_idle + 1 : 0;
      if (swap.a < 0) continue;
      exchange(swap.a, swap.feature);
      gains_.swap(swap.a, swap.feature - first);
    }
    return value;
  }

 private:
  SAFDR_INLINE Swap best_of(std::int64_t first, double least) {
    Swap best{least};
    const std::int64_t count = std::min(kTile, n_features_ - first);
    for (std::int64_t a = replicas_.n_fixed; a < replicas_.size; ++a) {
      double gain[kTile];
      if (!gains_.gains(a, best.gain, gain)) continue;
      for (std::int64_t t = 0; t < count; ++t) {
        if (gain[t] > best.gain && may_replace(a, first + t)) best = {gain[t], a, first + t};
      }
    }
    return best;
  }

  // Whether a feature is a candidate, and not in conflict with other members than that at position a.
  SAFDR_INLINE bool may_replace(std::int64_t a, std::int64_t feature) const {
    const std::int64_t place = place_[static_cast<std::size_t>(feature)];
    if (place < replicas_.size || place >= replicas_.n_usable) return false;
    if (replicas_.conflicts == nullptr) return true;
    const std::uint8_t* conflicts = replicas_.conflicts + feature * n_features_;
    for (std::int64_t l = 0; l < replicas_.size; ++l) {
      if (l != a && conflicts[order_[l]]) return false;
    }
    return true;
  }

  // The member at position a and a feature change roles.
  SAFDR_INLINE void exchange(std::int64_t a, std::int64_t feature) {
    std::int64_t& place = place_[static_cast<std::size_t>(feature)];
    std::swap(order_[a], order_[place]);
    place_[static_cast<std::size_t>(order_[place])] = place;
    place = a;
  }

  const Replicas& replicas_;
  std::int64_t n_features_;
  std::int32_t* order_;
  std::vector<std::int64_t> place_;  // of each feature in the order
  SwapGains gains_;
};

SAFDR_CLONES void search_features(FeatureSearch& search, double* value) { *value = search.run(); }

// ---- Groups: for each member in turn all candidates, four replicas side by side ----------------------------------------

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

// One round over all members, each of which goes to the end. False if nothing moved.
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

SAFDR_CLONES void search_block(Candidates& candidates, double* values) {
  // A replica goes on as long as a round has raised its value, from scratch: so all come to an end.
  const ReplicaBlock& block = candidates.block;
  Flags active = block.alive;
  Doubles value = candidates.build();
  while (any(active) && search_round(candidates, value, active)) {
    const Doubles before = value;
    value = candidates.build();
    active = active & (value > before);
  }
  for (int n = 0; n < block.n_alive(); ++n) values[block.first + n] = value[n];
}

}  // namespace

void local_search(const Criterion& criterion, const Groups& groups, const Replicas& replicas, std::int64_t n_threads,
                  double* values) {
  const bool single = groups.longest == 1;
  const std::int64_t n_tasks = single ? replicas.n_replicas : count_blocks(replicas.n_replicas);
  run_tasks(n_tasks, n_threads, [&](auto next) {
    AlignedBuffer<Doubles> memory(single ? SwapGains::size(replicas.size, criterion.n_columns) / kPackSize + 1
                                         : Candidates::size(groups, criterion.n_columns));
    for (std::int64_t i = next(); i >= 0; i = next()) {
      if (single) {
        FeatureSearch search(criterion, replicas, i, reinterpret_cast<double*>(memory.data()));
        search_features(search, values + i);
      } else {
        Candidates candidates(criterion, groups, replicas, i, memory.data());
        search_block(candidates, values);
      }
    }
  });
}

}  // namespace safdr
