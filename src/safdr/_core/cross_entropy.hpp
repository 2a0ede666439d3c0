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
      : q(q), stride(rounded_up(q, kStep)), gradient(stride), H(stride * stride), design_(design),
        n_tiles_(rounded_up(q, kTile) / kTile), offsets_(static_cast<std::size_t>(stride)),
        columns_(static_cast<std::size_t>(stride)), V_(n_tiles_ * kTile * kBlock),
        sums_(n_tiles_ * (n_tiles_ + 1) / 2 * kTile * kTile), positive_(0.0), total_(0.0) {
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
  template <bool WithHessian>
  SAFDR_INLINE Evaluation evaluate(const double* beta) {
    std::fill_n(gradient.data(), stride, 0.0);
    if (WithHessian) std::fill_n(sums_.data(), n_tiles_ * (n_tiles_ + 1) / 2 * kTile * kTile, Part{});
    Evaluation sum{0.0, std::numeric_limits<double>::infinity()};
    for (std::int64_t block = 0; block < design_.n_blocks(); ++block) {
      const std::int64_t start = block * kBlock, n_here = std::min(kBlock, design_.n_rows - start);
      const double* Z = design_.Z + block * design_.n_columns * kBlock;
      for (std::size_t j = 0; j < columns_.size(); ++j) columns_[j] = Z + offsets_[j];
      // Rows beyond the last are zeros.
      n_rows_ = rounded_up(n_here, kStrip);
      predict(beta);
      if (design_.weight) {
        take_rows<kWeighted>(start, n_here, sum);
      } else if (n_here < n_rows_) {
        take_rows<kSome>(start, n_here, sum);
      } else {
        take_rows<kAll>(start, n_here, sum);
      }
      add_gradient();
      if (WithHessian) add_hessian();
    }
    for (std::int64_t i = 0; i < q; ++i) gradient.data()[i] /= total_;
    if (WithHessian) gather_hessian();
    return {sum.loss / total_, sum.min_margin};
  }

 private:
  typedef Lanes::Part Part;
  static constexpr std::int64_t kWidth = Lanes::kPerPart, kStep = 4, kStrip = 4 * kWidth;
  // Tiles of H: nine sums run side by side, enough to keep two units busy that take four cycles a sum, and
  // few enough for sixteen registers.
  static constexpr std::int64_t kTile = 3;
  // Which rows of a block count, and how much.
  static constexpr int kAll = 0, kSome = 1, kWeighted = 2;

  static constexpr std::int64_t rounded_up(std::int64_t n, std::int64_t to) { return (n + to - 1) / to * to; }

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
  SAFDR_INLINE void add_hessian() {
#pragma omp simd
    for (std::int64_t n = 0; n < n_rows_; ++n) curvature_[n] = std::sqrt(curvature_[n]);
    for (std::int64_t j = 0; j < q; ++j) {
      const double* z = columns_[static_cast<std::size_t>(j)];
      double* v = V_.data() + j * kBlock;
      for (std::int64_t n = 0; n < n_rows_; n += kWidth) at(v + n) = at(curvature_ + n) * at(z + n);
    }
    Part* sums = sums_.data();
    for (std::int64_t i = 0; i < n_tiles_; ++i) {
      for (std::int64_t j = 0; j <= i; ++j, sums += kTile * kTile) {
        add_tile(V_.data() + i * kTile * kBlock, V_.data() + j * kTile * kBlock, sums);
      }
    }
  }

  // The sums stay vectors from block to block; they are added up at the end.
  SAFDR_INLINE void add_tile(const double* rows, const double* columns, Part* sums) {
    Part sum[kTile][kTile];
    for (std::int64_t r = 0; r < kTile; ++r) {
      for (std::int64_t c = 0; c < kTile; ++c) sum[r][c] = sums[r * kTile + c];
    }
    for (std::int64_t n = 0; n < n_rows_; n += kWidth) {
      const Part c0 = at(columns + n), c1 = at(columns + kBlock + n), c2 = at(columns + 2 * kBlock + n);
      for (std::int64_t r = 0; r < kTile; ++r) {
        const Part factor = at(rows + r * kBlock + n);
        sum[r][0] += factor * c0;
        sum[r][1] += factor * c1;
        sum[r][2] += factor * c2;
      }
    }
    for (std::int64_t r = 0; r < kTile; ++r) {
      for (std::int64_t c = 0; c < kTile; ++c) sums[r * kTile + c] = sum[r][c];
    }
  }

  SAFDR_INLINE void gather_hessian() {
    const Part* sums = sums_.data();
    for (std::int64_t i = 0; i < q; i += kTile) {
      for (std::int64_t j = 0; j <= i; j += kTile, sums += kTile * kTile) {
        const std::int64_t n_rows = std::min(kTile, q - i), n_columns = std::min(kTile, q - j);
        for (std::int64_t c = 0; c < n_columns; ++c) {
          double* column = H.data() + (j + c) * stride + i;
          for (std::int64_t r = 0; r < n_rows; ++r) column[r] = sum_of(sums[r * kTile + c]) / total_;
        }
      }
    }
  }

  const Design& design_;
  const std::int64_t n_tiles_;  // in a column of H
  std::vector<std::int64_t> offsets_;
  std::vector<const double*> columns_;
  AlignedBuffer<double> V_;
  AlignedBuffer<Part> sums_;
  double positive_, total_;
  std::int64_t n_rows_ = 0;  // of the block at hand, filled up
  alignas(64) double eta_[kBlock], residual_[kBlock], curvature_[kBlock], y_[kBlock], weight_[kBlock];
};

}  // namespace safdr
