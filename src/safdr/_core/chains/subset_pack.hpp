// The state of four subsets S side by side, each under a criterion J(S) = trace(D_S' A_SS^-1 D_S) of its
// own: P = A_SS^-1 and w = P D_S.
//
// Replacing the member at position a by candidate j, with
//     x = A_Sj    g = P x    q = P[:, a]    p = P_aa    h = g - q g_a / p    (then h_a := -1)
//     c = A_jj - x'g + g_a^2 / p            variance of j that the other members leave
//     r = D_j - x'w + w_a g_a / p           discriminant of j that they leave
// changes J by |r|^2 / c - |w_a|^2 / p, and the state by
//     P += h h' / c - q q' / p              w -= q w_a / p + h r / c
// To evaluate a swap it takes x'g and g_a alone: half the multiplications of P x, since P is symmetric. Only
// its lower triangle is kept, row by row. The position a is the same for all four; candidates differ.
#pragma once

#include <cstdint>

#include "interrupt.hpp"
#include "simd/pack.hpp"

namespace safdr {

// One criterion: A is n_features x n_features, D is n_features x n_columns, both row-major.
struct Criterion {
  const double* A;
  const double* D;
  std::int64_t n_features;
  std::int64_t n_columns;
};

// When to build the state anew. A swap subtracts and adds terms of the size of the variance inflation, 1/c
// of the member that enters and p of the one that leaves. And c is a difference: it is what x'P x, a sum of terms of
// the size of x_l^2 P_ll, leaves of A_jj. The sum of these over c is the strain: so many times is the rounding
// of c larger, relative to c, than that of a number. Where one of them is large, the state is looked at: P times a
// column of A_SS may be off by so much, over k, since a gain sums k such errors. Gains then are right to 1e-9 of J
// on long random walks at condition numbers of a million, and to 1e-10 on real data (docs/kernel.md).
constexpr double kMostInflation = 3000.0, kMostStrain = 1e4, kMostResidual = 1e-9;

// Below this a pivot is rounding error, not variance (features are scaled to variance one).
constexpr double kSmallestPivot = 1e-13;

struct SubsetPack {
  std::int64_t k, n_features, n_columns;
  const double* A[kPackSize];  // the criterion of each subset
  const double* D[kPackSize];
  const std::int32_t* members;  // k x kPackSize
  Doubles *P, *w;               // lower triangle; n_columns x k
  Doubles *x, *g, *q, *r;       // scratch: k, k, k, n_columns
  Doubles value;
  Doubles inverse_p, inverse_c, ratio, own;  // of the swap looked at last: 1/p, 1/c, g_a/p, A_jj
  bool has_g = false;                        // whether g = P x of the candidate looked at is there
  Flags stale;                               // rounding may have come so far that the state should be built anew

  // In vectors.
  static std::int64_t size(std::int64_t k, std::int64_t n_columns) {
    return triangle(k) + k * n_columns + 3 * k + n_columns;
  }

  // memory: size() vectors.
  SubsetPack(std::int64_t k, const Criterion& criterion, const std::int32_t* members, Doubles* memory)
      : k(k), n_features(criterion.n_features), n_columns(criterion.n_columns), members(members), P(memory),
        w(P + triangle(k)), x(w + n_columns * k), g(x + k), q(g + k), r(q + k), value{}, inverse_p{}, inverse_c{},
        ratio{}, own{}, stale{} {
    for (int n = 0; n < kPackSize; ++n) set_criterion(n, criterion);
  }

  SAFDR_INLINE void set_criterion(int slot, const Criterion& criterion) {
    A[slot] = criterion.A;
    D[slot] = criterion.D;
  }

  // P, w and J from scratch.
  SAFDR_INLINE void build() {
    factorise(0, k);
    invert_factor();
    square_factor();
    stale = Flags{};
    value = constant(0.0);
    for (std::int64_t col = 0; col < n_columns; ++col) {
      for (std::int64_t l = 0; l < k; ++l) x[l] = discriminant(l, col);
      multiply();
      for (std::int64_t l = 0; l < k; ++l) {
        w[col * k + l] = g[l];
        value += x[l] * g[l];
      }
    }
  }

