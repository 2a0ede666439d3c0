#include "swaps/local_search.hpp"

#include <algorithm>

#include "aligned.hpp"
#include "chains/candidates.hpp"
#include "parallel.hpp"

namespace safdr {
namespace {

// A swap that raises J by less than this share may be rounding error: a search that made it could go round in circles.
constexpr double kSmallestRise = 1e-9;

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
  candidates.block.exchange(replicas.size - 1, best, accept);
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
  run_tasks(count_blocks(replicas.n_replicas), n_threads, [&](auto next) {
    AlignedBuffer<Doubles> memory(Candidates::size(groups, criterion.n_columns));
    for (std::int64_t i = next(); i >= 0; i = next()) {
      Candidates candidates(criterion, groups, replicas, i, memory.data());
      search_block(candidates, values);
    }
  });
}

}  // namespace safdr
