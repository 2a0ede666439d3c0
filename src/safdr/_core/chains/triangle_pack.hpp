// Four symmetric matrices side by side, of which the lower triangle is kept, row by row: products with vectors, updates
// of rank two, Cholesky factors and inverses, in place. How many rows go at a time changes no sum: its terms come in the
// same order.
#pragma once

#include <cstdint>

#include "interrupt.hpp"
#include "simd/pack.hpp"

namespace safdr {

// Below this a pivot is rounding error, not variance (features are scaled to variance one).
constexpr double kSmallestPivot = 1e-13;

struct TrianglePack {
  std::int64_t k;
  Doubles* P;

  static SAFDR_INLINE std::int64_t triangle(std::int64_t i) { return i * (i + 1) / 2; }

  SAFDR_INLINE Doubles& at(std::int64_t i, std::int64_t l) const {
    return P[i >= l ? triangle(i) + l : triangle(l) + i];
  }

  // Row a of P, times x.
  SAFDR_INLINE Doubles row_product(std::int64_t a, const Doubles* x) const {
    Doubles sum = constant(0.0);
    const Doubles* row = P + triangle(a);
    for (std::int64_t l = 0; l <= a; ++l) sum += row[l] * x[l];
    for (std::int64_t l = a + 1; l < k; ++l) sum += P[triangle(l) + a] * x[l];
    return sum;
  }

  // g = P x, four rows at a time. Returns `from` - x'g, summed up while the last rows complete g: the sum waits for each of
  // its terms, and they for nothing.
  SAFDR_INLINE Doubles multiply(const Doubles* x, Doubles* g, Doubles from = {}) const {
    std::int64_t i = 0;
    for (; i + 4 < k; i += 4) multiply_four<false>(x, g, i, from);
    if (i + 4 == k) multiply_four<true>(x, g, i, from);
    if (i + 3 == k) multiply_last<3>(x, g, i, from);
    if (i + 2 == k) multiply_last<2>(x, g, i, from);
    if (i + 1 == k) multiply_last<1>(x, g, i, from);
    return from;
  }

  // x'P x. Eight rows at a time, so that each x is loaded once for them and eight sums run side by side.
  SAFDR_INLINE Doubles quadratic_form(const Doubles* x) const {
    Doubles total = constant(0.0);
    std::int64_t i = 0;
    for (; i + 8 <= k; i += 8) total += quadratic_rows<8>(x, i);
    if (i + 4 <= k) {
      total += quadratic_rows<4>(x, i);
      i += 4;
    }
    for (; i < k; ++i) total += quadratic_rows<1>(x, i);
    return total;
  }

  // P += in h h' - out q q', four rows at a time.
  SAFDR_INLINE void update(const Doubles* h, const Doubles& in, const Doubles* q, const Doubles& out) {
    std::int64_t i = 0;
    for (; i + 4 <= k; i += 4) update_rows<4>(h, in, q, out, i);
    if (i + 3 == k) update_rows<3>(h, in, q, out, i);
    if (i + 2 == k) update_rows<2>(h, in, q, out, i);
    if (i + 1 == k) update_rows<1>(h, in, q, out, i);
  }

  // Rows `first` (an even number) to `last` of the Cholesky factor L of the matrix, with the inverse of its diagonal. Two
  // rows at a time against four of those above: eight sums run side by side, from six numbers.
  SAFDR_INLINE void factorise(std::int64_t first, std::int64_t last) {
    std::int64_t i = first;
    for (; i + 2 <= last; i += 2) {
      if (stopped_at(i)) return;
      Doubles* row[] = {P + triangle(i), P + triangle(i + 1)};
      Doubles pivots[] = {row[0][i], row[1][i + 1]}, cross = row[1][i];
      std::int64_t j = 0;
      for (; j + 4 <= i; j += 4) reduce<2, 4>(row, j, pivots, cross);
      if (j < i) reduce<2, 2>(row, j, pivots, cross);
      row[0][i] = inverse_root(pivots[0]);
      row[1][i] = cross * row[0][i];
      row[1][i + 1] = inverse_root(pivots[1] - row[1][i] * row[1][i]);
    }
    if (i == last) return;
    Doubles* row[] = {P + triangle(i)};
    Doubles pivots[] = {row[0][i]}, cross;
    std::int64_t j = 0;
    for (; j + 4 <= i; j += 4) reduce<1, 4>(row, j, pivots, cross);
    if (j < i) reduce<1, 2>(row, j, pivots, cross);
    row[0][i] = inverse_root(pivots[0]);
  }

