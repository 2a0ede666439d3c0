// The state of one subset S under one criterion J(S) = trace(D_S' A_SS^-1 D_S): P = A_SS^-1 and w = P D_S.
//
// Replacing the member at position a by candidate j, with
//     x = A_Sj    g = P x    q = P[:, a]    p = P_aa    h = g - q g_a / p    (then h_a := -1)
//     c = A_jj - x'g + g_a^2 / p            variance of j that the other members leave
//     r = D_j - x'w + w_a g_a / p           discriminant of j that they leave
// changes J by |r|^2 / c - |w_a|^2 / p, and the state by
//     P += h h' / c - q q' / p              w -= q w_a / p + h r / c
// Rows are padded with zeros to a multiple of 8, so that the loops have no remainder. Stride is that
// padded length where it is known at compile time, and 0 where it is not.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "clones.hpp"

namespace safdr {

// One criterion: A is n_features x n_features, D is n_features x n_columns, both row-major.
struct Criterion {
  const double* A;
  const double* D;
  std::int64_t n_features;
  std::int64_t n_columns;
};

inline std::int64_t padded(std::int64_t k) { return (k + 7) / 8 * 8; }

// When to build the state anew. A swap subtracts and adds terms of the size of the variance inflation, 1/c
// of the member that enters and p of the one that leaves, and amplifies errors by about its square: 300 is
// the end of that. Below it, errors add up, and the row of P that a swap has written tells how far they are:
// times its column of A_SS it should be one. Measured on badly conditioned data (condition numbers of
// a million), gains then are right to 1e-9 of J.
constexpr double kMostInflation = 300.0, kMostResidual = 1e-13;

// Below this a pivot is rounding error, not variance (features are scaled to variance one).
constexpr double kSmallestPivot = 1e-13;

template <int Stride>
struct SubsetState {
  std::int64_t k, n_columns, stride_;
  double *P, *w;         // k x stride, n_columns x stride
  double *x, *g, *h, *r;  // scratch: stride, stride, stride, n_columns
  double value, c, own;
  bool worn;      // rounding may have come so far that the state should be built anew
  bool followed;  // whether the last swap of the subset could be made here too

  static std::int64_t size(std::int64_t k, std::int64_t n_columns) {
    const std::int64_t stride = padded(k);
    return stride * (k + n_columns + 3) + padded(n_columns);
  }

  // memory: size() zeroed doubles.
  SubsetState(std::int64_t k, std::int64_t n_columns, double* memory)
      : k(k), n_columns(n_columns), stride_(padded(k)), P(memory), w(P + k * stride_),
        x(w + n_columns * stride_), g(x + stride_), h(g + stride_), r(h + stride_), value(0), c(0), own(0), worn(false),
        followed(true) {}

  SAFDR_INLINE std::int64_t stride() const { return Stride > 0 ? Stride : stride_; }

  // P, w and J from scratch, by Gauss-Jordan elimination in place.
  SAFDR_INLINE void build(const Criterion& criterion, const std::int32_t* members) {
    const std::int64_t n = stride();
    load(criterion, members);
    for (std::int64_t i = 0; i < k; ++i) eliminate(i);
    worn = false;
    followed = true;
    value = 0.0;
    for (std::int64_t col = 0; col < n_columns; ++col) {
      for (std::int64_t l = 0; l < k; ++l) x[l] = criterion.D[members[l] * n_columns + col];
      for (std::int64_t l = k; l < n; ++l) x[l] = 0.0;
      multiply(w + col * n);
      value += dot(x, w + col * n);
    }
  }

  // J alone, by Gaussian elimination: a third of the work of build(). Leaves P and w spoilt.
  SAFDR_INLINE void evaluate(const Criterion& criterion, const std::int32_t* members) {
    const std::int64_t n = stride();
    load(criterion, members);
    for (std::int64_t col = 0; col < n_columns; ++col) {
      for (std::int64_t l = 0; l < k; ++l) w[col * n + l] = criterion.D[members[l] * n_columns + col];
    }
    value = 0.0;
    for (std::int64_t i = 0; i < k; ++i) {
      const double* pivot_row = P + i * n;
      const double inverse = 1.0 / at_least_smallest(pivot_row[i]);
      const std::int64_t from = i / 8 * 8;
      for (std::int64_t o = i + 1; o < k; ++o) {
        double* row = P + o * n;
        const double factor = row[i] * inverse;
        for (std::int64_t col = 0; col < n_columns; ++col) w[col * n + o] -= factor * w[col * n + i];
#pragma omp simd
        for (std::int64_t l = from; l < n; ++l) row[l] -= factor * pivot_row[l];
      }
      for (std::int64_t col = 0; col < n_columns; ++col) {
        value += w[col * n + i] * w[col * n + i] * inverse;
      }
    }
  }