  // J alone, |L^-1 D_S|^2 with A_SS = L L': a third of the work of build(). Leaves P and w spoilt.
  SAFDR_INLINE void evaluate() { value = extend(0, k); }

  // What members `first` to `last` add to J beyond those before them, of which the factor is there already (and
  // of which there is an even number). Leaves the rows of L in place of P, and those of L^-1 D in place of w.
  SAFDR_INLINE Doubles extend(std::int64_t first, std::int64_t last) {
    factorise(first, last);
    Doubles added = constant(0.0);
    for (std::int64_t col = 0; col < n_columns; ++col) {
      // One more row of the factor; its squares are what would be taken from its pivot.
      Doubles* row[] = {w + col * k};
      for (std::int64_t l = first; l < last; ++l) row[0][l] = discriminant(l, col);
      Doubles pivots[] = {constant(0.0)}, cross;
      std::int64_t j = first;
      for (; j + 4 <= last; j += 4) reduce<1, 4>(row, j, pivots, cross);
      for (; j < last; ++j) reduce<1, 1>(row, j, pivots, cross);
      added -= pivots[0];
    }
    return added;
  }

  // Looks at candidate j[n] of each subset: leaves x, own and r = D_j - x'w, and g = P x if it is told to; returns
  // own - x'P x, the variance that the members leave it.
  SAFDR_INLINE Doubles look(const std::int64_t* j, bool with_g) {
    const double* row[kPackSize];
    for (int n = 0; n < kPackSize; ++n) row[n] = A[n] + j[n] * n_features;
    for (std::int64_t l = 0; l < k; ++l) {
      const std::int32_t* member = members + l * kPackSize;
      x[l] = gather([&](int n) { return row[n][member[n]]; });
    }
    own = gather([&](int n) { return row[n][j[n]]; });
    for (std::int64_t col = 0; col < n_columns; ++col) {
      Doubles sum = gather([&](int n) { return D[n][j[n] * n_columns + col]; });
      for (std::int64_t l = 0; l < k; ++l) sum -= x[l] * w[col * k + l];
      r[col] = sum;
    }
    has_g = with_g;
    if (!with_g) return own - quadratic_form();
    multiply();
    Doubles left = own;
    for (std::int64_t l = 0; l < k; ++l) left -= x[l] * g[l];
    return left;
  }

  // g_a of the candidate looked at.
  SAFDR_INLINE Doubles projection(std::int64_t a) const { return has_g ? g[a] : row_product(a); }

  // Row a of P, times x.
  SAFDR_INLINE Doubles row_product(std::int64_t a) const {
    Doubles sum = constant(0.0);
    const Doubles* row = P + triangle(a);
    for (std::int64_t l = 0; l <= a; ++l) sum += row[l] * x[l];
    for (std::int64_t l = a + 1; l < k; ++l) sum += P[triangle(l) + a] * x[l];
    return sum;
  }

  // g = P x, four rows at a time.
  SAFDR_INLINE void multiply() {
    std::int64_t i = 0;
    for (; i + 4 <= k; i += 4) {
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
        g[l] += p0 * x0 + p1 * x1 + (p2 * x2 + p3 * x3);
      }
      g[i] = sum0;
      g[i + 1] = sum1;
      g[i + 2] = sum2;
      g[i + 3] = sum3;
    }
    for (; i < k; ++i) {
      const Doubles* row = P + triangle(i);
      const Doubles x_i = x[i];
      Doubles sum = row[i] * x_i;
      for (std::int64_t l = 0; l < i; ++l) {
        sum += row[l] * x[l];
        g[l] += row[l] * x_i;
      }
      g[i] = sum;
    }
  }

