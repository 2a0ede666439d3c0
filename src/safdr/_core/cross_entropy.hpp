// The mean cross-entropy of a logistic model on some columns of a design, with its derivatives.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "aligned.hpp"
#include "gram.hpp"
#include "lanes.hpp"
#include "logistic.hpp"
#include "vector_math.hpp"

namespace safdr {

struct Evaluation {
  double loss;        // mean cross-entropy
  double min_margin;  // smallest (2y - 1) * eta
};

// What a pass brings beside loss and gradient. A rough Hessian is summed in single precision, in half the time.
enum class Curvature { none, rough, exact };

class CrossEntropy {
 public:
  CrossEntropy(const Design& design, std::int64_t q)
      : q(q), stride((q + kStep - 1) / kStep * kStep), gradient(stride), H(stride * stride), design_(design),
        offsets_(static_cast<std::size_t>(stride)), columns_(static_cast<std::size_t>(stride)), exact_(q),
        rough_(q), last_(design.n_blocks() * kBlock), kept_(design.n_blocks() * kBlock), positive_(0.0),
        total_(0.0) {
    for (std::int64_t n = 0; n < design.n_rows; ++n) {
      const double weight = design.weight ? design.weight[n] : 1.0;
      total_ += weight;
      positive_ += weight * design.y[n];
    }
  }

  const std::int64_t q, stride;       // coefficients; length of a column of H
  AlignedBuffer<double> gradient, H;  // at the point evaluated last; H is its lower triangle, by columns

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
  template <Curvature Kind>
  SAFDR_INLINE Evaluation evaluate(const double* beta) {
    std::fill_n(gradient.data(), stride, 0.0);
    if constexpr (Kind == Curvature::exact) exact_.clear();
    if constexpr (Kind == Curvature::rough) rough_.clear();
    Evaluation sum{0.0, std::numeric_limits<double>::infinity()};
    for (std::int64_t block = 0; block < design_.n_blocks(); ++block) {
      const std::int64_t start = block * kBlock, n_here = enter(block, last_.data());
      predict(beta);
      if (design_.weight) {
        take_rows<kWeighted>(start, n_here, sum);
      } else if (n_here < n_rows_) {
        take_rows<kSome>(start, n_here, sum);
      } else {
        take_rows<kAll>(start, n_here, sum);
      }
      add_gradient();
      if constexpr (Kind == Curvature::exact) add_hessian(exact_);
      if constexpr (Kind == Curvature::rough) add_hessian(rough_);
    }
    for (std::int64_t i = 0; i < q; ++i) gradient.data()[i] /= total_;
    if constexpr (Kind == Curvature::exact) exact_.write(H.data(), stride, total_);
    if constexpr (Kind == Curvature::rough) rough_.write(H.data(), stride, total_);
    return {sum.loss / total_, sum.min_margin};
  }

  // The point evaluated last is kept, so that its Hessian can be had later.
  void keep() { last_.swap(kept_); }

  // The Hessian at the point kept: a pass without what the gradient takes.
  template <Curvature Kind>
  SAFDR_INLINE void evaluate_kept() {
    if constexpr (Kind == Curvature::exact) sum_kept(exact_);
    if constexpr (Kind == Curvature::rough) sum_kept(rough_);
  }

 private:
  typedef Lanes::Part Part;
  static constexpr std::int64_t kWidth = Lanes::kPerPart, kStep = 4, kStrip = 4 * kWidth;
  // Which rows of a block count, and how much.
  static constexpr int kAll = 0, kSome = 1, kWeighted = 2;

  // Goes to a block, whose curvatures are among those given; returns how many rows it has.
  SAFDR_INLINE std::int64_t enter(std::int64_t block, double* curvatures) {
    const double* Z = design_.Z + block * design_.n_columns * kBlock;
    for (std::size_t j = 0; j < columns_.size(); ++j) columns_[j] = Z + offsets_[j];
    curvature_ = curvatures + block * kBlock;
    const std::int64_t n_here = std::min(kBlock, design_.n_rows - block * kBlock);
    // Rows beyond the last are zeros.
    n_rows_ = (n_here + kStrip - 1) / kStrip * kStrip;
    return n_here;
  }

  // eta = Z beta, by strips of rows, so that the sums stay in registers: eight of them, or four.
  SAFDR_INLINE void predict(const double* beta) {
    std::int64_t n = 0;
    for (; n + 2 * kStrip <= n_rows_; n += 2 * kStrip) predict_strip<8>(beta, n);
    if (n < n_rows_) predict_strip<4>(beta, n);
  }

