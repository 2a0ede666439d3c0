// The mean cross-entropy of a logistic model on some columns of a design, with its derivatives.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "aligned.hpp"
#include "lanes.hpp"
#include "logistic.hpp"
#include "vector_math.hpp"

namespace safdr {

struct Evaluation {
  double loss;        // mean cross-entropy
  double min_margin;  // smallest (2y - 1) * eta
};

class CrossEntropy {
 public:
  CrossEntropy(const Design& design, std::int64_t q)
      : q(q), stride((q + kTile - 1) / kTile * kTile), gradient(stride), H(stride * stride), design_(design),
        offsets_(static_cast<std::size_t>(stride)), columns_(static_cast<std::size_t>(stride)),
        U_(stride * kBlock), positive_(0.0), total_(0.0) {
    for (std::int64_t n = 0; n < design.n_rows; ++n) {
      const double weight = design.weight ? design.weight[n] : 1.0;
      total_ += weight;
      positive_ += weight * design.y[n];
    }
  }

  const std::int64_t q, stride;      // coefficients; length of a row of H
  AlignedBuffer<double> gradient, H;  // at the point evaluated last; H is its lower triangle

  double share() const { return positive_ / total_; }

  // The columns of the model, the constant one last. Where their number is no multiple of four, the last one
  // fills up.
  void take_columns(const std::int32_t* subset) {
    for (std::int64_t j = 0; j < stride; ++j) {
      const std::int64_t column = j + 1 < q ? subset[j] : design_.n_columns - 1;
      offsets_[static_cast<std::size_t>(j)] = column * kBlock;
    }
  }

  // Loss and gradient at beta, and the Hessian if asked for, in one pass.
  template <bool WithHessian>
  SAFDR_INLINE Evaluation evaluate(const double* beta) {
    std::fill_n(gradient.data(), stride, 0.0);
    if (WithHessian) std::fill_n(H.data(), stride * stride, 0.0);
    Evaluation sum{0.0, std::numeric_limits<double>::infinity()};
    for (std::int64_t block = 0; block < design_.n_blocks(); ++block) {
      const double* Z = design_.Z + block * design_.n_columns * kBlock;
      for (std::size_t j = 0; j < columns_.size(); ++j) columns_[j] = Z + offsets_[j];
      predict(beta);
      if (design_.weight) {
        take_rows<true>(block, sum);
      } else {
        take_rows<false>(block, sum);
      }
      add_gradient();
      if (WithHessian) add_hessian();
    }
    for (std::int64_t i = 0; i < q; ++i) gradient.data()[i] /= total_;
    if (WithHessian) {
      for (std::int64_t i = 0; i < stride * stride; ++i) H.data()[i] /= total_;
    }
    return {sum.loss / total_, sum.min_margin};
  }

 private:
  typedef Lanes::Part Part;
  static constexpr std::int64_t kWidth = Lanes::kPerPart, kTile = 4, kHalf = 2, kStrip = 4 * kWidth;

  static SAFDR_INLINE Part& at(double* p) { return *reinterpret_cast<Part*>(p); }
  static SAFDR_INLINE const Part& at(const double* p) { return *reinterpret_cast<const Part*>(p); }

  static SAFDR_INLINE double sum_of(const Part& part) {
    double total = 0.0;
    for (std::int64_t lane = 0; lane < kWidth; ++lane) total += part[lane];
    return total;
  }

  // eta = Z beta, a strip of rows at a time, so that the sums stay in registers.
  SAFDR_INLINE void predict(const double* beta) {
    for (std::int64_t n = 0; n < kBlock; n += kStrip) {
      Part sum0{}, sum1{}, sum2{}, sum3{};
      for (std::int64_t j = 0; j < q; ++j) {
        const double* z = columns_[static_cast<std::size_t>(j)] + n;
        const double b = beta[j];
        sum0 += b * at(z);
        sum1 += b * at(z + kWidth);
        sum2 += b * at(z + 2 * kWidth);
        sum3 += b * at(z + 3 * kWidth);
      }
      at(eta_ + n) = sum0;
      at(eta_ + n + kWidth) = sum1;
      at(eta_ + n + 2 * kWidth) = sum2;
      at(eta_ + n + 3 * kWidth) = sum3;
    }
  }

