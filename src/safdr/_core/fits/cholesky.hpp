// Small positive semi-definite systems: the Cholesky factor in place, and solutions with it.
//
// The lower triangle is kept column by column, each from a multiple of four numbers on, so that vectors run
// down the columns: no sums within a vector, and few loads and stores. The matrix has `stride` rows and columns,
// a multiple of four; those beyond the q that count are zeros.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "simd/pack.hpp"

namespace safdr {

class Cholesky {
 public:
  static constexpr std::int64_t kStep = 4;  // rows are a multiple of this

  // Overwrites the matrix (32 bytes aligned) with its factor and the inverse of its diagonal. A column without
  // residual curvature (collinear, or all rows fitted) becomes zero. Returns the smallest share of the
  // diagonal that remains given the previous columns.
  static SAFDR_INLINE double factorise(double* L, std::int64_t q, std::int64_t stride) {
    double smallest = 1.0;
    for (std::int64_t j = 0; j < q; ++j) {
      const std::int64_t first = j / kStep * kStep;
      double* column = L + j * stride;
      const double before = column[j];
      for (std::int64_t i = first; i < stride; i += 8 * kWidth) {
        const std::int64_t n_parts = std::min<std::int64_t>(8, (stride - i) / kWidth);
        if (n_parts > 4) {
          if (n_parts > 6) {
            reduce<8>(L, j, stride, i, n_parts);
          } else {
            reduce<6>(L, j, stride, i, n_parts);
          }
        } else if (n_parts > 2) {
          reduce<4>(L, j, stride, i, n_parts);
        } else {
          reduce<2>(L, j, stride, i, n_parts);
        }
      }
      const double pivot = column[j], inverse = pivot > 1e-12 * before ? 1.0 / std::sqrt(pivot) : 0.0;
      smallest = std::min(smallest, inverse > 0.0 ? pivot / before : 0.0);
      for (std::int64_t i = first; i < stride; i += kWidth) at(column + i) *= inverse;
      std::fill(column + first, column + j, 0.0);
      column[j] = inverse;
    }
    return smallest;
  }

  // out = (L L')^-1 in; no step for columns without curvature. Both have `stride` numbers, and may be the same.
  static SAFDR_INLINE void solve(const double* L, std::int64_t q, std::int64_t stride, const double* in, double* out) {
    std::copy_n(in, q, out);
    std::fill(out + q, out + stride, 0.0);
    // Four columns at a time: the triangle first, then what they take from the rows below.
    for (std::int64_t j = 0; j < q; j += kStep) {
      const double* column = L + j * stride;
      const double* c[] = {column, column + stride, column + 2 * stride, column + 3 * stride};
      const double x0 = out[j] * c[0][j];
      const double x1 = (out[j + 1] - c[0][j + 1] * x0) * c[1][j + 1];
      const double x2 = (out[j + 2] - c[0][j + 2] * x0 - c[1][j + 2] * x1) * c[2][j + 2];
      const double x3 = (out[j + 3] - c[0][j + 3] * x0 - c[1][j + 3] * x1 - c[2][j + 3] * x2) * c[3][j + 3];
      for (std::int64_t i = j + kStep; i < stride; i += kWidth) {
        at(out + i) -= (x0 * at(c[0] + i) + x1 * at(c[1] + i)) + (x2 * at(c[2] + i) + x3 * at(c[3] + i));
      }
      out[j] = x0;
      out[j + 1] = x1;
      out[j + 2] = x2;
      out[j + 3] = x3;
    }
    for (std::int64_t j = stride - kStep; j >= 0; j -= kStep) {
      const double* column = L + j * stride;
      const double* c[] = {column, column + stride, column + 2 * stride, column + 3 * stride};
      Part sum0{}, sum1{}, sum2{}, sum3{};
      for (std::int64_t i = j + kStep; i < stride; i += kWidth) {
        const Part x = at(out + i);
        sum0 += x * at(c[0] + i);
        sum1 += x * at(c[1] + i);
        sum2 += x * at(c[2] + i);
        sum3 += x * at(c[3] + i);
      }
      const double x3 = (out[j + 3] - sum_of(sum3)) * c[3][j + 3];
      const double x2 = (out[j + 2] - sum_of(sum2) - c[2][j + 3] * x3) * c[2][j + 2];
      const double x1 = (out[j + 1] - sum_of(sum1) - c[1][j + 2] * x2 - c[1][j + 3] * x3) * c[1][j + 1];
      out[j] = (out[j] - sum_of(sum0) - c[0][j + 1] * x1 - c[0][j + 2] * x2 - c[0][j + 3] * x3) * c[0][j];
      out[j + 1] = x1;
      out[j + 2] = x2;
      out[j + 3] = x3;
    }
  }

 private:
  typedef Doubles::Part Part;
  static constexpr std::int64_t kWidth = Doubles::kPerPart;

  // Subtracts from up to `Parts` vectors of column j, from row i on, the part that the columns before it explain.
  template <int Parts>
  static SAFDR_INLINE void reduce(double* L, std::int64_t j, std::int64_t stride, std::int64_t i,
                                  std::int64_t n_parts) {
    double* column = L + j * stride + i;
    Part sum[Parts];
    for (int n = 0; n < Parts; ++n) sum[n] = n < n_parts ? at(column + n * kWidth) : Part{};
    for (std::int64_t l = 0; l < j; ++l) {
      const double* other = L + l * stride;
      const double factor = other[j];
      for (int n = 0; n < Parts; ++n) sum[n] -= factor * at(other + i + n * kWidth);
    }
    for (int n = 0; n < Parts; ++n) {
      if (n < n_parts) at(column + n * kWidth) = sum[n];
    }
  }
};

}  // namespace safdr