  // The gain of replacing the member at position a by the candidate looked at, to which the members leave
  // the variance `left` and whose projection on that member is g_a. Where it is a linear combination of the
  // other members (they leave it no more than tol, and take most of what it has), possible is 0. (A feature
  // that separates the classes perfectly has next to no variance, but all of it is its own.)
  SAFDR_INLINE Doubles gain(std::int64_t a, const Doubles& left, const Doubles& g_a, double tol, Flags& possible) {
    inverse_p = 1.0 / P[triangle(a) + a];
    ratio = g_a * inverse_p;
    const Doubles c = left + g_a * ratio;
    possible = (c > 0.0) & ~((c <= tol) & (c < 0.5 * own));
    inverse_c = 1.0 / choose(possible, c, constant(1.0));
    Doubles added = constant(0.0), lost = constant(0.0);
    for (std::int64_t col = 0; col < n_columns; ++col) {
      const Doubles w_a = w[col * k + a], residual = r[col] + ratio * w_a;
      added += residual * residual;
      lost += w_a * w_a;
    }
    return added * inverse_c - lost * inverse_p;
  }

  // Whether replacing the member at a is possible and adds more than `gained` to `sign` times J, of which nothing
  // is taken for what goes with the member; without a division. its_inverse_p is 1 / P_aa; the candidate was
  // looked at with g.
  SAFDR_INLINE Flags gains_more(std::int64_t a, const Doubles& left, const Doubles& its_inverse_p, double sign,
                                const Doubles& gained, double tol) const {
    const Doubles its_ratio = g[a] * its_inverse_p, c = left + g[a] * its_ratio;
    Doubles added = constant(0.0);
    for (std::int64_t col = 0; col < n_columns; ++col) {
      const Doubles residual = r[col] + its_ratio * w[col * k + a];
      added += residual * residual;
    }
    return (c > 0.0) & ~((c <= tol) & (c < 0.5 * own)) & (sign * added > gained * c);
  }

  SAFDR_INLINE Doubles inverse_diagonal(std::int64_t a) const { return 1.0 / P[triangle(a) + a]; }

  // |w_a|^2: over P_aa it is what J loses with the member at a.
  SAFDR_INLINE Doubles loss(std::int64_t a) const {
    Doubles lost = constant(0.0);
    for (std::int64_t col = 0; col < n_columns; ++col) lost += w[col * k + a] * w[col * k + a];
    return lost;
  }

  // Of the states that may be stale after the swap at position a, which the members show by now, those that are: P
  // times the column of another member should be one at its place and zero elsewhere. (Times that of the member
  // that came in it is, whatever P was before.)
  SAFDR_INLINE void confirm_stale(std::int64_t a) {
    if (k == 1 || !any(stale)) return;
    const std::int64_t b = (a + k / 2) % k;
    const std::int32_t* other = members + b * kPackSize;
    for (std::int64_t l = 0; l < k; ++l) {
      const std::int32_t* member = members + l * kPackSize;
      x[l] = gather([&](int n) { return A[n][other[n] * n_features + member[n]]; });
    }
    multiply();
    has_g = false;
    g[b] = g[b] - 1.0;
    Doubles most = constant(0.0);
    for (std::int64_t l = 0; l < k; ++l) {
      const Doubles residual = absolute(g[l]);
      most = choose(residual > most, residual, most);
    }
    stale = stale & ~(most < kMostResidual / static_cast<double>(k));
  }