  // One over the variance that the members before it leave to member i, once the factor is there.
  SAFDR_INLINE Doubles inverse_left(std::int64_t i) const { return P[triangle(i) + i] * P[triangle(i) + i]; }

  // L becomes L^-1, two rows at a time: what a row needs of L is its own, and the rows above are inverted
  // already.
  SAFDR_INLINE void invert_factor() {
    std::int64_t i = 0;
    for (; i + 2 <= k; i += 2) {
      if (stopped_at(i)) return;
      Doubles* row[] = {P + triangle(i), P + triangle(i + 1)};
      std::int64_t j = 0;
      for (; j + 4 <= i; j += 4) invert<2, 4>(row, i, j);
      if (j < i) invert<2, 2>(row, i, j);
      row[1][i] *= constant(0.0) - row[0][i] * row[1][i + 1];
    }
    if (i == k) return;
    Doubles* row[] = {P + triangle(i)};
    std::int64_t j = 0;
    for (; j + 4 <= i; j += 4) invert<1, 4>(row, i, j);
    if (j < i) invert<1, 2>(row, i, j);
  }

  // L^-1 becomes P = L^-T L^-1, two rows at a time: a row needs itself and those below it only.
  SAFDR_INLINE void square_factor() {
    std::int64_t i = 0;
    for (; i + 2 <= k; i += 2) {
      if (stopped_at(i)) return;
      std::int64_t j = 0;
      for (; j + 4 <= i; j += 4) square<4>(i, j);
      if (j < i) square<2>(i, j);
      const Doubles* row = P + triangle(i);
      Doubles first = row[i] * row[i], cross = constant(0.0), second = cross;
      row += i + 1;
      for (std::int64_t l = i + 1; l < k; row += ++l) {
        first += row[i] * row[i];
        cross += row[i] * row[i + 1];
        second += row[i + 1] * row[i + 1];
      }
      P[triangle(i) + i] = first;
      P[triangle(i + 1) + i] = cross;
      P[triangle(i + 1) + i + 1] = second;
    }
    if (i == k) return;
    Doubles* row = P + triangle(i);
    for (std::int64_t j = 0; j < i; ++j) row[j] *= row[i];
    row[i] *= row[i];
  }

  // Columns j to j + Columns of some rows of L, from the rows above; takes their squares from the pivots, and
  // their product from `cross`.
  template <int Rows, int Columns>
  SAFDR_INLINE void reduce(Doubles* const* row, std::int64_t j, Doubles* pivots, Doubles& cross) const {
    const Doubles* above[Columns];
    Doubles sum[Rows][Columns];
    each<Columns>([&](auto c) SAFDR_INLINE_LAMBDA {
      above[c] = P + triangle(j + c);
      each<Rows>([&](auto r) SAFDR_INLINE_LAMBDA { sum[r][c] = row[r][j + c]; });
    });
    for (std::int64_t l = 0; l < j; ++l) {
      Doubles factor[Rows];
      each<Rows>([&](auto r) SAFDR_INLINE_LAMBDA { factor[r] = row[r][l]; });
      each<Columns>([&](auto c) SAFDR_INLINE_LAMBDA {
        const Doubles number = above[c][l];
        each<Rows>([&](auto r) SAFDR_INLINE_LAMBDA { sum[r][c] -= number * factor[r]; });
      });
    }
    each<Columns>([&](auto c) SAFDR_INLINE_LAMBDA {
      each<Rows>([&](auto r) SAFDR_INLINE_LAMBDA {
        each<c>([&](auto d) SAFDR_INLINE_LAMBDA { sum[r][c] -= above[c][j + d] * sum[r][d]; });
        sum[r][c] *= above[c][j + c];
        row[r][j + c] = sum[r][c];
        pivots[r] -= sum[r][c] * sum[r][c];
      });
      if constexpr (Rows == 2) cross -= sum[0][c] * sum[1][c];
    });
  }

