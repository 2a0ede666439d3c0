// What every swap of one feature gains, many features at a time: rows of A are read as they lie in memory.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "chains/factor.hpp"
#include "criterion.hpp"
#include "simd/pack.hpp"

namespace safdr {

// Features that are looked at together.
constexpr std::int64_t kTile = 2 * kPackSize;

// The state of one subset S: P = A_SS^-1 and w = P D_S. Swapping the member at position a for feature j, with g = P A_Sj,
//     c = A_jj - A_jS g + g_a^2 / P_aa    (the variance of j that the other members leave)
//     r = D_j - A_jS w + w_a g_a / P_aa   (what they leave of D_j)
// adds |r|^2 / c to J, which loses |w_a|^2 / P_aa.
class SwapGains {
 public:
  // In numbers.
  static std::int64_t size(std::int64_t k, std::int64_t n_columns) {
    return k * (pitch(k) + n_columns + 2) + (2 * k + n_columns) * kTile;
  }

  // memory: size() numbers, aligned.
  SwapGains(const Criterion& criterion, std::int64_t k, double* memory)
      : criterion_(criterion), k_(k), pitch_(pitch(k)), x_(memory), g_(x_ + k * kTile), r_(g_ + k * kTile),
        P_(r_ + criterion.n_columns * kTile), w_(P_ + k * pitch(k)), lost_(w_ + k * criterion.n_columns),
        inverse_p_(lost_ + k) {}

  // Builds the state of a subset; returns J.
  SAFDR_INLINE double build(const std::int32_t* subset) {
    subset_ = subset;
    invert();
    std::fill_n(lost_, k_, 0.0);
    for (std::int64_t a = 0; a < k_; ++a) inverse_p_[a] = 1.0 / P_[a * pitch_ + a];
    double value = 0.0;
    for (std::int64_t col = 0; col < criterion_.n_columns; ++col) {
      double* w = w_ + col * k_;
      std::fill_n(w, k_, 0.0);
      for (std::int64_t l = 0; l < k_; ++l) {
        for (std::int64_t a = 0; a < k_; ++a) w[a] += P_[l * pitch_ + a] * D(subset[l], col);
      }
      for (std::int64_t a = 0; a < k_; ++a) {
        lost_[a] += w[a] * w[a] * inverse_p_[a];
        value += w[a] * D(subset[a], col);
      }
    }
    return value;
  }

  // Looks at features j to j + kTile (or fewer, at the end).
  SAFDR_INLINE void look(std::int64_t j) {
    const std::int64_t count = std::min(kTile, criterion_.n_features - j);
    for (std::int64_t l = 0; l < k_; ++l) {
      const double* row = criterion_.A + subset_[l] * criterion_.n_features + j;
      for (std::int64_t t = 0; t < kTile; ++t) x_[l * kTile + t] = t < count ? row[t] : 0.0;
    }
    for (std::int64_t t = 0; t < kTile; ++t) {
      const std::int64_t feature = j + std::min(t, count - 1);
      own_[t / kPackSize].set(t % kPackSize, criterion_.A[feature * criterion_.n_features + feature]);
      for (std::int64_t col = 0; col < criterion_.n_columns; ++col) r_[col * kTile + t] = D(feature, col);
    }
    std::int64_t a = 0;
    for (; a + 4 <= k_; a += 4) project<4>(a);
    for (; a < k_; ++a) project<1>(a);
  }

  // What the features looked at gain in the place of the member at position a.
  SAFDR_INLINE void gains(std::int64_t a, double* gain) const {
    const Doubles p = constant(inverse_p_[a]);
    for (std::int64_t h = 0; h < 2; ++h) {
      const Doubles g = reinterpret_cast<const Doubles*>(g_)[2 * a + h], ratio = g * p;
      const Doubles own = own_[h] + g * ratio;
      Doubles added = constant(0.0);
      for (std::int64_t col = 0; col < criterion_.n_columns; ++col) {
        const Doubles r = reinterpret_cast<const Doubles*>(r_)[2 * col + h] + ratio * w_[col * k_ + a];
        added += r * r;
      }
      const Doubles result = added / choose(own > kSmallestPivot, own, constant(kSmallestPivot)) - lost_[a];
      for (int n = 0; n < kPackSize; ++n) gain[h * kPackSize + n] = result[n];
    }
  }

 private:
  double D(std::int64_t feature, std::int64_t col) const { return criterion_.D[feature * criterion_.n_columns + col]; }

  // Rows a to a + Rows of P times the tile, and what that takes from variances and from D.
  template <int Rows>
  SAFDR_INLINE void project(std::int64_t a) {
    Doubles sum[Rows][2] = {};
    const Doubles* x = reinterpret_cast<const Doubles*>(x_);
    for (std::int64_t l = 0; l < k_; ++l) {
      const Doubles x0 = x[2 * l], x1 = x[2 * l + 1];
      each<Rows>([&](auto r) SAFDR_INLINE_LAMBDA {
        const double p = P_[(a + r) * pitch_ + l];
        sum[r][0] += p * x0;
        sum[r][1] += p * x1;
      });
    }
    each<Rows>([&](auto r) SAFDR_INLINE_LAMBDA {
      for (std::int64_t h = 0; h < 2; ++h) {
        const Doubles& x_row = x[2 * (a + r) + h];
        reinterpret_cast<Doubles*>(g_)[2 * (a + r) + h] = sum[r][h];
        own_[h] -= x_row * sum[r][h];
        for (std::int64_t col = 0; col < criterion_.n_columns; ++col) {
          reinterpret_cast<Doubles*>(r_)[2 * col + h] -= x_row * w_[col * k_ + a + r];
        }
      }
    });
  }

  // P = A_SS^-1 in place, by Gauss and Jordan: stable for positive definite matrices, and along rows.
  SAFDR_INLINE void invert() {
    std::fill_n(P_, k_ * pitch_, 0.0);
    for (std::int64_t i = 0; i < k_; ++i) {
      const double* row = criterion_.A + subset_[i] * criterion_.n_features;
      for (std::int64_t l = 0; l < k_; ++l) P_[i * pitch_ + l] = row[subset_[l]];
    }
    const std::int64_t n_packs = pitch_ / kPackSize;
    for (std::int64_t i = 0; i < k_; ++i) {
      double* pivots = P_ + i * pitch_;
      const double inverse = 1.0 / std::max(pivots[i], kSmallestPivot);
      pivots[i] = 1.0;
      Doubles* pivot_packs = reinterpret_cast<Doubles*>(pivots);
      for (std::int64_t l = 0; l < n_packs; ++l) pivot_packs[l] *= constant(inverse);
      for (std::int64_t a = 0; a < k_; ++a) {
        if (a == i) continue;
        Doubles* row = reinterpret_cast<Doubles*>(P_ + a * pitch_);
        const Doubles factor = constant(P_[a * pitch_ + i]);
        P_[a * pitch_ + i] = 0.0;
        for (std::int64_t l = 0; l < n_packs; ++l) row[l] -= factor * pivot_packs[l];
      }
    }
  }

  // Rows of P begin on vector boundaries.
  static std::int64_t pitch(std::int64_t k) { return (k + kPackSize - 1) / kPackSize * kPackSize; }

  const Criterion& criterion_;
  std::int64_t k_, pitch_;
  const std::int32_t* subset_ = nullptr;
  double *x_, *g_, *r_, *P_, *w_, *lost_, *inverse_p_;
  Doubles own_[2] = {};
};

}  // namespace safdr
