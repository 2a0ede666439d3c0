// Unpenalised logistic regression by Newton's method, for many small subsets of the same columns.
#pragma once

#include <algorithm>
#include <cstdint>

namespace safdr {

// Rows handled at a time: 64 rows of 31 columns are 16 KB, half a first-level cache; and few rows waste little.
constexpr std::int64_t kBlock = 64;

// Standardised columns, block by block of rows: Z[block][column][row in block], the last block filled up with
// zeros; on a cache-line boundary. The last column is constant one.
struct Design {
  const double* Z;
  const float* single;       // the same in single precision
  const std::uint8_t* wild;  // whether a column is too uneven for that
  std::int64_t n_rows, n_columns;
  const double* y;       // 0 or 1
  const double* weight;  // positive; null means one

  std::int64_t n_blocks() const { return (n_rows + kBlock - 1) / kBlock; }

  template <class Real>
  const Real* columns() const {
    if constexpr (sizeof(Real) == sizeof(double)) {
      return Z;
    } else {
      return single;
    }
  }
};

inline bool any_wild(const std::uint8_t* wild, const std::int32_t* columns, std::int64_t n_columns) {
  return std::any_of(columns, columns + n_columns, [&](std::int32_t j) { return wild[j] != 0; });
}

// Rows of X by element strides, so that either memory order serves. Writes (x - center) / scale of the given
// columns, and a column of ones, in the order of Design: the optimum is the same, the Hessian is better
// conditioned.
void standardise(const double* X, std::int64_t row_stride, std::int64_t column_stride, std::int64_t n_rows,
                 const double* center, const double* scale, const std::int32_t* columns, std::int64_t n_columns,
                 double* Z);

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
  double rival;           // cross-entropy to beat: fits that can't are given up
  bool contest;           // whether the first subset that separates the classes completely ends it: entries
                          // after that one mean nothing
  std::int64_t n_threads;
};

// One entry (coefficients: one row of size + 1, intercept last) a subset.
struct Fits {
  double* coefficients;
  double* cross_entropy;  // mean over the weight; zero under complete separation
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
