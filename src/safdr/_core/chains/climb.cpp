// Replicas go uphill: round by round each candidate comes in for the member whose place it fills best.
#include <algorithm>
#include <cmath>
#include <optional>

#include "aligned.hpp"
#include "chains/replica_block.hpp"
#include "chains/swap_chains.hpp"
#include "chains/swap_screen.hpp"
#include "parallel.hpp"

namespace safdr {
namespace {

// What sets the worth of a candidate until the next swap: for each member one over its place on the diagonal of P,
// what `sign` times J loses with it, and what has to be gained in its stead.
struct Prices {
  Doubles *inverse_p, *lost, *gained;

  static std::int64_t size(std::int64_t k) { return 3 * k; }

  Prices(std::int64_t k, Doubles* memory) : inverse_p(memory), lost(memory + k), gained(memory + 2 * k) {}

  SAFDR_INLINE void renew(const SubsetPack& state, double sign) {
    const Doubles least = kSmallestRise * absolute(state.value);
    for (std::int64_t a = 0; a < state.k; ++a) {
      inverse_p[a] = state.inverse_diagonal(a);
      lost[a] = sign * state.loss(a) * inverse_p[a];
      gained[a] = least + lost[a];
    }
  }
};

// Whether the feature at a place of the order raises J of none of those that climb.
SAFDR_INLINE bool ruled_out(SwapScreen& screen, const ReplicaBlock& block, const Flags& active, std::int64_t place) {
  for (int n = 0; n < kPackSize; ++n) {
    if (active[n] && screen.may_rise(n, block.order[n], block.order[n][place])) return screen.note(false);
  }
  return screen.note(true);
}

// One round over all candidates: each comes in for the member whose place it fills best, if that raises `sign`
// times J. False when nothing moved.
SAFDR_INLINE bool climb_round(SubsetPack& state, const Replicas& replicas, ReplicaBlock& block, double sign,
                              const Flags& active, double tol, Prices& prices, SwapScreen* screen) {
  bool moved = false;
  const Flags all = broadcast<std::int64_t>(-1);
  prices.renew(state, sign);
  if (screen != nullptr) screen->renew(state, all, prices.gained, prices.inverse_p);
  for (std::int64_t place = replicas.size; place < replicas.n_usable; ++place) {
    if (stopped_at(place)) return false;
    if (screen != nullptr && ruled_out(*screen, block, active, place)) continue;
    std::int64_t b[kPackSize], j[kPackSize];
    for (int n = 0; n < kPackSize; ++n) {
      b[n] = place;
      j[n] = block.order[n][place];
    }
    Flags position = broadcast(kAnywhere);
    if (replicas.conflicts != nullptr) position = places_for(replicas, block, state.n_features, j, active);
    const Doubles left = state.look(j, true);
    Doubles most = kSmallestRise * absolute(state.value);
    Flags best = broadcast<std::int64_t>(-1), possible;
    for (std::int64_t a = replicas.n_fixed; a < replicas.size; ++a) {
      Doubles cost = constant(0.0);
      if (replicas.cost != nullptr) cost = swap_cost(replicas.cost, block, a, j);
      const Doubles gained = replicas.cost == nullptr ? most + prices.lost[a] : most + cost + prices.lost[a];
      Flags better = active & state.gains_more(a, left, prices.inverse_p[a], sign, gained, tol);
      if (replicas.conflicts != nullptr) better = better & fits(position, a);
      if (!any(better)) continue;
      Doubles rise = sign * state.gain(a, left, state.g[a], tol, possible);
      if (replicas.cost != nullptr) rise -= cost;
      most = choose(better, rise, most);
      best = choose(better, broadcast(a), best);
    }
    if (!any(best >= std::int64_t{0})) continue;
    moved = true;
    for (std::int64_t a = replicas.n_fixed; a < replicas.size; ++a) {
      const Flags accept = best == a;
      if (!any(accept)) continue;
      // A swap of another replica leaves this one as it was, but not what was seen of its candidate.
      if (!state.has_g) state.look(j, true);
      const Doubles gain = state.gain(a, left, state.g[a], tol, possible);
      state.swap(a, gain, accept);
      block.swap(a, b, accept);
      state.confirm_stale(a);
    }
    const bool built = any(state.stale);
    if (built) state.build();
    prices.renew(state, sign);
    if (screen != nullptr) {
      screen->renew(state, built ? all : best >= std::int64_t{0}, prices.gained, prices.inverse_p);
    }
  }
  return moved;
}

SAFDR_CLONES void climb_block(const Criterion& criterion, const Replicas& replicas, ReplicaBlock& block, double sign,
                              double tol, Doubles* memory, SwapScreen* screen, double* values) {
  SubsetPack state(replicas.size, criterion, block.members.data(), memory);
  state.build();
  // A replica goes on as long as a round has raised its value, computed from scratch: so all come to an end.
  Flags active = block.range.alive;
  const auto value_now = [&] {
    return replicas.cost == nullptr ? state.value : state.value - members_cost(replicas.cost, block, replicas.size);
  };
  Doubles value = value_now();
  Prices prices(replicas.size, memory + SubsetPack::size(replicas.size, criterion.n_columns));
  // In the first round every few candidates come in, and what a screen knows would not last.
  SwapScreen* now = nullptr;
  while (climb_round(state, replicas, block, sign, active, tol, prices, now)) {
    now = screen != nullptr && screen->is_worth_it() ? screen : nullptr;
    state.build();
    const Doubles before = value;
    value = value_now();
    active = active & (sign * value > sign * before);
  }
  for (int n = 0; n < block.range.n_alive; ++n) values[block.range.first + n] = value[n];
}

SAFDR_CLONES void screen_block(const Criterion& criterion, std::int64_t size, const ReplicaBlock& block,
                               Doubles* memory, SwapScreen& screen, bool* may) {
  SubsetPack state(size, criterion, block.members.data(), memory);
  state.build();
  Prices prices(size, memory + SubsetPack::size(size, criterion.n_columns));
  prices.renew(state, 1.0);
  screen.renew(state, block.range.alive, prices.gained, prices.inverse_p);
  for (int n = 0; n < block.range.n_alive; ++n) {
    for (std::int64_t j = 0; j < criterion.n_features; ++j) {
      may[(block.range.first + n) * criterion.n_features + j] = screen.may_rise(n, block.order[n], j);
    }
  }
}

}  // namespace

void climb(const Criterion& criterion, const Replicas& replicas, bool downhill, double collinear_tol,
           std::int64_t n_threads, double* values) {
  const double sign = downhill ? -1.0 : 1.0;
  const std::int64_t k = replicas.size;
  run_tasks(blocks_of(replicas.n_replicas), n_threads, [&](auto next) {
    AlignedBuffer<Doubles> memory(SubsetPack::size(k, criterion.n_columns) + Prices::size(k));
    std::optional<SwapScreen> screen;
    if (!downhill && replicas.cost == nullptr) screen.emplace(criterion, k, replicas.n_fixed);
    for (std::int64_t i = next(); i >= 0; i = next()) {
      ReplicaBlock block(replicas, criterion.n_features, i);
      climb_block(criterion, replicas, block, sign, collinear_tol, memory.data(), screen ? &*screen : nullptr, values);
    }
  });
}

void may_rise(const Criterion& criterion, const Replicas& replicas, bool* may) {
  AlignedBuffer<Doubles> memory(SubsetPack::size(replicas.size, criterion.n_columns) + Prices::size(replicas.size));
  SwapScreen screen(criterion, replicas.size, replicas.n_fixed);
  for (std::int64_t i = 0; i < blocks_of(replicas.n_replicas); ++i) {
    const ReplicaBlock block(replicas, criterion.n_features, i);
    screen_block(criterion, replicas.size, block, memory.data(), screen, may);
  }
}

}  // namespace safdr