  // Makes the swap that gain() has just looked at, for the subsets that accept it.
  SAFDR_INLINE void swap(std::int64_t a, const Doubles& gain, const Flags& accept) {
    const Doubles zero = constant(0.0), p = at(a, a);
    const Doubles in = choose(accept, inverse_c, zero), out = choose(accept, inverse_p, zero);
    if (!has_g) multiply();
    has_g = false;
    Doubles strain = constant(0.0);
    for (std::int64_t l = 0; l < k; ++l) strain += (x[l] * x[l]) * P[triangle(l) + l];
    for (std::int64_t l = 0; l < k; ++l) q[l] = at(a, l);
    Doubles* h = g;
    for (std::int64_t l = 0; l < k; ++l) h[l] -= q[l] * ratio;
    h[a] = constant(-1.0);
    for (std::int64_t col = 0; col < n_columns; ++col) {
      Doubles* wc = w + col * k;
      const Doubles w_a = wc[a], entering = (r[col] + ratio * w_a) * in, leaving = w_a * out;
      for (std::int64_t l = 0; l < k; ++l) wc[l] -= q[l] * leaving + h[l] * entering;
      wc[a] = choose(accept, entering, w_a);
    }
    // Two rows at a time: the first has one element less.
    for (std::int64_t i = 0; i < k; i += 2) {
      Doubles *row0 = P + triangle(i), *row1 = row0 + i + 1;
      const Doubles leaving0 = q[i] * out, entering0 = h[i] * in;
      if (i + 1 == k) {
        for (std::int64_t l = 0; l <= i; ++l) row0[l] += entering0 * h[l] - leaving0 * q[l];
        break;
      }
      const Doubles leaving1 = q[i + 1] * out, entering1 = h[i + 1] * in;
      for (std::int64_t l = 0; l <= i; ++l) {
        const Doubles h_l = h[l], q_l = q[l];
        row0[l] += entering0 * h_l - leaving0 * q_l;
        row1[l] += entering1 * h_l - leaving1 * q_l;
      }
      row1[i + 1] += entering1 * h[i + 1] - leaving1 * q[i + 1];
    }
    value += choose(accept, gain, zero);
    stale |= accept & ~((strain * inverse_c < kMostStrain) & (p <= kMostInflation) & (inverse_c <= kMostInflation));
  }

  // Rows `first` (an even number) to `last` of the Cholesky factor L of A_SS, with the inverse of its diagonal. Two
  // rows at a time against four of those above: eight sums run side by side, from six numbers.
  SAFDR_INLINE void factorise(std::int64_t first, std::int64_t last) {
    load(first, last);
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

 private:
  static SAFDR_INLINE std::int64_t triangle(std::int64_t i) { return i * (i + 1) / 2; }

  SAFDR_INLINE Doubles& at(std::int64_t i, std::int64_t l) const {
    return P[i >= l ? triangle(i) + l : triangle(l) + i];
  }

  SAFDR_INLINE Doubles discriminant(std::int64_t l, std::int64_t col) const {
    const std::int32_t* member = members + l * kPackSize;
    return gather([&](int n) { return D[n][member[n] * n_columns + col]; });
  }

  static SAFDR_INLINE Doubles inverse_root(const Doubles& pivot) {
    return 1.0 / square_root(choose(pivot > kSmallestPivot, pivot, constant(kSmallestPivot)));
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

  // Rows of A_SS, to P.
  SAFDR_INLINE void load(std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const double* row[kPackSize];
      for (int n = 0; n < kPackSize; ++n) row[n] = A[n] + members[i * kPackSize + n] * n_features;
      for (std::int64_t l = 0; l <= i; ++l) {
        const std::int32_t* member = members + l * kPackSize;
        P[triangle(i) + l] = gather([&](int n) { return row[n][member[n]]; });
      }
    }
  }

  // x'P x. Eight rows at a time, so that each x is loaded once for them and eight sums run side by side.
  SAFDR_INLINE Doubles quadratic_form() const {
    Doubles total = constant(0.0);
    std::int64_t i = 0;
    for (; i + 8 <= k; i += 8) total += quadratic_rows<8>(i);
    if (i + 4 <= k) {
      total += quadratic_rows<4>(i);
      i += 4;
    }
    for (; i < k; ++i) total += quadratic_rows<1>(i);
    return total;
  }

  template <int Rows>
  SAFDR_INLINE Doubles quadratic_rows(std::int64_t i) const {
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
};

}  // namespace safdr
