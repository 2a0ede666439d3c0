#include "chains.hpp"

#include <algorithm>
#include <cmath>

#include "aligned.hpp"
#include "parallel.hpp"
#include "random.hpp"

namespace safdr {
namespace {

// exp(x) for x below this is smaller than any non-zero uniform(): the proposal is as good as refused.
constexpr double kNeverAccepted = -37.0;

double relative_drift(double incremental, double fresh) {
  return std::abs(incremental - fresh) / std::max(std::abs(fresh), 1e-300);
}

template <int Stride>
SAFDR_INLINE void sweep_replica(const CriterionStack& criteria, const Replicas& replicas, std::int64_t i,
                                double beta, std::int64_t which, const SweepOptions& options,
                                double* memory, std::int64_t* accepted, double* drift) {
  const std::int64_t k = replicas.size, K = criteria.n_features;
  const bool draw_each = which < 0;
  const std::int64_t n_states = draw_each ? criteria.n_criteria : 1;
  const std::int64_t state_size = SubsetState<Stride>::size(k, criteria.n_columns);
  std::int32_t* order = replicas.order + i * K;
  Random random(replicas.streams + 4 * i);
  const std::int64_t n_members = k - replicas.n_fixed, n_candidates = replicas.n_usable - k;

  std::vector<SubsetState<Stride>> states;
  states.reserve(static_cast<std::size_t>(n_states));
  for (std::int64_t s = 0; s < n_states; ++s) {
    states.emplace_back(k, criteria.n_columns, memory + s * state_size);
    states.back().build(criteria[draw_each ? s : which], order);
  }

  double worst = 0.0;
  const auto refresh = [&] {
    for (std::int64_t s = 0; s < n_states; ++s) {
      SubsetState<Stride>& state = states[static_cast<std::size_t>(s)];
      const double incremental = state.value;
      const bool followed = state.followed;
      state.build(criteria[draw_each ? s : which], order);
      if (followed) worst = std::max(worst, relative_drift(incremental, state.value));
    }
  };

  std::int64_t n_accepted = 0;
  for (std::int64_t t = 0; t < options.n_proposals; ++t) {
    const std::uint64_t bits = random.bits();
    const std::int64_t a = replicas.n_fixed + Random::below(bits >> 32, n_members);
    const std::int64_t b = k + Random::below(bits & 0xffffffffu, n_candidates);
    const std::int64_t drawn =
        draw_each ? Random::below(random.bits() >> 32, criteria.n_criteria) : 0;
    SubsetState<Stride>& state = states[static_cast<std::size_t>(drawn)];
    const std::int64_t j = order[b];
    const double gain =
        state.gain(criteria[draw_each ? drawn : which], order, a, j, options.collinear_tol);
    // -infinity times a beta of zero is not a number, and not a number is not accepted either.
    const double exponent = beta * gain;
    const bool accept =
        gain >= 0.0 || (exponent > kNeverAccepted && random.uniform() < std::exp(exponent));
    if (!accept) continue;
    bool worn = false;
    for (std::int64_t s = 0; s < n_states; ++s) {
      SubsetState<Stride>& other = states[static_cast<std::size_t>(s)];
      // A tolerance of zero: the other batches follow the one that was asked.
      const double its_gain = s == drawn ? gain : other.gain(criteria[s], order, a, j, 0.0);
      other.followed = std::isfinite(its_gain);
      if (other.followed) other.swap(a, its_gain);
      worn |= !other.followed || other.worn;
    }
    std::swap(order[a], order[b]);
    ++n_accepted;
    if (worn) refresh();
  }
  if (i == 0) refresh();
  *accepted = n_accepted;
  *drift = worst;
}

#define SAFDR_BY_STRIDE(k, CALL)          \
  switch (padded(k)) {                    \
    case 8: CALL(8); break;               \
    case 16: CALL(16); break;             \
    case 24: CALL(24); break;             \
    case 32: CALL(32); break;             \
    default: CALL(0); break;              \
  }

SAFDR_CLONES void sweep_one(const CriterionStack& criteria, const Replicas& replicas, std::int64_t i,
                            double beta, std::int64_t which, const SweepOptions& options, double* memory,
                            std::int64_t* accepted, double* drift) {
#define CALL(N) sweep_replica<N>(criteria, replicas, i, beta, which, options, memory, accepted, drift)
  SAFDR_BY_STRIDE(replicas.size, CALL)
#undef CALL
}

template <int Stride>
SAFDR_INLINE double value_of(const Criterion& criterion, const std::int32_t* subset, std::int64_t k,
                             double* memory) {
  SubsetState<Stride> state(k, criterion.n_columns, memory);
  state.evaluate(criterion, subset);
  return state.value;
}

SAFDR_CLONES void value_one(const Criterion& criterion, const std::int32_t* subset, std::int64_t k,
                            double* memory, double* value) {
#define CALL(N) *value = value_of<N>(criterion, subset, k, memory)
  SAFDR_BY_STRIDE(k, CALL)
#undef CALL
}

}  // namespace

void sweep(const CriterionStack& criteria, const Replicas& replicas, const double* beta,
           const std::int64_t* which, const SweepOptions& options, std::int64_t* accepted, double* drift) {
  const bool any_draws = std::any_of(which, which + replicas.n_replicas, [](auto w) { return w < 0; });
  const std::int64_t n_states = any_draws ? criteria.n_criteria : 1;
  const std::int64_t memory_size = n_states * SubsetState<0>::size(replicas.size, criteria.n_columns);
  run_tasks(replicas.n_replicas, options.n_threads, [&](auto next) {
    AlignedBuffer memory(memory_size);
    for (std::int64_t i = next(); i >= 0; i = next()) {
      sweep_one(criteria, replicas, i, beta[i], which[i], options, memory.data(), accepted + i, drift + i);
    }
  });
}

void subset_values(const Criterion& criterion, const std::int32_t* subsets, std::int64_t n_subsets,
                   std::int64_t size, std::int64_t n_threads, double* values) {
  run_tasks(n_subsets, n_threads, [&](auto next) {
    AlignedBuffer memory(SubsetState<0>::size(size, criterion.n_columns));
    for (std::int64_t i = next(); i >= 0; i = next()) {
      value_one(criterion, subsets + i * size, size, memory.data(), values + i);
    }
  });
}

double walk(const Criterion& criterion, std::vector<std::int32_t> members, const std::int64_t* positions,
            const std::int64_t* candidates, std::int64_t n_swaps, double collinear_tol, double* gains) {
  const auto k = static_cast<std::int64_t>(members.size());
  AlignedBuffer memory(SubsetState<0>::size(k, criterion.n_columns));
  SubsetState<0> state(k, criterion.n_columns, memory.data());
  state.build(criterion, members.data());
  double worst = 0.0;
  const auto refresh = [&] {
    const double incremental = state.value;
    state.build(criterion, members.data());
    worst = std::max(worst, relative_drift(incremental, state.value));
  };
  for (std::int64_t t = 0; t < n_swaps; ++t) {
    gains[t] = state.gain(criterion, members.data(), positions[t], candidates[t], collinear_tol);
    if (!std::isfinite(gains[t])) continue;
    state.swap(positions[t], gains[t]);
    members[static_cast<std::size_t>(positions[t])] = static_cast<std::int32_t>(candidates[t]);
    if (state.worn) refresh();
  }
  refresh();
  return worst;
}

}  // namespace safdr
