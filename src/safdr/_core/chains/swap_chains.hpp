// Replicas of the Markov chain over subsets of a fixed size. Plain functions on arrays: the caller owns
// the state, and decides on temperatures, criteria and lengths.
#pragma once

#include <cstdint>
#include <vector>

#include "chains/subset_pack.hpp"

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
  // Null, or: K x K, which features can't be in together; what each costs, so that the value of a subset is
  // J less the cost of its members.
  const std::uint8_t* conflicts = nullptr;
  const double* cost = nullptr;
};

struct SweepOptions {
  std::int64_t n_proposals;
  double collinear_tol;
  std::int64_t n_threads;
};

// What sweeps tell: accepted swaps and criterion value on all rows, of each sweep and replica; and for each
// replica the largest relative drift |J incremental - J fresh| / J where the state was built anew (the first
// eight replicas do that at the end too, as a sample).
struct SweepReport {
  std::int64_t* accepted;
  double* values;
  double* drift;
};

// n_sweeps sweeps of n_proposals Metropolis swaps on each replica. In sweep t replica i has the inverse
// temperature beta[t][i], and is under criterion which[t][i] of the stack, or, where which is null, under one
// drawn for each proposal.
// Replicas go in teams of eight. A team shares the position that is to be replaced (and the criterion,
// where it is drawn); each replica draws its own candidate, and accepts it or not by its own stream.
void sweep(const CriterionStack& criteria, const Criterion& all_rows, const Replicas& replicas, const double* beta,
           const std::int64_t* which, std::int64_t n_sweeps, const SweepOptions& options, const SweepReport& report);

// Moves each replica uphill until no single swap raises its criterion value, which is written to values; or
// downhill, where nothing costs anything, until none lowers it.
void climb(const Criterion& criterion, const Replicas& replicas, bool downhill, double collinear_tol,
           std::int64_t n_threads, double* values);

// Which features a climb would look at from where the replicas are, n_replicas x n_features: of all that raise J for some
// member, which costs nothing, none is left out.
void may_rise(const Criterion& criterion, const Replicas& replicas, bool* may);

// The criterion value of each subset, from scratch; and, where left is not null (n_subsets x size), the
// variance that the members before it leave to each member.
void subset_values(const Criterion& criterion, const std::int32_t* subsets, std::int64_t n_subsets, std::int64_t size,
                   std::int64_t n_threads, double* values, double* left);

// Makes the given swaps one after the other on the incremental state, and writes the gain of each as the
// kernel sees it (-infinity, and no swap, for a collinear candidate). Returns the largest relative drift.
double walk(const Criterion& criterion, const std::vector<std::int32_t>& subset, const std::int64_t* positions,
            const std::int64_t* candidates, std::int64_t n_swaps, double collinear_tol, double* gains);

}  // namespace safdr
