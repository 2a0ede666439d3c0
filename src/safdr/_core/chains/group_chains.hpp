// Replicas of the Markov chain over selections of a fixed number of feature groups: columns that enter together.
#pragma once

#include <algorithm>
#include <cstdint>

#include "chains/swap_chains.hpp"

namespace safdr {

// The features of group u are features[starts[u]] to features[starts[u + 1]]. Groups of most features come first.
// Criteria have one feature more than there are, of which all numbers are zero: it fills up rows.
struct FeatureGroups {
  const std::int64_t* starts;
  const std::int32_t* features;
  std::int64_t n_groups;
  std::int64_t width;  // the most features that a selection has
  // Null where linear combinations are welcome, or what count_redundant() says.
  const std::int64_t* redundant;

  std::int64_t length(std::int64_t group) const { return starts[group + 1] - starts[group]; }
  // Rows of a selection without one group, an even number, and of a group in its place.
  std::int64_t most_rows() const { return width + 1 + (n_groups > 0 ? length(0) : 0); }
};

// How many features of each group are linear combinations of the group's others.
void count_redundant(const Criterion& criterion, const FeatureGroups& groups, double collinear_tol,
                     std::int64_t* redundant);

// As sweep() in swap_chains.hpp, with groups in place of features in `replicas`. Every replica draws its own
// positions, and keeps each for a few proposals.
void sweep_groups(const CriterionStack& criteria, const Criterion& all_rows, const FeatureGroups& groups,
                  const Replicas& replicas, const double* beta, const std::int64_t* which, std::int64_t n_sweeps,
                  const SweepOptions& options, std::int64_t* accepted, double* values);

// Moves each replica uphill until no swap of one group raises its value, which is written to values.
void climb_groups(const Criterion& criterion, const FeatureGroups& groups, const Replicas& replicas,
                  double collinear_tol, std::int64_t n_threads, double* values);

}  // namespace safdr
