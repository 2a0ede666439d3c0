// The mean cross-entropy of a softmax model on some columns of a design, and the penalty on its slopes: value, gradient,
// products with their Hessian, and the blocks of that on the diagonal.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "aligned.hpp"
#include "fits/multinomial.hpp"
#include "fits/softmax_rows.hpp"
#include "fits/subset_rows.hpp"
#include "fits/weighted_gram.hpp"
#include "interrupt.hpp"
#include "simd/vector_math.hpp"

namespace safdr {

class SoftmaxLoss : public SoftmaxRows {
 public:
  SoftmaxLoss(const ClassDesign& design, std::int64_t q)
      : SoftmaxRows(design, q), packed_columns_(static_cast<std::size_t>(stride)), gram_(q), packed_(stride * kBlock) {
    for (std::int64_t j = 0; j < stride; ++j) {
      packed_columns_[static_cast<std::size_t>(j)] = packed_.data() + j * kBlock;
    }
    for (const double share : shares_) {
      if (share > 0.0) null_loss -= share * std::log(share);
    }
  }

  double null_loss = 0.0;  // without features

  // The model without features. (A class without rows is given next to nothing.)
  void take_null(double* theta) const {
    std::fill_n(theta, length, 0.0);
    for (std::int64_t c = 0; c < n_classes; ++c) {
      theta[c * stride + q - 1] = std::log(std::max(shares_[static_cast<std::size_t>(c)], kLeastShare));
    }
  }

  // Loss, gradient and probabilities at theta.
  SAFDR_INLINE ClassEvaluation evaluate(const double* theta, double* gradient, double* probability) {
    clear_sums();
    ClassEvaluation sum{0.0, true};
    for (std::int64_t block = 0; block < design_.n_blocks() && !stopped_at(block);
         ++block, probability += n_classes * kBlock) {
      take_block(block);
      multiply(theta);
      sum.separated &= all_right();
      sum.loss += take_probabilities(probability);
      for (std::int64_t c = 0; c < n_classes; ++c) {
        double* r = logits_.data() + c * kBlock;
        const double* p = probability + c * kBlock;
        for (std::int64_t n = 0; n < kBlock; ++n) r[n] = weight_[n] * p[n];
      }
      subtract_labels();
      add_products();
    }
    sum_up(gradient);
    sum.loss = sum.loss / total_ + 0.5 * add_penalty(theta, gradient);
    sum.separated &= design_.penalty == 0.0;
    return sum;
  }

  // What a step does to the rows: the largest change of the difference of two logits, and the mean probability that a
  // fall of more than 1 below the mean of the logits would make negative (see PlainFit).
  struct StepSpread {
    double range, excess;
  };

  SAFDR_INLINE StepSpread spread(const double* step, const double* probability) {
    StepSpread most{0.0, 0.0};
    for (std::int64_t block = 0; block < design_.n_blocks() && !stopped_at(block);
         ++block, probability += n_classes * kBlock) {
      take_block(block);
      multiply(step);
      alignas(64) double least[kBlock], mean[kBlock] = {};
      std::fill_n(least, kBlock, kInfinity);
      std::fill_n(largest_, kBlock, -kInfinity);
      for (std::int64_t c = 0; c < n_classes; ++c) {
        const double *u = logits_.data() + c * kBlock, *p = probability + c * kBlock;
        for (std::int64_t n = 0; n < kBlock; ++n) {
          least[n] = u[n] < least[n] ? u[n] : least[n];
          largest_[n] = u[n] > largest_[n] ? u[n] : largest_[n];
          mean[n] += p[n] * u[n];
        }
      }
      for (std::int64_t n = 0; n < n_here_; ++n) most.range = std::max(most.range, largest_[n] - least[n]);
      for (std::int64_t c = 0; c < n_classes; ++c) {
        const double *u = logits_.data() + c * kBlock, *p = probability + c * kBlock;
        for (std::int64_t n = 0; n < n_here_; ++n) {
          most.excess += weight_[n] * p[n] * std::max(0.0, u[n] - mean[n] - 1.0) / total_;
        }
      }
    }
    return most;
  }

