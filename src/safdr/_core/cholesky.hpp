// Cholesky factors of small matrices, of which some columns may have no curvature of their own.
#pragma once

#include <cmath>
#include <cstdint>

#include "clones.hpp"

namespace safdr {

SAFDR_INLINE double dot_product(const double* a, const double* b, std::int64_t n) {
  double sum = 0.0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

// The lower triangle of a symmetric matrix becomes its Cholesky factor in place, column by column. A column
// without curvature of its own (collinear, or all rows fitted) gets a zero. scratch: 2 q numbers.
SAFDR_INLINE void cholesky_factorise(double* L, std::int64_t q, std::int64_t stride, double* scratch) {
  double *column = scratch, *least = scratch + q;
  for (std::int64_t i = 0; i < q; ++i) least[i] = 1e-12 * L[i * stride + i];
  for (std::int64_t j = 0; j < q; ++j) {
    const double pivot = L[j * stride + j];
    const double root = pivot > least[j] ? std::sqrt(pivot) : 0.0;
    const double inverse = root > 0.0 ? 1.0 / root : 0.0;
    L[j * stride + j] = root;
    for (std::int64_t i = j + 1; i < q; ++i) column[i] = L[i * stride + j] *= inverse;
    for (std::int64_t i = j + 1; i < q; ++i) {
      double* row = L + i * stride;
      const double factor = column[i];
#pragma omp simd
      for (std::int64_t l = j + 1; l <= i; ++l) row[l] -= factor * column[l];
    }
  }
}

// out = (L L')^-1 in; no step for columns without curvature.
SAFDR_INLINE void cholesky_solve(const double* L, std::int64_t q, std::int64_t stride, const double* in,
                                 double* out) {
  for (std::int64_t i = 0; i < q; ++i) {
    const double* row = L + i * stride;
    out[i] = row[i] > 0.0 ? (in[i] - dot_product(row, out, i)) / row[i] : 0.0;
  }
  for (std::int64_t i = q - 1; i >= 0; --i) {
    const double* row = L + i * stride;
    const double value = out[i] = row[i] > 0.0 ? out[i] / row[i] : 0.0;
#pragma omp simd
    for (std::int64_t l = 0; l < i; ++l) out[l] -= row[l] * value;
  }
}

}  // namespace safdr