 private:
  static SAFDR_INLINE Doubles inverse_root(const Doubles& pivot) {
    return 1.0 / square_root(choose(pivot > kSmallestPivot, pivot, constant(kSmallestPivot)));
  }

  // Rows i to i + 4, where kLast tells whether there are no more.
  template <bool kLast>
  SAFDR_INLINE void multiply_four(const Doubles* x, Doubles* g, std::int64_t i, Doubles& left) const {
    const Doubles *row0 = P + triangle(i), *row1 = row0 + i + 1, *row2 = row1 + i + 2, *row3 = row2 + i + 3;
    const Doubles x0 = x[i], x1 = x[i + 1], x2 = x[i + 2], x3 = x[i + 3];
    Doubles sum0 = row0[i] * x0 + row1[i] * x1 + row2[i] * x2 + row3[i] * x3;
    Doubles sum1 = row1[i] * x0 + row1[i + 1] * x1 + row2[i + 1] * x2 + row3[i + 1] * x3;
    Doubles sum2 = row2[i] * x0 + row2[i + 1] * x1 + row2[i + 2] * x2 + row3[i + 2] * x3;
    Doubles sum3 = row3[i] * x0 + row3[i + 1] * x1 + row3[i + 2] * x2 + row3[i + 3] * x3;
    for (std::int64_t l = 0; l < i; ++l) {
      const Doubles p0 = row0[l], p1 = row1[l], p2 = row2[l], p3 = row3[l], x_l = x[l];
      sum0 += p0 * x_l;
      sum1 += p1 * x_l;
      sum2 += p2 * x_l;
      sum3 += p3 * x_l;
      const Doubles g_l = g[l] + (p0 * x0 + p1 * x1 + (p2 * x2 + p3 * x3));
      g[l] = g_l;
      if constexpr (kLast) left -= x_l * g_l;
    }
    g[i] = sum0;
    g[i + 1] = sum1;
    g[i + 2] = sum2;
    g[i + 3] = sum3;
    if constexpr (kLast) {
      left -= x0 * sum0;
      left -= x1 * sum1;
      left -= x2 * sum2;
      left -= x3 * sum3;
    }
  }

  // The last rows, from i on.
  template <int Rows>
  SAFDR_INLINE void multiply_last(const Doubles* x, Doubles* g, std::int64_t i, Doubles& left) const {
    const Doubles* row[Rows];
    Doubles its_x[Rows], sum[Rows];
    each<Rows>([&](auto r) SAFDR_INLINE_LAMBDA {
      row[r] = P + triangle(i + r);
      its_x[r] = x[i + r];
      sum[r] = row[r][i + r] * its_x[r];
    });
    for (std::int64_t l = 0; l < i; ++l) {
      const Doubles x_l = x[l];
      Doubles g_l = g[l];
      each<Rows>([&](auto r) SAFDR_INLINE_LAMBDA {
        const Doubles number = row[r][l];
        sum[r] += number * x_l;
        g_l += number * its_x[r];
      });
      g[l] = g_l;
      left -= x_l * g_l;
    }
    each<Rows>([&](auto r) SAFDR_INLINE_LAMBDA {
      each<r>([&](auto c) SAFDR_INLINE_LAMBDA {
        sum[r] += row[r][i + c] * its_x[c];
        sum[c] += row[r][i + c] * its_x[r];
      });
    });
    each<Rows>([&](auto r) SAFDR_INLINE_LAMBDA {
      g[i + r] = sum[r];
      left -= its_x[r] * sum[r];
    });
  }

  template <int Rows>
  SAFDR_INLINE Doubles quadratic_rows(const Doubles* x, std::int64_t i) const {
    const Doubles* row[Rows];
    Doubles sum[Rows];
    each<Rows>([&](auto r) SAFDR_INLINE_LAMBDA {
      row[r] = P + triangle(i + r);
      sum[r] = constant(0.0);
    });
    for (std::int64_t l = 0; l < i; ++l) {
      const Doubles x_l = x[l];
      each<Rows>([&](auto r) SAFDR_INLINE_LAMBDA { sum[r] += row[r][l] * x_l; });
    }
    Doubles total = constant(0.0);
    each<Rows>([&](auto r) SAFDR_INLINE_LAMBDA {
      each<r>([&](auto c) SAFDR_INLINE_LAMBDA { sum[r] += row[r][i + c] * x[i + c]; });
      total += x[i + r] * (2.0 * sum[r] + row[r][i + r] * x[i + r]);
    });
    return total;
  }