  // Residuals and curvatures of a block, and its share of the loss. Without weights the sum of log(1 + t) is
  // the logarithm of the product, which stays below 2^64.
  template <bool Weighted>
  SAFDR_INLINE void take_rows(std::int64_t block, Evaluation& sum) {
    const std::int64_t start = block * kBlock, n_here = std::min(kBlock, design_.n_rows - start);
    std::copy_n(design_.y + start, n_here, y_);
    std::fill(y_ + n_here, y_ + kBlock, 0.0);
    if (Weighted) std::copy_n(design_.weight + start, n_here, weight_);
    if (!Weighted) std::fill_n(weight_, n_here, 1.0);
    std::fill(weight_ + n_here, weight_ + kBlock, 0.0);
    double loss = 0.0, product = 1.0, min_margin = sum.min_margin;
#pragma omp simd reduction(+ : loss) reduction(* : product) reduction(min : min_margin)
    for (std::int64_t n = 0; n < kBlock; ++n) {
      const double eta = eta_[n], weight = weight_[n];
      const double t = exp_minus(std::abs(eta));
      const double larger = 1.0 / (1.0 + t), smaller = t * larger;
      const double p = eta >= 0.0 ? larger : smaller;
      const double margin = (2.0 * y_[n] - 1.0) * eta;
      const double linear = margin < 0.0 ? -margin : 0.0;
      // Rows beyond the last have no weight.
      if (Weighted) {
        loss += weight * (log1p_unit(t) + linear);
      } else {
        loss += weight * linear;
        product *= 1.0 + weight * t;
      }
      residual_[n] = weight * (p - y_[n]);
      curvature_[n] = weight * larger * smaller;
      const double counted = weight > 0.0 ? margin : std::numeric_limits<double>::infinity();
      min_margin = counted < min_margin ? counted : min_margin;
    }
    sum.loss += loss + (Weighted ? 0.0 : std::log(product));
    sum.min_margin = min_margin;
  }

  SAFDR_INLINE void add_gradient() {
    for (std::int64_t j = 0; j < stride; j += kTile) {
      const double* const* z = columns_.data() + j;
      Part sum0{}, sum1{}, sum2{}, sum3{};
      for (std::int64_t n = 0; n < kBlock; n += kWidth) {
        const Part residual = at(residual_ + n);
        sum0 += residual * at(z[0] + n);
        sum1 += residual * at(z[1] + n);
        sum2 += residual * at(z[2] + n);
        sum3 += residual * at(z[3] + n);
      }
      double* out = gradient.data() + j;
      out[0] += sum_of(sum0);
      out[1] += sum_of(sum1);
      out[2] += sum_of(sum2);
      out[3] += sum_of(sum3);
    }
  }

  SAFDR_INLINE void add_hessian() {
    for (std::int64_t j = 0; j < stride; ++j) {
      const double* z = columns_[static_cast<std::size_t>(j)];
      double* u = U_.data() + j * kBlock;
      for (std::int64_t n = 0; n < kBlock; n += kWidth) at(u + n) = at(curvature_ + n) * at(z + n);
    }
    for (std::int64_t i = 0; i < stride; i += kTile) {
      for (std::int64_t j = 0; j < i + kTile; j += kHalf) add_tile(i, j);
    }
  }

  // Four rows and two columns of H: eight sums in registers, each value loaded serves two or four of them.
  SAFDR_INLINE void add_tile(std::int64_t i, std::int64_t j) {
    const double* u = U_.data() + i * kBlock;
    const double *z0 = columns_[static_cast<std::size_t>(j)], *z1 = columns_[static_cast<std::size_t>(j + 1)];
    Part sum[kTile][kHalf] = {};
    for (std::int64_t n = 0; n < kBlock; n += kWidth) {
      const Part first = at(z0 + n), second = at(z1 + n);
      for (std::int64_t r = 0; r < kTile; ++r) {
        const Part factor = at(u + r * kBlock + n);
        sum[r][0] += factor * first;
        sum[r][1] += factor * second;
      }
    }
    for (std::int64_t r = 0; r < kTile; ++r) {
      for (std::int64_t c = 0; c < kHalf; ++c) H.data()[(i + r) * stride + j + c] += sum_of(sum[r][c]);
    }
  }

  const Design& design_;
  std::vector<std::int64_t> offsets_;
  std::vector<const double*> columns_;
  AlignedBuffer<double> U_;
  double positive_, total_;
  alignas(64) double eta_[kBlock], residual_[kBlock], curvature_[kBlock], y_[kBlock], weight_[kBlock];
};

}  // namespace safdr
