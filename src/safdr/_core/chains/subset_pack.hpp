// The state of four subsets S side by side, each under a criterion J(S) = trace(D_S' A_SS^-1 D_S) of its
// own: P = A_SS^-1 and w = P D_S.
//
// Replacing the member at position a by candidate j, with
//     x = A_Sj    g = P x    q = P[:, a]    p = P_aa    h = g - q g_a / p    (then h_a := -1)
//     c = A_jj - x'g + g_a^2 / p            variance of j that the other members leave
//     r = D_j - x'w + w_a g_a / p           discriminant of j that they leave
// changes J by |r|^2 / c - |w_a|^2 / p, and the state by
//     P += h h' / c - q q' / p              w -= q w_a / p + h r / c
// To evaluate a swap it takes x'g and g_a alone: half the multiplications of P x, since P is symmetric. The position a
// is the same for all four; candidates differ.
#pragma once

#include <cstdint>

#include "chains/triangle_pack.hpp"
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

struct SubsetPack : TrianglePack {
  std::int64_t n_features, n_columns;
  const double* A[kPackSize];  // the criterion of each subset
  const double* D[kPackSize];
  const std::int32_t* members;  // k x kPackSize
  Doubles* w;                   // n_columns x k
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
      : TrianglePack{k, memory}, n_features(criterion.n_features), n_columns(criterion.n_columns), members(members),
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
      multiply(x, g);
      for (std::int64_t l = 0; l < k; ++l) {
        w[col * k + l] = g[l];
        value += x[l] * g[l];
      }
    }
  }

  // Rows `first` (an even number) to `last` of the Cholesky factor of A_SS.
  SAFDR_INLINE void factorise(std::int64_t first, std::int64_t last) {
    load(first, last);
    TrianglePack::factorise(first, last);
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
    own = gather([&](int n) { return row[n][j[n]]; });
    // The first column at once: its sum waits for each of its terms, and numbers come meanwhile.
    Doubles first = gather([&](int n) { return D[n][j[n] * n_columns]; });
    for (std::int64_t l = 0; l < k; ++l) {
      const std::int32_t* member = members + l * kPackSize;
      const Doubles x_l = gather([&](int n) { return row[n][member[n]]; });
      first -= x_l * w[l];
      x[l] = x_l;
    }
    r[0] = first;
    for (std::int64_t col = 1; col < n_columns; ++col) {
      Doubles sum = gather([&](int n) { return D[n][j[n] * n_columns + col]; });
      for (std::int64_t l = 0; l < k; ++l) sum -= x[l] * w[col * k + l];
      r[col] = sum;
    }
    has_g = with_g;
    return with_g ? multiply(x, g, own) : own - quadratic_form(x);
  }

  // g_a of the candidate looked at.
  SAFDR_INLINE Doubles projection(std::int64_t a) const { return has_g ? g[a] : row_product(a, x); }

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
    multiply(x, g);
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
    if (!has_g) multiply(x, g);
    has_g = false;
    Doubles* h = g;
    Doubles strain = zero;
    const Doubles w_a = w[a], entering = (r[0] + ratio * w_a) * in, leaving = w_a * out;
    const auto prepare = [&](std::int64_t l, const Doubles& q_l) SAFDR_INLINE_LAMBDA {
      const Doubles h_l = h[l] - q_l * ratio;
      strain += (x[l] * x[l]) * P[triangle(l) + l];
      w[l] -= q_l * leaving + h_l * entering;
      q[l] = q_l;
      h[l] = h_l;
    };
    for (std::int64_t l = 0; l <= a; ++l) prepare(l, P[triangle(a) + l]);
    for (std::int64_t l = a + 1; l < k; ++l) prepare(l, P[triangle(l) + a]);
    w[a] = choose(accept, entering, w_a);
    h[a] = constant(-1.0);
    for (std::int64_t col = 1; col < n_columns; ++col) {
      Doubles* its_w = w + col * k;
      const Doubles before = its_w[a], its_entering = (r[col] + ratio * before) * in, its_leaving = before * out;
      for (std::int64_t l = 0; l < k; ++l) its_w[l] -= q[l] * its_leaving + h[l] * its_entering;
      its_w[a] = choose(accept, its_entering, before);
    }
    update(h, in, q, out);
    value += choose(accept, gain, zero);
    stale |= accept & ~((strain * inverse_c < kMostStrain) & (p <= kMostInflation) & (inverse_c <= kMostInflation));
  }

 private:
  SAFDR_INLINE Doubles discriminant(std::int64_t l, std::int64_t col) const {
    const std::int32_t* member = members + l * kPackSize;
    return gather([&](int n) { return D[n][member[n] * n_columns + col]; });
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
};

}  // namespace safdr
