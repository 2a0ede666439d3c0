#include "chains/sweep.hpp"

#include <algorithm>

#include "chains/candidates.hpp"
#include "chains/random.hpp"
#include "parallel.hpp"

namespace safdr {
namespace {

// Places after which the factor is built again: rotations are stable, so that rounding errors add up slowly.
constexpr std::int64_t kPlacesAFactor = 256;

// Four replicas that sweep.
struct Sweeper {
  Candidates candidates;
  RandomPack random;
  Doubles beta{}, patience[kBatch];
  Flags n_accepted{};

  Sweeper(const Groups& groups, const Replicas& replicas, std::int64_t index, Factor& factor)
      : candidates(groups, replicas, index, factor), random(candidates.block.streams) {}

  // The last `count` members, in random order: they are opened from the end, which costs fewer rotations.
  SAFDR_INLINE void shuffle(std::int64_t count) {
    const Replicas& replicas = candidates.replicas;
    for (std::int64_t last = replicas.size - 1; last >= replicas.size - count; --last) {
      const Flags drawn = RandomPack::below(random.bits(), last + 1 - replicas.n_fixed) + replicas.n_fixed;
      candidates.block.exchange(last, drawn, candidates.block.alive);
    }
  }

  // One position for all four: they have different members there.
  SAFDR_INLINE std::int64_t draw_position() {
    const Replicas& replicas = candidates.replicas;
    return replicas.n_fixed + RandomPack::below(random.bits(), replicas.size - replicas.n_fixed)[0];
  }

  // Candidates at equal distances from a random one on, and how much worse than what they replace they may be, in units of the
  // temperature: a gain of x is accepted with probability min(1, exp(x)), which is that of x + e > 0 for an exponential e.
  SAFDR_INLINE void draw_candidates(int count) {
    const Replicas& replicas = candidates.replicas;
    const std::int64_t n_candidates = replicas.n_usable - replicas.size, distance = n_candidates / count;
    Flags place = RandomPack::below(random.bits(), n_candidates) + replicas.size;
    Words bits{};
    for (int t = 0; t < count; ++t) {
      candidates.place[t] = place;
      place = place + distance;
      place = choose(place < replicas.n_usable, place, place - n_candidates);
      bits = t % 2 == 0 ? random.bits() : bits >> 32;
      patience[t] = RandomPack::exponential(bits);
    }
  }

  // Accepts or refuses the candidates one after the other; `kept` is what the member that may leave adds.
  SAFDR_INLINE void decide(int count, Doubles kept) {
    kept *= beta;
    Flags winner = constant(std::int64_t{-1});
    ReplicaBlock& block = candidates.block;
    const std::int64_t last = candidates.replicas.size - 1;
    std::int32_t member[kPackSize];
    for (int n = 0; n < kPackSize; ++n) member[n] = block.order[n][last];
    for (int t = 0; t < count; ++t) {
      const Doubles gain = beta * candidates.gain[t];
      const Flags accept = candidates.block.alive & (gain + patience[t] > kept);  // not for -infinity, or it times zero
      kept = choose(accept, gain, kept);
      winner = choose(accept, constant(std::int64_t{t}), winner);
      n_accepted -= accept;
      for (int n = 0; n < kPackSize; ++n) {
        std::int32_t* place = block.order[n] + candidates.place[t][n];
        const std::int32_t candidate = *place, leaving = member[n];
        *place = accept[n] ? leaving : candidate;
        member[n] = accept[n] ? candidate : leaving;
      }
    }
    for (int n = 0; n < block.n_alive(); ++n) block.order[n][last] = member[n];
    candidates.replace(winner);
  }

  SAFDR_INLINE void sweep(std::int64_t n_proposals) {
    const Replicas& replicas = candidates.replicas;
    const std::int64_t batch = std::min<std::int64_t>(kBatch, replicas.n_usable - replicas.size);
    const std::int64_t n_places = (n_proposals + batch - 1) / batch, n_members = replicas.size - replicas.n_fixed;
    for (std::int64_t place = 0; place < n_places; ++place) {
      if (stopped_at(place)) return;
      const std::int64_t turn = place % kPlacesAFactor;
      if (turn == 0) {
        shuffle(std::min(n_places - place, n_members));
        candidates.build();
      }
      const int count = static_cast<int>(std::min(batch, n_proposals - place * batch));
      const Doubles kept = candidates.open(turn < n_members ? replicas.size - 1 - turn : draw_position());
      draw_candidates(count);
      candidates.evaluate(count);
      decide(count, kept);
      candidates.close();
    }
  }
};

SAFDR_CLONES void sweep_block(Sweeper& sweeper, const CriterionStack& criteria, const Criterion& all_rows,
                              const Sweeps& sweeps) {
  const ReplicaBlock& block = sweeper.candidates.block;
  const Replicas& replicas = sweeper.candidates.replicas;
  Factor& factor = sweeper.candidates.factor;
  for (std::int64_t t = 0; t < sweeps.n_sweeps && !stopped(); ++t) {
    const std::int64_t row = t * replicas.n_replicas;
    for (int n = 0; n < kPackSize; ++n) {
      sweeper.beta[n] = replicas.sign * sweeps.beta[row + block.replica(n)];
      factor.set_criterion(n, criteria[sweeps.batch[row + block.replica(n)]]);
    }
    sweeper.n_accepted = Flags{};
    sweeper.sweep(sweeps.n_proposals);
    factor.set_criterion(all_rows);
    const Doubles value = sweeper.candidates.build();
    for (int n = 0; n < block.n_alive(); ++n) {
      sweeps.accepted[row + block.first + n] = sweeper.n_accepted[n];
      sweeps.values[row + block.first + n] = value[n];
    }
  }
  sweeper.random.store(block.streams, block.n_alive());
}

}  // namespace

SAFDR_CLONES void pack_values(Factor& factor, const std::int32_t* subsets, std::int64_t n_subsets, std::int64_t size,
                              double* values) {
  for (int n = 0; n < kPackSize; ++n) {
    const std::int32_t* subset = subsets + std::min<std::int64_t>(n, n_subsets - 1) * size;
    for (std::int64_t l = 0; l < size; ++l) factor.put_or_fill(n, l, subset[l]);
  }
  factor.clear();
  const Doubles value = factor.extend(size);
  for (int n = 0; n < std::min<std::int64_t>(kPackSize, n_subsets); ++n) values[n] = value[n];
}

void sweep(const CriterionStack& criteria, const Criterion& all_rows, const Groups& groups, const Replicas& replicas,
           const Sweeps& sweeps, std::int64_t n_threads) {
  run_tasks(count_blocks(replicas.n_replicas), n_threads, [&](auto next) {
    Factor factor = Candidates::make_factor(all_rows, groups);
    for (std::int64_t i = next(); i >= 0; i = next()) {
      Sweeper sweeper(groups, replicas, i, factor);
      sweep_block(sweeper, criteria, all_rows, sweeps);
    }
  });
}

void subset_values(const Criterion& criterion, const std::int32_t* subsets, std::int64_t n_subsets, std::int64_t size,
                   std::int64_t n_threads, double* values) {
  run_tasks(count_blocks(n_subsets), n_threads, [&](auto next) {
    Factor factor(size, size, criterion);
    for (std::int64_t i = next(); i >= 0; i = next()) {
      const std::int64_t first = i * kPackSize;
      pack_values(factor, subsets + first * size, n_subsets - first, size, values + first);
    }
  });
}

}  // namespace safdr