  template <int Parts>
  SAFDR_INLINE void predict_strip(const double* beta, std::int64_t n) {
    Part sum[Parts] = {};
    for (std::int64_t j = 0; j < q; ++j) {
      const double* z = columns_[static_cast<std::size_t>(j)] + n;
      const double b = beta[j];
      for (int i = 0; i < Parts; ++i) sum[i] += b * at(z + i * kWidth);
    }
    for (int i = 0; i < Parts; ++i) at(eta_ + n + i * kWidth) = sum[i];
  }

  // Residuals and curvatures of a block, and its share of the loss. Without weights the sum of log(1 + t) is
  // the logarithm of the product, which stays below 2^64.
  template <int Rows>
  SAFDR_INLINE void take_rows(std::int64_t start, std::int64_t n_here, Evaluation& sum) {
    const double* y = design_.y + start;
    if (Rows != kAll) {
      std::copy_n(y, n_here, y_);
      std::fill(y_ + n_here, y_ + n_rows_, 0.0);
      y = y_;
      std::fill_n(weight_, n_here, 1.0);
      if (Rows == kWeighted) std::copy_n(design_.weight + start, n_here, weight_);
      std::fill(weight_ + n_here, weight_ + n_rows_, 0.0);
    }
    double loss = 0.0, product = 1.0, min_margin = sum.min_margin;
#pragma omp simd reduction(+ : loss) reduction(* : product) reduction(min : min_margin)
    for (std::int64_t n = 0; n < n_rows_; ++n) {
      const double sign = 2.0 * y[n] - 1.0, margin = sign * eta_[n];
      const double t = exp_minus<std::uint64_t>(std::abs(margin));
      const double larger = 1.0 / (1.0 + t), smaller = t * larger;
      // The probability of the other class.
      const double wrong = margin < 0.0 ? larger : smaller;
      const double linear = margin < 0.0 ? -margin : 0.0;
      if (Rows == kAll) {
        loss += linear;
        product *= 1.0 + t;
        residual_[n] = -sign * wrong;
        curvature_[n] = larger * smaller;
        min_margin = margin < min_margin ? margin : min_margin;
      } else {
        const double weight = weight_[n];
        loss += weight * (Rows == kWeighted ? log1p_unit(t) + linear : linear);
        if (Rows == kSome) product *= 1.0 + weight * t;
        residual_[n] = -sign * weight * wrong;
        curvature_[n] = weight * larger * smaller;
        const double counted = weight > 0.0 ? margin : std::numeric_limits<double>::infinity();
        min_margin = counted < min_margin ? counted : min_margin;
      }
    }
    sum.loss += loss + (Rows == kWeighted ? 0.0 : std::log(product));
    sum.min_margin = min_margin;
  }

  SAFDR_INLINE void add_gradient() {
    std::int64_t j = 0;
    for (; j + 2 * kStep <= stride; j += 2 * kStep) add_slopes<2 * kStep>(j);
    if (j < stride) add_slopes<kStep>(j);
  }

  template <int Columns>
  SAFDR_INLINE void add_slopes(std::int64_t j) {
    const double* const* z = columns_.data() + j;
    Part sum[Columns] = {};
    for (std::int64_t n = 0; n < n_rows_; n += kWidth) {
      const Part residual = at(residual_ + n);
      for (int i = 0; i < Columns; ++i) sum[i] += residual * at(z[i] + n);
    }
    for (int i = 0; i < Columns; ++i) gradient.data()[j + i] += sum_of(sum[i]);
  }

  // H is V'V with V = sqrt(curvature) z: one matrix to read, so that a block of it stays near.
  template <class Real>
  SAFDR_INLINE void add_hessian(Gram<Real>& gram) {
#pragma omp simd
    for (std::int64_t n = 0; n < n_rows_; ++n) root_[n] = std::sqrt(curvature_[n]);
    for (std::int64_t j = 0; j < q; ++j) gram.take(j, root_, columns_[static_cast<std::size_t>(j)], n_rows_);
    gram.add(n_rows_);
  }

  template <class Real>
  SAFDR_INLINE void sum_kept(Gram<Real>& gram) {
    gram.clear();
    for (std::int64_t block = 0; block < design_.n_blocks(); ++block) {
      enter(block, kept_.data());
      add_hessian(gram);
    }
    gram.write(H.data(), stride, total_);
  }

  const Design& design_;
  std::vector<std::int64_t> offsets_;
  std::vector<const double*> columns_;
  Gram<double> exact_;
  Gram<float> rough_;
  AlignedBuffer<double> last_, kept_;  // curvatures of all rows, at the point evaluated last and the one kept
  double* curvature_ = nullptr;        // those of the block at hand
  double positive_, total_;
  std::int64_t n_rows_ = 0;  // of the block at hand, filled up
  alignas(64) double eta_[kBlock], residual_[kBlock], root_[kBlock], y_[kBlock], weight_[kBlock];
};

}  // namespace safdr
