// Logistic regression by Newton's method, for many small subsets of the same columns.
#pragma once

#include <cstdint>

#include "fits/columns.hpp"

namespace safdr {

// The mean cross-entropy near coefficients of some columns, the constant one last: its gradient and Hessian there
// (n_columns, and n_columns x n_columns in row-major order).
struct LocalModel {
  std::int64_t n_columns;
  const double* coefficients;
  const double* gradient;
  const double* hessian;
};

// columns are all but the constant one, by their numbers in the design.
void local_model(const Design& design, const std::int32_t* columns, std::int64_t n_columns, const double* coefficients,
                 double* gradient, double* hessian);

struct FitOptions {
  std::int64_t max_iter;  // Newton steps
  double tol;             // on half the squared Newton decrement, relative to the loss without features
  bool exact;             // whether an optimum is to be told from partial separation; else passes over the rows are
                          // in single precision
  double incumbent;       // loss to beat: fits that can't are given up
  bool best_only;         // whether entries after the first subset that separates the classes completely mean nothing
  std::int64_t n_threads;
};

// One entry (coefficients: one row of size + 1, intercept last) a subset.
struct Fits {
  double* coefficients;
  double* cross_entropy;  // mean over the weight, and the penalty; zero under complete separation
  bool* separated;
  bool* converged;  // false under separation, where rounding stopped it, or where more can be done
  double* left;     // estimate of what the cross-entropy has left to lose
  std::int64_t* n_iter;
};

// Fits each subset of the columns, from the given coefficients (one row a subset, as in Fits), or from the
// optimum of the model for the subset, whose columns are at the given places in it; start, or model and places, may be
// null. The Hessian of the model is used as long as it serves.
void fit_logistic(const Design& design, const std::int32_t* subsets, std::int64_t n_subsets, std::int64_t size,
                  const double* start, const LocalModel* model, const std::int32_t* places, const FitOptions& options,
                  const Fits& fits);

}  // namespace safdr
