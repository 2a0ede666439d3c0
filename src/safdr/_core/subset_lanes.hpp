// The state of eight subsets S side by side, each under a criterion J(S) = trace(D_S' A_SS^-1 D_S) of its
// own: P = A_SS^-1 and w = P D_S.
//
// Replacing the member at position a by candidate j, with
//     x = A_Sj    g = P x    q = P[:, a]    p = P_aa    h = g - q g_a / p    (then h_a := -1)
//     c = A_jj - x'g + g_a^2 / p            variance of j that the other members leave
//     r = D_j - x'w + w_a g_a / p           discriminant of j that they leave
// changes J by |r|^2 / c - |w_a|^2 / p, and the state by
//     P += h h' / c - q q' / p              w -= q w_a / p + h r / c
// To evaluate a swap it takes x'g and g_a alone: half the multiplications of P x, since P is symmetric. Only
// its lower triangle is kept, row by row. The position a is the same in all lanes; candidates differ.
#pragma once

#include <cstdint>

#include "lanes.hpp"

namespace safdr {

// One criterion: A is n_features x n_features, D is n_features x n_columns, both row-major.
struct Criterion {
  const double* A;
  const double* D;
  std::int64_t n_features;
  std::int64_t n_columns;
};

// When to build the state anew. A swap subtracts and adds terms of the size of the variance inflation, 1/c
// of the member that enters and p of the one that leaves, and amplifies errors by up to its square. Below
// 3000 they mostly add up, and the row of P that a swap has written tells how far they are: times its column
// of A_SS it should be one; a gain sums k such errors. Gains then are right to 1e-9 of J on long random walks
// at condition numbers of a million, and to 1e-10 on real data (docs/kernel.md).
constexpr double kMostInflation = 3000.0, kMostResidual = 5e-10;

// Below this a pivot is rounding error, not variance (features are scaled to variance one).
constexpr double kSmallestPivot = 1e-13;

struct SubsetLanes {
  std::int64_t k, n_features, n_columns;
  const double* A[kLanes];       // the criterion of each lane
  const double* D[kLanes];
  const std::int32_t* members;   // k x kLanes
  Lanes *P, *w;                  // lower triangle; n_columns x k
  Lanes *x, *g, *q, *r;          // scratch: k, k, k, n_columns
  Lanes value;
  Lanes inverse_p, inverse_c, ratio, own;  // of the swap looked at last: 1/p, 1/c, g_a/p, A_jj
  Flags worn;                              // rounding may have come so far that the state should be built anew

  // In vectors.
  static std::int64_t size(std::int64_t k, std::int64_t n_columns) {
    return triangle(k) + k * n_columns + 3 * k + n_columns;
  }

  // memory: size() vectors.
  SubsetLanes(std::int64_t k, const Criterion& criterion, const std::int32_t* members, Lanes* memory)
      : k(k), n_features(criterion.n_features), n_columns(criterion.n_columns), members(members), P(memory),
        w(P + triangle(k)), x(w + n_columns * k), g(x + k), q(g + k), r(q + k), value{}, inverse_p{},
        inverse_c{}, ratio{}, own{}, worn{} {
    for (int n = 0; n < kLanes; ++n) set_criterion(n, criterion);
  }

  SAFDR_INLINE void set_criterion(int lane, const Criterion& criterion) {
    A[lane] = criterion.A;
    D[lane] = criterion.D;
  }