  // The Hessian times v: Z' w (p_c (u_c - sum of p_d u_d)) with u = Z v.
  SAFDR_INLINE void curvature(const double* v, const double* probability, double* out) {
    clear_sums();
    for (std::int64_t block = 0; block < design_.n_blocks() && !stopped_at(block);
         ++block, probability += n_classes * kBlock) {
      take_block(block);
      multiply(v);
      alignas(64) double mean[kBlock] = {};
      for (std::int64_t c = 0; c < n_classes; ++c) {
        const double *u = logits_.data() + c * kBlock, *p = probability + c * kBlock;
        for (std::int64_t n = 0; n < kBlock; ++n) mean[n] += p[n] * u[n];
      }
      for (std::int64_t c = 0; c < n_classes; ++c) {
        double* u = logits_.data() + c * kBlock;
        const double* p = probability + c * kBlock;
        for (std::int64_t n = 0; n < kBlock; ++n) u[n] = weight_[n] * p[n] * (u[n] - mean[n]);
      }
      add_products();
    }
    sum_up(out);
    add_penalty(v, out);
  }

  // Whether rows have next to no curvature in a class.
  bool any_gone(std::int64_t c, const double* probability) const {
    for (std::int64_t n = 0; n < design_.n_rows; ++n) {
      const double p = probability[(n / kBlock * n_classes + c) * kBlock + n % kBlock];
      if (p * (1.0 - p) <= kLeaving) return true;
    }
    return false;
  }

  // Z'Z of the rows that have more curvature in a class: its lower triangle.
  SAFDR_INLINE void squares_of_rows(std::int64_t c, const double* probability, double least, double* H) {
    std::fill_n(H, stride * stride, 0.0);
    probability += c * kBlock;
    for (std::int64_t block = 0; block < design_.n_blocks() && !stopped_at(block);
         ++block, probability += n_classes * kBlock) {
      take_block(block);
      for (std::int64_t n = 0; n < kBlock; ++n) {
        factor_[n] = n < n_here_ && probability[n] * (1.0 - probability[n]) > least ? 1.0 : 0.0;
      }
      gram_.add(columns_.data(), factor_, H);
    }
  }

  // The block of one class on the diagonal of the Hessian, Z' w p_c (1 - p_c) Z: its lower triangle, nearly. Most
  // rows know that they are not of this class, or that they are: those with next to no curvature, which together
  // have a small part of it, are counted as if they were spread evenly.
  SAFDR_INLINE void diagonal_block(std::int64_t c, const double* probability, double* H) {
    std::fill_n(H, stride * stride, 0.0);
    probability += c * kBlock;
    const double least = kLeastCurvature * mean_curvature(probability);
    double left_out = 0.0;
    n_packed_ = 0;
    for (std::int64_t block = 0; block < design_.n_blocks() && !stopped_at(block);
         ++block, probability += n_classes * kBlock) {
      take_block(block);
      std::int64_t n_rows = 0;
      for (std::int64_t n = 0; n < kBlock; ++n) {
        factor_[n] = weight_[n] * probability[n] * (1.0 - probability[n]);
        n_rows += factor_[n] > least;
      }
      if (n_rows > kBlock / 2) {
        gram_.add(columns_.data(), factor_, H);
      } else {
        left_out += pack_rows(least, H);
      }
    }
    std::fill(packed_factor_ + n_packed_, packed_factor_ + kBlock, 0.0);
    if (n_packed_ > 0) gram_.add(packed_columns_.data(), packed_factor_, H);
    for (std::int64_t i = 0; i < stride * stride; ++i) H[i] /= total_;
    for (std::int64_t i = 0; i < q; ++i) H[i * stride + i] += left_out / total_ + (i + 1 < q ? design_.penalty : 0.0);
  }

 private:
  // Whether the logit of its own class is the largest in every row, and alone in that.
  SAFDR_INLINE bool all_right() {
    std::fill_n(largest_, kBlock, -kInfinity);
    for (std::int64_t c = 0; c < n_classes; ++c) {
      const double* e = logits_.data() + c * kBlock;
      for (std::int64_t n = 0; n < kBlock; ++n) largest_[n] = e[n] > largest_[n] ? e[n] : largest_[n];
    }
    bool right = true;
    for (std::int64_t n = 0; n < n_here_; ++n) {
      own_[n] = logits_.data()[codes_[n] * kBlock + n];
      right &= own_[n] == largest_[n];
    }
    if (!right) return false;
    std::int64_t n_largest = 0;
    for (std::int64_t c = 0; c < n_classes; ++c) {
      const double* e = logits_.data() + c * kBlock;
      for (std::int64_t n = 0; n < n_here_; ++n) n_largest += e[n] == largest_[n];
    }
    return n_largest == n_here_;
  }

