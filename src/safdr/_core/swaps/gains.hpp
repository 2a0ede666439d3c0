// Gains of all swaps of one feature, computed for many features at a time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "aligned.hpp"
#include "chains/factor.hpp"
#include "criterion.hpp"
#include "simd/pack.hpp"

namespace safdr {

// Features that are evaluated together.
constexpr std::int64_t kTile = 2 * kPackSize;

// The state of one subset S: P = A_SS^-1 and w = P D_S. Swapping the member at position a for feature j, with g = P A_Sj,
//     c = A_jj - A_jS g + g_a^2 / P_aa    (the residual variance of j given the other members)
//     r = D_j - A_jS w + w_a g_a / P_aa   (the residual of D_j)
// adds |r|^2 / c to J, which loses |w_a|^2 / P_aa. Costs are subtracted from J.
class SwapGains {
 public:
  // sign: 1 to look for gains of J, -1 for losses.
  SwapGains(const Criterion& criterion, const double* cost, double sign, std::int64_t k)
      : criterion_(criterion), cost_(cost), sign_(sign), k_(k), pitch_((k + kPackSize - 1) / kPackSize * kPackSize),
        memory_(pitch_ * (k + criterion.n_columns + 1) + 2 * k + (2 * k + criterion.n_columns + 1) * kTile),
        x_(memory_.data()), g_(x_ + k * kTile), r_(g_ + k * kTile), price_(r_ + criterion.n_columns * kTile),
        P_(price_ + kTile), w_(P_ + k * pitch_), change_(w_ + criterion.n_columns * pitch_), lost_(change_ + pitch_),
        inverse_p_(lost_ + k) {}

  // Builds the state of a subset; returns J.
  SAFDR_INLINE double build(const std::int32_t* subset) {
    subset_ = subset;
    invert();
    double value = 0.0;
    for (std::int64_t col = 0; col < criterion_.n_columns; ++col) {
      double* w = w_ + col * pitch_;
      std::fill_n(w, pitch_, 0.0);
      for (std::int64_t l = 0; l < k_; ++l) subtract(w, -D(subset[l], col), P_ + l * pitch_);
      for (std::int64_t a = 0; a < k_; ++a) value += w[a] * D(subset[a], col);
    }
    for (std::int64_t a = 0; a < k_; ++a) value -= cost(subset[a]);
    find_losses();
    return value;
  }

  // Evaluates up to kTile features.
  SAFDR_INLINE void look(const std::int32_t* features, std::int64_t count) {
    std::int64_t feature[kTile];
    for (std::int64_t t = 0; t < kTile; ++t) feature[t] = features[std::min(t, count - 1)];
    for (std::int64_t l = 0; l < k_; ++l) {
      const double* row = criterion_.A + subset_[l] * criterion_.n_features;
      for (std::int64_t t = 0; t < kTile; ++t) x_[l * kTile + t] = row[feature[t]];
    }
    for (std::int64_t t = 0; t < kTile; ++t) {
      own_[t / kPackSize].set(t % kPackSize, criterion_.A[feature[t] * (criterion_.n_features + 1)]);
      price_[t] = cost(feature[t]);
      for (std::int64_t col = 0; col < criterion_.n_columns; ++col) r_[col * kTile + t] = D(feature[t], col);
    }
    std::int64_t a = 0;
    for (; a + 4 <= k_; a += 4) project<4>(a);
    for (; a < k_; ++a) project<1>(a);
  }

  // Gains of the evaluated features in place of the member at position a, times the sign; false if none exceeds `least`.
  SAFDR_INLINE bool gains(std::int64_t a, double least, double* gain) const {
    const Doubles p = constant(inverse_p_[a]);
    Doubles own[2], added[2];
    Flags more{};
    for (std::int64_t h = 0; h < 2; ++h) {
      const Doubles g = packs(g_)[2 * a + h], ratio = g * p;
      own[h] = own_[h] + g * ratio;
      own[h] = choose(own[h] > kSmallestPivot, own[h], constant(kSmallestPivot));
      added[h] = constant(0.0);
      for (std::int64_t col = 0; col < criterion_.n_columns; ++col) {
        const Doubles r = packs(r_)[2 * col + h] + ratio * w_[col * pitch_ + a];
        added[h] += r * r;
      }
      more = more | ((added[h] - (packs(price_)[h] + lost_[a]) * own[h]) * sign_ > own[h] * least);
    }
    if (!any(more)) return false;
    for (std::int64_t h = 0; h < 2; ++h) {
      const Doubles result = (added[h] / own[h] - packs(price_)[h] - lost_[a]) * sign_;
      for (int n = 0; n < kPackSize; ++n) gain[h * kPackSize + n] = result[n];
    }
    return true;
  }

