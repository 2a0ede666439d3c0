// Unpenalised logistic regression by Newton's method, for many small subsets of the same columns.
#pragma once

#include <cstdint>

namespace safdr {

// Rows of X by element strides, so that either memory order serves. Column j enters as
// (x - mean[j]) / scale[j]: the optimum is the same, the Hessian is better conditioned.
struct Design {
  const double* X;
  std::int64_t row_stride, column_stride, n_rows;
  const double* mean;
  const double* scale;
  const double* y;       // 0 or 1
  const double* weight;  // positive
};

struct FitOptions {
  std::int64_t max_iter;  // Newton steps
  double tol;             // on half the squared Newton decrement, relative to the loss without features
  std::int64_t n_threads;
};

// One entry (coefficients: one row of size + 1, intercept last, for the scaled columns) a subset.
struct Fits {
  double* coefficients;
  double* cross_entropy;  // mean over the weight
  bool* separated;
  bool* converged;  // false under separation, or where rounding stopped it
  std::int64_t* n_iter;
};

// Fits each subset from the given coefficients (one row a subset, as in Fits).
void fit_logistic(const Design& design, const std::int32_t* subsets, const double* start,
                  std::int64_t n_subsets, std::int64_t size, const FitOptions& options,
                  const Fits& fits);

}  // namespace safdr