  // Probabilities of a block, and its share of the loss. Without weights the sum of the logarithms is that of the
  // product, which stays below C^64.
  SAFDR_INLINE double take_probabilities(double* probability) {
    alignas(64) double total[kBlock] = {};
    for (std::int64_t c = 0; c < n_classes; ++c) {
      const double* e = logits_.data() + c * kBlock;
      double* p = probability + c * kBlock;
#pragma omp simd
      for (std::int64_t n = 0; n < kBlock; ++n) {
        const double below = largest_[n] - e[n];
        p[n] = exp_minus<std::uint64_t>(below > kMostBelow ? kMostBelow : below);
        total[n] += p[n];
      }
    }
    double loss = 0.0, product = 1.0;
    for (std::int64_t n = 0; n < n_here_; ++n) {
      const double linear = largest_[n] - own_[n];
      loss += weight_[n] * (design_.weight ? linear + std::log(total[n]) : linear);
      product *= total[n];
    }
    for (std::int64_t n = 0; n < kBlock; ++n) total[n] = 1.0 / total[n];
    for (std::int64_t c = 0; c < n_classes; ++c) {
      double* p = probability + c * kBlock;
      for (std::int64_t n = 0; n < kBlock; ++n) p[n] *= total[n];
    }
    return design_.weight ? loss : loss + std::log(product);
  }

  // Adds the penalty times the slopes; returns their product.
  SAFDR_INLINE double add_penalty(const double* slopes, double* out) const {
    if (design_.penalty == 0.0) return 0.0;
    double squares = 0.0;
    for (std::int64_t c = 0; c < n_classes; ++c) {
      for (std::int64_t i = c * stride; i + 1 < c * stride + q; ++i) {
        out[i] += design_.penalty * slopes[i];
        squares += slopes[i] * slopes[i];
      }
    }
    return design_.penalty * squares;
  }

  SAFDR_INLINE double mean_curvature(const double* probability) const {
    double sum = 0.0;
    for (std::int64_t block = 0; block < design_.n_blocks() && !stopped_at(block);
         ++block, probability += n_classes * kBlock) {
#pragma omp simd reduction(+ : sum)
      for (std::int64_t n = 0; n < kBlock; ++n) sum += probability[n] * (1.0 - probability[n]);
    }
    return sum / static_cast<double>(design_.n_rows);
  }

  // Collects the rows of the block at hand that count, and adds them whenever a block is full; returns the
  // curvature of the others.
  SAFDR_INLINE double pack_rows(double least, double* H) {
    double left_out = 0.0;
    for (std::int64_t n = 0; n < n_here_; ++n) {
      if (!(factor_[n] > least)) {
        left_out += factor_[n];
        continue;
      }
      for (std::int64_t j = 0; j < stride; ++j) {
        packed_.data()[j * kBlock + n_packed_] = columns_[static_cast<std::size_t>(j)][n];
      }
      packed_factor_[n_packed_] = factor_[n];
      if (++n_packed_ < kBlock) continue;
      gram_.add(packed_columns_.data(), packed_factor_, H);
      n_packed_ = 0;
    }
    return left_out;
  }

  static constexpr double kInfinity = std::numeric_limits<double>::infinity(), kLeastShare = 1e-12;

  // No probability is below exp(-300), since products of smaller ones would be too small to be computed at speed.
  static constexpr double kMostBelow = 300.0;

  // Rows of a block that have less than this part of the mean curvature are not worth their products.
  static constexpr double kLeastCurvature = 1e-2;

  std::vector<const double*> packed_columns_;
  WeightedGram gram_;
  AlignedBuffer<double> packed_;
  std::int64_t n_packed_ = 0;
  alignas(64) double largest_[kBlock], own_[kBlock], factor_[kBlock], packed_factor_[kBlock];
};

}  // namespace safdr