  // P, w and J from scratch.
  SAFDR_INLINE void build() {
    factorise();
    invert_factor();
    square_factor();
    worn = Flags{};
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
  SAFDR_INLINE void evaluate() {
    factorise();
    value = constant(0.0);
    for (std::int64_t col = 0; col < n_columns; ++col) {
      for (std::int64_t i = 0; i < k; ++i) {
        const Lanes* row = P + triangle(i);
        Lanes sum = discriminant(i, col);
        for (std::int64_t l = 0; l < i; ++l) sum -= row[l] * x[l];
        x[i] = sum * row[i];
        value += x[i] * x[i];
      }
    }
  }

  // Looks at candidate j of each lane: leaves x, own and r = D_j - x'w; returns own - x'P x, the variance
  // that the members leave it.
  SAFDR_INLINE Lanes look(const std::int64_t* j) {
    const double* row[kLanes];
    for (int n = 0; n < kLanes; ++n) row[n] = A[n] + j[n] * n_features;
    for (std::int64_t l = 0; l < k; ++l) {
      const std::int32_t* member = members + l * kLanes;
      x[l] = gather([&](int n) { return row[n][member[n]]; });
    }
    own = gather([&](int n) { return row[n][j[n]]; });
    for (std::int64_t col = 0; col < n_columns; ++col) {
      Lanes sum = gather([&](int n) { return D[n][j[n] * n_columns + col]; });
      for (std::int64_t l = 0; l < k; ++l) sum -= x[l] * w[col * k + l];
      r[col] = sum;
    }
    return own - quadratic_form();
  }

  // g_a of the candidate looked at.
  SAFDR_INLINE Lanes projection(std::int64_t a) const {
    Lanes sum = constant(0.0);
    const Lanes* row = P + triangle(a);
    for (std::int64_t l = 0; l <= a; ++l) sum += row[l] * x[l];
    for (std::int64_t l = a + 1; l < k; ++l) sum += P[triangle(l) + a] * x[l];
    return sum;
  }

  // g = P x, four rows at a time.
  SAFDR_INLINE void multiply() {
    std::int64_t i = 0;
    for (; i + 4 <= k; i += 4) {
      const Lanes *row0 = P + triangle(i), *row1 = row0 + i + 1, *row2 = row1 + i + 2, *row3 = row2 + i + 3;
      const Lanes x0 = x[i], x1 = x[i + 1], x2 = x[i + 2], x3 = x[i + 3];
      Lanes sum0 = row0[i] * x0 + row1[i] * x1 + row2[i] * x2 + row3[i] * x3;
      Lanes sum1 = row1[i] * x0 + row1[i + 1] * x1 + row2[i + 1] * x2 + row3[i + 1] * x3;
      Lanes sum2 = row2[i] * x0 + row2[i + 1] * x1 + row2[i + 2] * x2 + row3[i + 2] * x3;
      Lanes sum3 = row3[i] * x0 + row3[i + 1] * x1 + row3[i + 2] * x2 + row3[i + 3] * x3;
      for (std::int64_t l = 0; l < i; ++l) {
        const Lanes p0 = row0[l], p1 = row1[l], p2 = row2[l], p3 = row3[l], x_l = x[l];
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
      const Lanes* row = P + triangle(i);
      const Lanes x_i = x[i];
      Lanes sum = row[i] * x_i;
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
  SAFDR_INLINE Lanes gain(std::int64_t a, const Lanes& left, const Lanes& g_a, double tol, Flags& possible) {
    inverse_p = 1.0 / P[triangle(a) + a];
    ratio = g_a * inverse_p;
    const Lanes c = left + g_a * ratio;
    possible = (c > 0.0) & ~((c <= tol) & (c < 0.5 * own));
    inverse_c = 1.0 / choose(possible, c, constant(1.0));
    Lanes added = constant(0.0), lost = constant(0.0);
    for (std::int64_t col = 0; col < n_columns; ++col) {
      const Lanes w_a = w[col * k + a], residual = r[col] + ratio * w_a;
      added += residual * residual;
      lost += w_a * w_a;
    }
    return added * inverse_c - lost * inverse_p;
  }

  // Makes the swap that gain() has just looked at, in the lanes that accept it.
  SAFDR_INLINE void swap(std::int64_t a, const Lanes& gain, const Flags& accept) {
    const Lanes zero = constant(0.0), p = at(a, a);
    const Lanes in = choose(accept, inverse_c, zero), out = choose(accept, inverse_p, zero);
    multiply();
    for (std::int64_t l = 0; l < k; ++l) q[l] = at(a, l);
    Lanes* h = g;
    for (std::int64_t l = 0; l < k; ++l) h[l] -= q[l] * ratio;
    h[a] = constant(-1.0);
    for (std::int64_t col = 0; col < n_columns; ++col) {
      Lanes* wc = w + col * k;
      const Lanes w_a = wc[a], entering = (r[col] + ratio * w_a) * in, leaving = w_a * out;
      for (std::int64_t l = 0; l < k; ++l) wc[l] -= q[l] * leaving + h[l] * entering;
      wc[a] = choose(accept, entering, w_a);
    }
    // Two rows at a time: the first has one element less.
    for (std::int64_t i = 0; i < k; i += 2) {
      Lanes *row0 = P + triangle(i), *row1 = row0 + i + 1;
      const Lanes leaving0 = q[i] * out, entering0 = h[i] * in;
      if (i + 1 == k) {
        for (std::int64_t l = 0; l <= i; ++l) row0[l] += entering0 * h[l] - leaving0 * q[l];
        break;
      }
      const Lanes leaving1 = q[i + 1] * out, entering1 = h[i + 1] * in;
      for (std::int64_t l = 0; l <= i; ++l) {
        const Lanes h_l = h[l], q_l = q[l];
        row0[l] += entering0 * h_l - leaving0 * q_l;
        row1[l] += entering1 * h_l - leaving1 * q_l;
      }
      row1[i + 1] += entering1 * h[i + 1] - leaving1 * q[i + 1];
    }
    value += choose(accept, gain, zero);
    x[a] = own;
    const Lanes residual = projection(a) - 1.0;
    worn |= accept & ~((absolute(residual) < kMostResidual / static_cast<double>(k)) & (p <= kMostInflation) &
                       (inverse_c <= kMostInflation));
  }

 private:
  static SAFDR_INLINE std::int64_t triangle(std::int64_t i) { return i * (i + 1) / 2; }

  SAFDR_INLINE Lanes& at(std::int64_t i, std::int64_t l) const {
    return P[i >= l ? triangle(i) + l : triangle(l) + i];
  }

  SAFDR_INLINE Lanes discriminant(std::int64_t l, std::int64_t col) const {
    const std::int32_t* member = members + l * kLanes;
    return gather([&](int n) { return D[n][member[n] * n_columns + col]; });
  }

  // The lower triangle of A_SS becomes its Cholesky factor L, with the inverse of its diagonal.
  SAFDR_INLINE void factorise() {
    load();
    for (std::int64_t i = 0; i < k; ++i) {
      Lanes* row = P + triangle(i);
      Lanes pivot = row[i];
      std::int64_t j = 0;
      for (; j + 4 <= i; j += 4) {
        const Lanes *row0 = P + triangle(j), *row1 = row0 + j + 1, *row2 = row1 + j + 2, *row3 = row2 + j + 3;
        Lanes sum0 = row[j], sum1 = row[j + 1], sum2 = row[j + 2], sum3 = row[j + 3];
        for (std::int64_t l = 0; l < j; ++l) {
          const Lanes factor = row[l];
          sum0 -= row0[l] * factor;
          sum1 -= row1[l] * factor;
          sum2 -= row2[l] * factor;
          sum3 -= row3[l] * factor;
        }
        sum0 *= row0[j];
        sum1 = (sum1 - row1[j] * sum0) * row1[j + 1];
        sum2 = (sum2 - row2[j] * sum0 - row2[j + 1] * sum1) * row2[j + 2];
        sum3 = (sum3 - row3[j] * sum0 - row3[j + 1] * sum1 - row3[j + 2] * sum2) * row3[j + 3];
        pivot -= sum0 * sum0 + sum1 * sum1 + sum2 * sum2 + sum3 * sum3;
        row[j] = sum0;
        row[j + 1] = sum1;
        row[j + 2] = sum2;
        row[j + 3] = sum3;
      }
      for (; j < i; ++j) {
        const Lanes* other = P + triangle(j);
        Lanes sum = row[j];
        for (std::int64_t l = 0; l < j; ++l) sum -= other[l] * row[l];
        row[j] = sum * other[j];
        pivot -= row[j] * row[j];
      }
      row[i] = 1.0 / square_root(choose(pivot > kSmallestPivot, pivot, constant(kSmallestPivot)));
    }
  }

  // L becomes L^-1, row by row: what a row needs of L is its own, and the rows above are inverted already.
  SAFDR_INLINE void invert_factor() {
    for (std::int64_t i = 1; i < k; ++i) {
      Lanes* row = P + triangle(i);
      const Lanes scale = constant(0.0) - row[i];
      std::int64_t j = 0;
      for (; j + 4 <= i; j += 4) {
        const Lanes *row0 = P + triangle(j), *row1 = row0 + j + 1, *row2 = row1 + j + 2, *row3 = row2 + j + 3;
        const Lanes l0 = row[j], l1 = row[j + 1], l2 = row[j + 2], l3 = row[j + 3];
        Lanes sum0 = l0 * row0[j] + l1 * row1[j] + l2 * row2[j] + l3 * row3[j];
        Lanes sum1 = l1 * row1[j + 1] + l2 * row2[j + 1] + l3 * row3[j + 1];
        Lanes sum2 = l2 * row2[j + 2] + l3 * row3[j + 2];
        Lanes sum3 = l3 * row3[j + 3];
        const Lanes* other = row3 + 2 * j + 4;  // column j of the next row
        for (std::int64_t l = j + 4; l < i; other += ++l) {
          const Lanes factor = row[l];
          sum0 += factor * other[0];
          sum1 += factor * other[1];
          sum2 += factor * other[2];
          sum3 += factor * other[3];
        }
        row[j] = sum0 * scale;
        row[j + 1] = sum1 * scale;
        row[j + 2] = sum2 * scale;
        row[j + 3] = sum3 * scale;
      }
      for (; j < i; ++j) {
        Lanes sum = constant(0.0);
        for (std::int64_t l = j; l < i; ++l) sum += row[l] * P[triangle(l) + j];
        row[j] = sum * scale;
      }
    }
  }

  // L^-1 becomes P = L^-T L^-1, row by row: a row needs those below it only.
  SAFDR_INLINE void square_factor() {
    for (std::int64_t i = 0; i < k; ++i) {
      Lanes* row = P + triangle(i);
      std::int64_t j = 0;
      for (; j + 4 <= i + 1; j += 4) {
        Lanes sum0 = constant(0.0), sum1 = sum0, sum2 = sum0, sum3 = sum0;
        const Lanes* other = row;
        for (std::int64_t l = i; l < k; other += ++l) {
          const Lanes factor = other[i];
          sum0 += factor * other[j];
          sum1 += factor * other[j + 1];
          sum2 += factor * other[j + 2];
          sum3 += factor * other[j + 3];
        }
        row[j] = sum0;
        row[j + 1] = sum1;
        row[j + 2] = sum2;
        row[j + 3] = sum3;
      }
      for (; j <= i; ++j) {
        Lanes sum = constant(0.0);
        for (std::int64_t l = i; l < k; ++l) sum += P[triangle(l) + i] * P[triangle(l) + j];
        row[j] = sum;
      }
    }
  }

  // P = A_SS.
  SAFDR_INLINE void load() {
    for (std::int64_t i = 0; i < k; ++i) {
      const double* row[kLanes];
      for (int n = 0; n < kLanes; ++n) row[n] = A[n] + members[i * kLanes + n] * n_features;
      for (std::int64_t l = 0; l <= i; ++l) {
        const std::int32_t* member = members + l * kLanes;
        P[triangle(i) + l] = gather([&](int n) { return row[n][member[n]]; });
      }
    }
  }

  // x'P x. Four rows at a time, so that each x is loaded once for them and four sums run side by side.
  SAFDR_INLINE Lanes quadratic_form() const {
    Lanes total = constant(0.0);
    std::int64_t i = 0;
    for (; i + 4 <= k; i += 4) {
      const Lanes *row0 = P + triangle(i), *row1 = row0 + i + 1, *row2 = row1 + i + 2, *row3 = row2 + i + 3;
      Lanes sum0 = constant(0.0), sum1 = sum0, sum2 = sum0, sum3 = sum0;
      for (std::int64_t l = 0; l < i; ++l) {
        const Lanes x_l = x[l];
        sum0 += row0[l] * x_l;
        sum1 += row1[l] * x_l;
        sum2 += row2[l] * x_l;
        sum3 += row3[l] * x_l;
      }
      const Lanes x0 = x[i], x1 = x[i + 1], x2 = x[i + 2], x3 = x[i + 3];
      sum1 += row1[i] * x0;
      sum2 += row2[i] * x0 + row2[i + 1] * x1;
      sum3 += row3[i] * x0 + row3[i + 1] * x1 + row3[i + 2] * x2;
      total += x0 * (2.0 * sum0 + row0[i] * x0) + x1 * (2.0 * sum1 + row1[i + 1] * x1) +
               x2 * (2.0 * sum2 + row2[i + 2] * x2) + x3 * (2.0 * sum3 + row3[i + 3] * x3);
    }
    for (; i < k; ++i) {
      const Lanes* row = P + triangle(i);
      Lanes sum = constant(0.0);
      for (std::int64_t l = 0; l < i; ++l) sum += row[l] * x[l];
      total += x[i] * (2.0 * sum + row[i] * x[i]);
    }
    return total;
  }
};

}  // namespace safdr
