// What no coefficients' penalised loss is below, by duality.
//
// For the logits e of a row and any probabilities q, log(sum of exp(e)) >= q e + H(q), with H the entropy. Summed up
// over the rows, with G the mean of (q - y) z of each class, for all coefficients
//
//   loss >= G theta + mean of H(q) + penalty / 2 |slopes|^2.
//
// If G is zero for the intercepts, the least of that over the slopes is a number. About a place with the loss f, slopes
// S and probabilities p it is
//
//   f - |G + penalty S|^2 / (2 penalty) - mean of the divergence of q from p.
//
// Any q will do. Good ones are p (1 - v), with v = u - sum of p u, where u is what Newton's step takes from the logits:
// of G + penalty S is left then what is left of the equations, and the divergence is about half the decrement. What v
// exceeds 1 by is cut off, and the row divided by its sum. At last q_c (1 - (t_c - sum of q_d t_d)) has G zero for the
// intercepts, where t solves (mean of diag(q) - q q') t = G.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "aligned.hpp"
#include "fits/cholesky.hpp"
#include "fits/softmax_rows.hpp"
#include "fits/weighted_gram.hpp"
#include "interrupt.hpp"

namespace safdr {

class SoftmaxBound : public SoftmaxRows {
 public:
  SoftmaxBound(const ClassDesign& design, std::int64_t q)
      : SoftmaxRows(design, q), gram_(n_classes), squares_(gram_.stride * gram_.stride), excess_(gram_.stride),
        shift_(gram_.stride), zeros_(kBlock), sums_of_rows_(length),
        dual_columns_(static_cast<std::size_t>(gram_.stride), zeros_.data()),
        least_share_(*std::min_element(shares_.begin(), shares_.end())) {}

  // At a place with these coefficients, probabilities and loss. `dual` is room for as many probabilities.
  SAFDR_INLINE double find(const double* theta, const double* probability, double loss, const double* step,
                           double* dual) {
    if (!(least_share_ > 0.0)) return kNone;
    take_dual(step, probability, dual);
    Cholesky::factorise(squares_.data(), n_classes, gram_.stride);
    Cholesky::solve(squares_.data(), n_classes, gram_.stride, excess_.data(), shift_.data());
    const auto [least, largest] = std::minmax_element(shift_.data(), shift_.data() + n_classes);
    // No probability becomes negative.
    if (!(*largest - *least <= 1.0)) return kNone;
    const double divergence = shift_dual(probability, dual);
    double squares = 0.0, intercepts = 0.0;
    for (std::int64_t c = 0; c < n_classes; ++c) {
      const double *G = sums_of_rows_.data() + c * stride, *slopes = theta + c * stride;
      for (std::int64_t j = 0; j + 1 < q; ++j) {
        const double sum = G[j] + design_.penalty * slopes[j];
        squares += sum * sum;
      }
      intercepts += std::abs(G[q - 1]);
    }
    const double rounding = 2.0 * (intercepts + kRounding) * widest(loss);
    return loss - 0.5 * squares / design_.penalty - divergence - rounding;
  }

 private:
  static constexpr double kNone = -std::numeric_limits<double>::infinity();

  // More than rounding takes from a mean over a million rows.
  static constexpr double kRounding = 1e-12;

  // Most that the mean square of a standardised column is: its center may be three deviations off (columns.py).
  static constexpr double kMeanSquare = 10.0;

  // How far two intercepts can be apart where the loss is no larger. In the rows of class c, whose share is s, the mean
  // of (logit of d) - (logit of c) is at most loss / s; the slopes of both differ by at most 2 sqrt(loss / penalty), and
  // the square of the mean of these rows is at most the mean square of all / s.
  double widest(double loss) const {
    const double square = kMeanSquare * static_cast<double>(q - 1);
    return loss / least_share_ + 2.0 * std::sqrt(loss / design_.penalty * square / least_share_);
  }

  // dual = q, of each row; the mean of diag(q) - q q', its lower triangle, and what the classes have in excess.
  SAFDR_INLINE void take_dual(const double* step, const double* probability, double* dual) {
    std::fill_n(squares_.data(), gram_.stride * gram_.stride, 0.0);
    std::fill_n(excess_.data(), gram_.stride, 0.0);
    for (std::int64_t block = 0; block < design_.n_blocks() && !stopped_at(block);
         ++block, probability += n_classes * kBlock, dual += n_classes * kBlock) {
      take_block(block);
      multiply(step);
      take_dual_rows(probability, dual);
      for (std::int64_t c = 0; c < n_classes; ++c) dual_columns_[static_cast<std::size_t>(c)] = dual + c * kBlock;
      gram_.add(dual_columns_.data(), weight_, squares_.data());
    }
    for (std::int64_t c = 0; c < n_classes; ++c) {
      double* column = squares_.data() + c * gram_.stride;
      for (std::int64_t d = c; d < n_classes; ++d) column[d] /= -total_;
      const double share = excess_.data()[c] / total_;
      column[c] += share;
      excess_.data()[c] = share - shares_[static_cast<std::size_t>(c)];
    }
  }

