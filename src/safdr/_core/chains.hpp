// Replicas of the Markov chain over subsets of a fixed size. Plain functions on arrays: the caller owns
// the state, and decides on temperatures, criteria and lengths.
#pragma once

#include <cstdint>
#include <vector>

#include "subset_state.hpp"

namespace safdr {

// A stack of criteria over the same features: A is n_criteria x K x K, D is n_criteria x K x n_columns.
struct CriterionStack {
  const double* A;
  const double* D;
  std::int64_t n_criteria, n_features, n_columns;

  Criterion operator[](std::int64_t i) const {
    return {A + i * n_features * n_features, D + i * n_features * n_columns, n_features, n_columns};
  }
};

// The replicas. Row i of order is a permutation of the features: first the size members of the subset,
// of which the first n_fixed must stay; then the candidates, up to n_usable; the rest must stay out.
struct Replicas {
  std::int32_t* order;
  std::uint64_t* streams;  // four words of random state each
  std::int64_t n_replicas, size, n_fixed, n_usable;
};

struct SweepOptions {
  std::int64_t n_proposals;
  double collinear_tol;
  std::int64_t n_threads;
};

// n_proposals Metropolis swaps on each replica at its own inverse temperature beta[i], under criterion
// which[i] of the stack, or, where which[i] is negative, under one drawn for each proposal.
// Writes the number of accepted swaps, and the largest relative drift |J incremental - J fresh| / J at the
// refreshes; the first replica refreshes at the end of each sweep too, as a sample.
void sweep(const CriterionStack& criteria, const Replicas& replicas, const double* beta,
           const std::int64_t* which, const SweepOptions& options, std::int64_t* accepted, double* drift);

// The criterion value of each subset, from scratch.
void subset_values(const Criterion& criterion, const std::int32_t* subsets, std::int64_t n_subsets,
                   std::int64_t size, std::int64_t n_threads, double* values);

// Makes the given swaps one after the other on the incremental state, and writes the gain of each as the
// kernel sees it (-infinity, and no swap, for a collinear candidate). Returns the largest relative drift.
double walk(const Criterion& criterion, std::vector<std::int32_t> members, const std::int64_t* positions,
            const std::int64_t* candidates, std::int64_t n_swaps, double collinear_tol, double* gains);

}  // namespace safdr
