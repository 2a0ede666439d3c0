// Replicas of the Markov chain over selections of a fixed number of units: features that are in or out together.
#pragma once

#include <algorithm>
#include <cstdint>

#include "chains/swap_chains.hpp"

namespace safdr {

// The features of unit u are features[starts[u]] to features[starts[u + 1]]. Units of most features come first.
// Criteria have one feature more than there are, of which all numbers are zero: it fills up rows.
struct Units {
  const std::int64_t* starts;
  const std::int32_t* features;
  std::int64_t n_units;
  std::int64_t width;  // the most features that a selection has
  // Null where linear combinations are welcome, or what count_needless() says.
  const std::int64_t* needless;

  std::int64_t length(std::int64_t unit) const { return starts[unit + 1] - starts[unit]; }
  // Rows of a selection without one unit, an even number, and of a unit in its place.
  std::int64_t most_rows() const { return width + 1 + (n_units > 0 ? length(0) : 0); }
};

// How many features of each unit are linear combinations of the unit's others.
void count_needless(const Criterion& criterion, const Units& units, double collinear_tol, std::int64_t* needless);

// As sweep() in chains.hpp, with units in place of features in `replicas`. Every replica draws its own
// positions, and keeps each for a few proposals.
void sweep_units(const CriterionStack& criteria, const Criterion& all_rows, const Units& units,
                 const Replicas& replicas, const double* beta, const std::int64_t* which, std::int64_t n_sweeps,
                 const SweepOptions& options, std::int64_t* accepted, double* values);

// Moves each replica uphill until no swap of one unit raises its value, which is written to values.
void climb_units(const Criterion& criterion, const Units& units, const Replicas& replicas, double collinear_tol,
                 std::int64_t n_threads, double* values);

}  // namespace safdr
