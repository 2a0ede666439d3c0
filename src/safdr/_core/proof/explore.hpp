// Branch and bound over the subsets of a fixed size, from given nodes, each up to a given number of steps. The caller
// prepares the root, sets the number of steps, and continues from the open nodes.
#pragma once

#include <cstdint>
#include <vector>

#include "criterion.hpp"

namespace safdr {

// Some features are in, n_free may be in, all others are out. With A' and D' the matrices of the free features given
// those that are in, all arrays are in the order of `free`.
struct ProofRoot {
  Criterion criterion;                  // of all features
  const std::int32_t *included, *free;  // their indices
  std::int64_t n_included, n_free;
  const double *inverse, *coefficients;  // of A', and of D' on all free features: n_free x n_free, n_free x n_columns
  const double *schur, *rest;            // A' and D'
  double all, value;                     // criterion value of all features, and of those that are in, less their cost
  const double* delta;                   // of each free feature: A' less this diagonal is positive semidefinite
  const double* cost;                    // of each of all features, subtracted from the criterion
  bool priced;                           // whether any cost is nonzero
  const std::uint8_t* conflicts;         // n_free x n_free, or null: which can't be in together
};

struct ProofOptions {
  std::int64_t size;
  double threshold;      // only values above count
  double slack;          // largest rounding error of bounds
  bool improve;          // whether the worst kept value becomes the threshold, once `at_most` are kept
  std::int64_t at_most;  // number of best subsets to keep
  std::int64_t n_steps;  // of each node
  double seconds;
  std::int64_t n_threads;
};

// Of one node: free features are 0, those that are in 1, those that are out -1.
using Decisions = std::vector<std::int8_t>;

struct FoundSubset {
  double value;
  std::vector<std::int32_t> subset;  // sorted

  // The largest value first; of equal ones the first by its features.
  bool operator<(const FoundSubset& other) const {
    return value != other.value ? value > other.value : subset < other.subset;
  }
};

struct ProofReport {
  std::vector<FoundSubset> found;    // the best of them, in no order
  std::vector<std::int64_t> counts;  // for each feature, the number of all found subsets with it
  std::int64_t n_found = 0, n_steps = 0;
  std::vector<Decisions> open;
  std::vector<double> bounds;  // of the open ones
};

// Explores each node independently, with its known bound: the result does not depend on the number of threads, unless
// time runs out.
std::vector<ProofReport> explore(const ProofRoot& root, const std::int8_t* nodes, const double* bounds,
                                 std::int64_t n_nodes, const ProofOptions& options);

}  // namespace safdr
