// Replicas of the Markov chain over subsets of a fixed size. Plain functions on arrays: the caller owns the state, and
// decides on temperatures, criteria and lengths.
#pragma once

#include <cstdint>

#include "chains/replicas.hpp"
#include "criterion.hpp"

namespace safdr {

// Sweeps of n_proposals Metropolis swaps each. In sweep t replica i has the inverse temperature beta[t][i] and is under
// criterion batch[t][i] of the stack. accepted[t][i] and values[t][i], of all rows, are written.
struct Sweeps {
  const double* beta;
  const std::int64_t* batch;
  std::int64_t n_sweeps, n_proposals;
  std::int64_t* accepted;
  double* values;
};

void sweep(const CriterionStack& criteria, const Criterion& all_rows, const Groups& groups, const Replicas& replicas,
           const Sweeps& sweeps, std::int64_t n_threads);

// Moves each replica until no swap of one group raises its value.
void local_search(const Criterion& criterion, const Groups& groups, const Replicas& replicas, std::int64_t n_threads);

// The criterion value of each subset, from scratch. Rows have `size` features, or are filled up with -1.
void subset_values(const Criterion& criterion, const std::int32_t* subsets, std::int64_t n_subsets, std::int64_t size,
                   std::int64_t n_threads, double* values);

class Factor;
// The same of up to four subsets, with a factor of `size` rows.
void pack_values(Factor& factor, const std::int32_t* subsets, std::int64_t n_subsets, std::int64_t size,
                 double* values);

}  // namespace safdr