  // The gain of replacing the member at position a by candidate j; -infinity where j is a linear
  // combination of the other members: they leave it no more than tol, and take most of what it has.
  // (A feature that separates the classes perfectly has next to no variance, but all of it is its own.)
  // Leaves g, r, c.
  SAFDR_INLINE double gain(const Criterion& criterion, const std::int32_t* members, std::int64_t a,
                           std::int64_t j, double tol) {
    const std::int64_t n = stride();
    const double* row = criterion.A + j * criterion.n_features;
    for (std::int64_t l = 0; l < k; ++l) x[l] = row[members[l]];
    multiply(g);
    const double p = P[a * n + a], ratio = g[a] / p;
    own = row[j];
    c = own - dot(x, g) + g[a] * ratio;
    if (!(c > 0.0) || (c <= tol && c < 0.5 * own)) return -std::numeric_limits<double>::infinity();
    double added = 0.0, lost = 0.0;
    for (std::int64_t col = 0; col < n_columns; ++col) {
      const double* wc = w + col * n;
      r[col] = criterion.D[j * n_columns + col] - dot(x, wc) + ratio * wc[a];
      added += r[col] * r[col];
      lost += wc[a] * wc[a];
    }
    return added / c - lost / p;
  }

  // Makes the swap that gain() has just looked at.
  SAFDR_INLINE void swap(std::int64_t a, double gain) {
    const std::int64_t n = stride();
    const double p = P[a * n + a], ratio = g[a] / p;
    for (std::int64_t l = 0; l < n; ++l) h[l] = g[l] - P[a * n + l] * ratio;
    h[a] = -1.0;
    double* q = g;  // g has done its work
    for (std::int64_t l = 0; l < n; ++l) q[l] = P[a * n + l];
    for (std::int64_t col = 0; col < n_columns; ++col) {
      double* wc = w + col * n;
      const double out = wc[a] / p, in = r[col] / c;
      for (std::int64_t l = 0; l < n; ++l) wc[l] -= q[l] * out + h[l] * in;
      wc[a] = in;
    }
    for (std::int64_t i = 0; i < k; ++i) {
      double* row = P + i * n;
      const double out = q[i] / p, in = h[i] / c;
      for (std::int64_t l = 0; l < n; ++l) row[l] += in * h[l] - out * q[l];
    }
    value += gain;
    x[a] = own;
    worn = !(std::abs(dot(x, P + a * n) - 1.0) < kMostResidual) || p > kMostInflation ||
           1.0 > kMostInflation * c;
  }

 private:
  static SAFDR_INLINE double at_least_smallest(double pivot) {
    return pivot > kSmallestPivot ? pivot : kSmallestPivot;
  }

  // P = A_SS, padded with zeros.
  SAFDR_INLINE void load(const Criterion& criterion, const std::int32_t* members) {
    const std::int64_t n = stride();
    for (std::int64_t i = 0; i < k; ++i) {
      const double* row = criterion.A + members[i] * criterion.n_features;
      for (std::int64_t l = 0; l < k; ++l) P[i * n + l] = row[members[l]];
      for (std::int64_t l = k; l < n; ++l) P[i * n + l] = 0.0;
    }
  }

  // y = P x.
  SAFDR_INLINE void multiply(double* y) const {
    const std::int64_t n = stride();
    if constexpr (Stride > 0) {
      alignas(64) double sum[Stride > 0 ? Stride : 1] = {};
      for (std::int64_t l = 0; l < k; ++l) {
        const double scale = x[l];
        const double* row = P + l * n;
#pragma omp simd
        for (int i = 0; i < Stride; ++i) sum[i] += scale * row[i];
      }
      for (int i = 0; i < Stride; ++i) y[i] = sum[i];
    } else {
      for (std::int64_t i = 0; i < n; ++i) y[i] = 0.0;
      for (std::int64_t l = 0; l < k; ++l) {
        const double scale = x[l];
        const double* row = P + l * n;
#pragma omp simd
        for (std::int64_t i = 0; i < n; ++i) y[i] += scale * row[i];
      }
    }
  }

  SAFDR_INLINE double dot(const double* a, const double* b) const {
    const std::int64_t n = stride();
    double sum = 0.0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
    return sum;
  }

  // One Gauss-Jordan pivot; after all k of them P holds the inverse.
  SAFDR_INLINE void eliminate(std::int64_t i) {
    const std::int64_t n = stride();
    double* pivot_row = P + i * n;
    const double inverse = 1.0 / at_least_smallest(pivot_row[i]);
#pragma omp simd
    for (std::int64_t l = 0; l < n; ++l) pivot_row[l] *= inverse;
    for (std::int64_t o = 0; o < k; ++o) {
      if (o == i) continue;
      double* row = P + o * n;
      const double factor = row[i];
#pragma omp simd
      for (std::int64_t l = 0; l < n; ++l) row[l] -= factor * pivot_row[l];
      // After the loop, not before: a vector load that waits for a scalar store costs more than the
      // whole row.
      row[i] = -factor * inverse;
    }
    pivot_row[i] = inverse;
  }
};

}  // namespace safdr