  // The member at position a was replaced by evaluated feature t: P loses p_a p_a' / P_aa and gains v v' / c.
  SAFDR_INLINE void swap(std::int64_t a, std::int64_t t) {
    const double ratio = g_[a * kTile + t] * inverse_p_[a];
    const double c = std::max(own_[t / kPackSize][t % kPackSize] + g_[a * kTile + t] * ratio, kSmallestPivot);
    double* p = P_ + a * pitch_;
    std::fill_n(change_, pitch_, 0.0);
    for (std::int64_t l = 0; l < k_; ++l) change_[l] = g_[l * kTile + t] - p[l] * ratio;
    change_[a] = -1.0;
    for (std::int64_t col = 0; col < criterion_.n_columns; ++col) {
      double* w = w_ + col * pitch_;
      const double r = r_[col * kTile + t] + ratio * w[a];
      subtract(w, w[a] * inverse_p_[a], p);
      w[a] = 0.0;
      subtract(w, r / c, change_);
    }
    for (std::int64_t l = 0; l < k_; ++l) {
      if (l != a) subtract(P_ + l * pitch_, p[l] * inverse_p_[a], p);
    }
    std::fill_n(p, pitch_, 0.0);
    for (std::int64_t l = 0; l < k_; ++l) {
      P_[l * pitch_ + a] = 0.0;
      subtract(P_ + l * pitch_, -change_[l] / c, change_);
    }
    find_losses();
  }

 private:
  double D(std::int64_t feature, std::int64_t col) const { return criterion_.D[feature * criterion_.n_columns + col]; }

  double cost(std::int64_t feature) const { return cost_ == nullptr ? 0.0 : cost_[feature]; }

  static const Doubles* packs(const double* numbers) { return reinterpret_cast<const Doubles*>(numbers); }

  // Subtracts a multiple of one row from another.
  SAFDR_INLINE void subtract(double* row, double factor, const double* other) const {
    Doubles* to = reinterpret_cast<Doubles*>(row);
    for (std::int64_t l = 0; l < pitch_ / kPackSize; ++l) to[l] -= packs(other)[l] * factor;
  }

  // Loss of J without each member.
  SAFDR_INLINE void find_losses() {
    for (std::int64_t a = 0; a < k_; ++a) {
      inverse_p_[a] = 1.0 / P_[a * pitch_ + a];
      lost_[a] = -cost(subset_[a]);
      for (std::int64_t col = 0; col < criterion_.n_columns; ++col) {
        lost_[a] += w_[col * pitch_ + a] * w_[col * pitch_ + a] * inverse_p_[a];
      }
    }
  }

  // Multiplies rows a to a + Rows of P by the tile, and subtracts the result from variances and from D.
  template <int Rows>
  SAFDR_INLINE void project(std::int64_t a) {
    Doubles sum[Rows][2] = {};
    const Doubles* x = packs(x_);
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
          reinterpret_cast<Doubles*>(r_)[2 * col + h] -= x_row * w_[col * pitch_ + a + r];
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
    for (std::int64_t i = 0; i < k_; ++i) {
      double* pivots = P_ + i * pitch_;
      const double inverse = 1.0 / std::max(pivots[i], kSmallestPivot);
      pivots[i] = 1.0;
      for (std::int64_t l = 0; l < k_; ++l) pivots[l] *= inverse;
      for (std::int64_t a = 0; a < k_; ++a) {
        if (a == i) continue;
        const double factor = P_[a * pitch_ + i];
        P_[a * pitch_ + i] = 0.0;
        subtract(P_ + a * pitch_, factor, pivots);
      }
    }
  }

  const Criterion& criterion_;
  const double* cost_;
  double sign_;
  std::int64_t k_, pitch_;  // rows of P begin on vector boundaries
  AlignedBuffer<double> memory_;
  const std::int32_t* subset_ = nullptr;
  double *x_, *g_, *r_, *price_, *P_, *w_, *change_, *lost_, *inverse_p_;
  Doubles own_[2] = {};
};

}  // namespace safdr