  // The same for the block at hand, whose logits are those of the step.
  SAFDR_INLINE void take_dual_rows(const double* probability, double* dual) {
    alignas(64) double mean[kBlock] = {}, sum[kBlock] = {};
    for (std::int64_t c = 0; c < n_classes; ++c) {
      const double *u = logits_.data() + c * kBlock, *p = probability + c * kBlock;
      for (std::int64_t n = 0; n < kBlock; ++n) mean[n] += p[n] * u[n];
    }
    for (std::int64_t c = 0; c < n_classes; ++c) {
      const double *u = logits_.data() + c * kBlock, *p = probability + c * kBlock;
      double* q = dual + c * kBlock;
      for (std::int64_t n = 0; n < kBlock; ++n) {
        const double rest = 1.0 - (u[n] - mean[n]);
        q[n] = p[n] * (rest > 0.0 ? rest : 0.0);
        sum[n] += q[n];
      }
    }
    for (std::int64_t n = 0; n < kBlock; ++n) sum[n] = 1.0 / sum[n];
    for (std::int64_t c = 0; c < n_classes; ++c) {
      double* q = dual + c * kBlock;
      double total = 0.0;
#pragma omp simd reduction(+ : total)
      for (std::int64_t n = 0; n < kBlock; ++n) {
        q[n] *= sum[n];
        total += weight_[n] * q[n];
      }
      excess_.data()[c] += total;
    }
  }

  // Sums up G of the shifted q; returns their mean divergence from p, or a little more.
  SAFDR_INLINE double shift_dual(const double* probability, const double* dual) {
    clear_sums();
    double divergence = 0.0;
    for (std::int64_t block = 0; block < design_.n_blocks() && !stopped_at(block);
         ++block, probability += n_classes * kBlock, dual += n_classes * kBlock) {
      take_block(block);
      divergence += shift_dual_rows(probability, dual);
      subtract_labels();
      add_products();
    }
    sum_up(sums_of_rows_.data());
    return divergence / total_;
  }

  // The same for the block at hand: the numbers of its rows take the place of the logits.
  //
  // With w = q / p - 1 the divergence is the sum of p ((1 + w) log(1 + w) - w). What is in brackets is less than w^2, and
  // has the series w^2 / 2 - w^3 / 6 + w^4 / 12 - ... If w < 0, all terms have one sign, and those from w^4 on sum up to
  // w^4 / 3 at most. If w > 0, the fifth derivative is negative: w^4 / 12 is more than all that follows.
  SAFDR_INLINE double shift_dual_rows(const double* probability, const double* dual) {
    const double* shift = shift_.data();
    alignas(64) double mean[kBlock] = {};
    for (std::int64_t c = 0; c < n_classes; ++c) {
      const double* q = dual + c * kBlock;
      for (std::int64_t n = 0; n < kBlock; ++n) mean[n] += q[n] * shift[c];
    }
    double divergence = 0.0;
    for (std::int64_t c = 0; c < n_classes; ++c) {
      const double *p = probability + c * kBlock, *q = dual + c * kBlock;
      double* out = logits_.data() + c * kBlock;
#pragma omp simd reduction(+ : divergence)
      for (std::int64_t n = 0; n < kBlock; ++n) {
        const double shifted = q[n] * (1.0 - (shift[c] - mean[n]));
        const double w = shifted / p[n] - 1.0;
        const double series = 0.5 - w * (1.0 / 6) + w * w * (w < 0.0 ? 1.0 / 3 : 1.0 / 12);
        divergence += weight_[n] * p[n] * w * w * (series < 1.0 ? series : 1.0);
        out[n] = weight_[n] * shifted;
      }
    }
    return divergence;
  }

  WeightedGram gram_;
  AlignedBuffer<double> squares_, excess_, shift_;
  AlignedBuffer<double> zeros_;  // a class that fills up the last tile
  AlignedBuffer<double> sums_of_rows_;
  std::vector<const double*> dual_columns_;
  double least_share_;
};

}  // namespace safdr
