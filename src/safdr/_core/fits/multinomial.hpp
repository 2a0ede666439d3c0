// Softmax regression for many small subsets of the same columns: truncated Newton steps.
#pragma once

#include <cstdint>

#include "fits/columns.hpp"

namespace safdr {

struct ClassEvaluation {
  double loss;     // mean cross-entropy, and the penalty
  bool separated;  // whether every row is classified right
};

struct ClassOptions {
  std::int64_t max_iter;  // Newton steps; of 0 the loss is that of the start
  double tol;             // on half the squared Newton decrement, relative to the loss without features
  bool exact;             // whether partial separation is to be told from an optimum
  double incumbent;       // with a penalty, fits that can't have a loss as small as this are given up; or infinite
  bool best_only;         // whether entries after the first subset that separates the classes completely mean nothing
  std::int64_t n_threads;
};

// One entry (coefficients: n_classes rows of size + 1, intercept last) a subset. On entry the coefficients are where
// the fits start.
struct ClassFits {
  double* coefficients;
  double* cross_entropy;  // mean over the weight, and the penalty; zero under complete separation
  bool* separated;        // in part, or completely
  bool* converged;        // false under separation, where rounding stopped it, or where more can be done
  double* left;           // what the cross-entropy had to lose before the last step, by estimate; with a penalty, where
                          // only the best counts and this is not to be exact, what it has to lose at most
  std::int64_t* n_iter;
};

void fit_multinomial(const ClassDesign& design, const std::int32_t* subsets, std::int64_t n_subsets, std::int64_t size,
                     const ClassOptions& options, const ClassFits& fits);

}  // namespace safdr