  template <int Rows>
  SAFDR_INLINE void update_rows(const Doubles* h, const Doubles& in, const Doubles* q, const Doubles& out,
                                std::int64_t i) {
    Doubles *row[Rows], entering[Rows], leaving[Rows];
    each<Rows>([&](auto r) SAFDR_INLINE_LAMBDA {
      row[r] = P + triangle(i + r);
      leaving[r] = q[i + r] * out;
      entering[r] = h[i + r] * in;
    });
    for (std::int64_t l = 0; l <= i; ++l) {
      const Doubles h_l = h[l], q_l = q[l];
      each<Rows>([&](auto r) SAFDR_INLINE_LAMBDA { row[r][l] += entering[r] * h_l - leaving[r] * q_l; });
    }
    each<Rows>([&](auto r) SAFDR_INLINE_LAMBDA {
      each<r>([&](auto c)
                  SAFDR_INLINE_LAMBDA { row[r][i + 1 + c] += entering[r] * h[i + 1 + c] - leaving[r] * q[i + 1 + c]; });
    });
  }

  // Columns j to j + Columns of rows i and, if there are two, i + 1 of L^-1.
  template <int Rows, int Columns>
  SAFDR_INLINE void invert(Doubles* const* row, std::int64_t i, std::int64_t j) const {
    Doubles sum[Rows][Columns];
    each<Columns>([&](auto d) SAFDR_INLINE_LAMBDA {
      const Doubles* above = P + triangle(j + d) + j;
      each<Rows>([&](auto r) SAFDR_INLINE_LAMBDA {
        const Doubles factor = row[r][j + d];
        each<d>([&](auto c) SAFDR_INLINE_LAMBDA { sum[r][c] += factor * above[c]; });
        sum[r][d] = factor * above[d];
      });
    });
    const Doubles* above = P + triangle(j + Columns) + j;
    for (std::int64_t l = j + Columns; l < i; above += ++l) {
      Doubles factor[Rows];
      each<Rows>([&](auto r) SAFDR_INLINE_LAMBDA { factor[r] = row[r][l]; });
      each<Columns>([&](auto c) SAFDR_INLINE_LAMBDA {
        const Doubles number = above[c];
        each<Rows>([&](auto r) SAFDR_INLINE_LAMBDA { sum[r][c] += factor[r] * number; });
      });
    }
    const Doubles scale = constant(0.0) - row[0][i];
    each<Columns>([&](auto c) SAFDR_INLINE_LAMBDA { row[0][j + c] = sum[0][c] *= scale; });
    if constexpr (Rows == 2) {
      const Doubles factor = row[1][i], its_scale = constant(0.0) - row[1][i + 1];
      each<Columns>([&](auto c) SAFDR_INLINE_LAMBDA { row[1][j + c] = (sum[1][c] + factor * sum[0][c]) * its_scale; });
    }
  }

  // Columns j to j + Columns of rows i and i + 1 of P.
  template <int Columns>
  SAFDR_INLINE void square(std::int64_t i, std::int64_t j) {
    Doubles *row0 = P + triangle(i), *row1 = row0 + i + 1;
    Doubles sum0[Columns], sum1[Columns];
    each<Columns>([&](auto c) SAFDR_INLINE_LAMBDA {
      sum0[c] = row0[i] * row0[j + c];
      sum1[c] = constant(0.0);
    });
    const Doubles* row = row1;
    for (std::int64_t l = i + 1; l < k; row += ++l) {
      const Doubles factor0 = row[i], factor1 = row[i + 1];
      each<Columns>([&](auto c) SAFDR_INLINE_LAMBDA {
        const Doubles number = row[j + c];
        sum0[c] += factor0 * number;
        sum1[c] += factor1 * number;
      });
    }
    each<Columns>([&](auto c) SAFDR_INLINE_LAMBDA {
      row0[j + c] = sum0[c];
      row1[j + c] = sum1[c];
    });
  }
};

}  // namespace safdr
