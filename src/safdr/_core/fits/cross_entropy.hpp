// The mean cross-entropy of a logistic model on some columns of a design, and the penalty on its slopes, with their
// derivatives, in passes over the rows in double or in single precision.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "aligned.hpp"
#include "fits/columns.hpp"
#include "fits/gram.hpp"
#include "interrupt.hpp"
#include "simd/pack.hpp"
#include "simd/vector_math.hpp"

namespace safdr {

struct Evaluation {
  double loss;        // mean cross-entropy, and the penalty
  double min_margin;  // smallest (2y - 1) * eta
};

// How far a step moves the rows: see CrossEntropy::reach.
struct StepReach {
  double largest;  // v
  double excess;
};

// Numbers of a row are Real; sums over more than a block of them, and what comes out, are double.
template <class Real>
class CrossEntropy {
 public:
  CrossEntropy(const Design& design, std::int64_t q)
      : q(q), stride((q + kStep - 1) / kStep * kStep), gradient(stride), H(stride * stride), design_(design),
        Z_(design.columns<Real>()), offsets_(static_cast<std::size_t>(stride)),
        columns_(static_cast<std::size_t>(stride)), exact_(q), rough_(kSingle ? q : 0),
        last_(design.n_blocks() * kBlock), kept_(design.n_blocks() * kBlock), sign_(design.n_blocks() * kBlock),
        weight_(design.n_blocks() * kBlock), positive_(0.0), total_(0.0) {
    for (std::int64_t n = 0; n < design.n_rows; ++n) {
      const double weight = design.weight ? design.weight[n] : 1.0;
      total_ += weight;
      positive_ += weight * design.y[n];
      sign_.data()[n] = static_cast<Real>(2.0 * design.y[n] - 1.0);
      weight_.data()[n] = static_cast<Real>(weight);
    }
  }

  const std::int64_t q, stride;    // coefficients; length of a column of H
  AlignedBuffer<double> gradient;  // at the point evaluated last
  AlignedBuffer<double> H;         // at the point kept: its lower triangle, by columns

  double share() const { return positive_ / total_; }

  // The columns of the model, the constant one last. Where their number is no multiple of four, the last one
  // fills up.
  void take_columns(const std::int32_t* subset) {
    for (std::int64_t j = 0; j < stride; ++j) {
      const std::int64_t column = j + 1 < q ? subset[j] : design_.n_columns - 1;
      offsets_[static_cast<std::size_t>(j)] = column * kBlock;
    }
  }

  // Loss and gradient at beta.
  SAFDR_INLINE Evaluation evaluate(const double* beta) {
    std::fill_n(gradient.data(), stride, 0.0);
    Sum sum{0.0, std::numeric_limits<Real>::infinity()};
    for (std::int64_t block = 0; block < design_.n_blocks() && !stopped_at(block); ++block) {
      const std::int64_t start = block * kBlock, n_here = enter(block, last_.data());
      predict(beta);
      if (design_.weight) {
        take_rows<kWeighted>(start, sum);
      } else if (n_here < n_rows_) {
        take_rows<kSome>(start, sum);
      } else {
        take_rows<kAll>(start, sum);
      }
      add_gradient();
    }
    for (std::int64_t i = 0; i < q; ++i) gradient.data()[i] /= total_;
    return {sum.loss / total_ + add_penalty(beta), sum.min_margin};
  }

  // What a step does to the rows, at the point kept: v is the change of a logit times the larger of p and 1 - p, the
  // excess the mean probability that a v of more than 1 would make negative (see PlainFit). With `diagonal` (stride
  // numbers) also that of the Hessian.
  SAFDR_INLINE StepReach reach(const double* step, double* diagonal) {
    Real most = 0;
    double excess = 0.0;
    if (diagonal != nullptr) std::fill_n(diagonal, stride, 0.0);
    for (std::int64_t block = 0; block < design_.n_blocks() && !stopped_at(block); ++block) {
      const std::int64_t n_here = enter(block, kept_.data());
      predict(step);
      const Real* weights = weight_.data() + block * kBlock;
      Real beyond = 0;
#pragma omp simd reduction(max : most) reduction(+ : beyond)
      for (std::int64_t n = 0; n < n_here; ++n) {
        const Real inside = 1 - 4 * curvature_[n] / weights[n];
        const Real v = std::abs(eta_[n]) * (1 + std::sqrt(inside > 0 ? inside : 0)) / 2;
        most = v > most ? v : most;
        beyond += curvature_[n] * (v > 1 ? v - 1 : 0);
      }
      excess += static_cast<double>(beyond);
      for (std::int64_t j = 0; diagonal != nullptr && j < stride; j += kStep) add_squares(j, diagonal);
    }
    for (std::int64_t j = 0; diagonal != nullptr && j < q; ++j) {
      diagonal[j] = diagonal[j] / total_ + (j + 1 < q ? design_.penalty : 0.0);
    }
    return {static_cast<double>(most), excess / total_};
  }

  // The point evaluated last is kept, so that its Hessian can be had.
  void keep() { last_.swap(kept_); }

  // The Hessian at the point kept, summed in either precision.
  SAFDR_INLINE void sum_hessian() { sum_up(exact_); }
  SAFDR_INLINE void sum_hessian_roughly() { sum_up(rough_); }

 private:
  typedef typename Register<Real>::Part Part;
  // Unsigned integers as wide as a number.
  typedef std::conditional_t<sizeof(Real) == 8, std::uint64_t, std::uint32_t> Bits;
  static constexpr std::int64_t kWidth = Register<Real>::kWidth, kStep = 4, kStrip = 4 * kWidth;

  struct Sum {
    double loss;
    Real min_margin;
  };

  static SAFDR_INLINE Real exp_of_minus(Real a) {
    if constexpr (sizeof(Real) == 8) {
      return exp_minus<Bits>(a);
    } else {
      return exp_minus_single<Bits>(a);
    }
  }
  static constexpr bool kSingle = sizeof(Real) < sizeof(double);
  // Which rows of a block count, and how much.
  static constexpr int kAll = 0, kSome = 1, kWeighted = 2;

  // Goes to a block, whose curvatures are among those given; returns how many rows it has.
  SAFDR_INLINE std::int64_t enter(std::int64_t block, Real* curvatures) {
    const Real* Z = Z_ + block * design_.n_columns * kBlock;
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
      const Real* z = columns_[static_cast<std::size_t>(j)] + n;
      const Real b = static_cast<Real>(beta[j]);
      for (int i = 0; i < Parts; ++i) sum[i] += b * at(z + i * kWidth);
    }
    for (int i = 0; i < Parts; ++i) at(eta_ + n + i * kWidth) = sum[i];
  }

  // Residuals and curvatures of a block, and its share of the loss. Without weights the sum of log(1 + t) is
  // the logarithm of the product, which stays below 2^64.
  template <int Rows>
  SAFDR_INLINE void take_rows(std::int64_t start, Sum& sum) {
    const Real *signs = sign_.data() + start, *weights = weight_.data() + start;
    Real loss = 0, product = 1, min_margin = sum.min_margin;
#pragma omp simd reduction(+ : loss) reduction(* : product) reduction(min : min_margin)
    for (std::int64_t n = 0; n < n_rows_; ++n) {
      const Real sign = signs[n], margin = sign * eta_[n];
      const Real t = exp_of_minus(std::abs(margin));
      const Real larger = 1 / (1 + t), smaller = t * larger;
      // The probability of the other class.
      const Real wrong = margin < 0 ? larger : smaller;
      const Real linear = margin < 0 ? -margin : 0;
      if (Rows == kAll) {
        loss += linear;
        product *= 1 + t;
        residual_[n] = -sign * wrong;
        curvature_[n] = larger * smaller;
        min_margin = margin < min_margin ? margin : min_margin;
      } else {
        const Real weight = weights[n];
        loss += weight * (Rows == kWeighted ? static_cast<Real>(log1p_unit(t)) + linear : linear);
        if (Rows == kSome) product *= 1 + weight * t;
        residual_[n] = -sign * weight * wrong;
        curvature_[n] = weight * larger * smaller;
        const Real counted = weight > 0 ? margin : std::numeric_limits<Real>::infinity();
        min_margin = counted < min_margin ? counted : min_margin;
      }
    }
    sum.loss += loss + (Rows == kWeighted ? 0.0 : std::log(static_cast<double>(product)));
    sum.min_margin = min_margin;
  }

  SAFDR_INLINE void add_gradient() {
    std::int64_t j = 0;
    for (; j + 2 * kStep <= stride; j += 2 * kStep) add_slopes<2 * kStep>(j);
    if (j < stride) add_slopes<kStep>(j);
  }

  template <int Columns>
  SAFDR_INLINE void add_slopes(std::int64_t j) {
    const Real* const* z = columns_.data() + j;
    Part sum[Columns] = {};
    for (std::int64_t n = 0; n < n_rows_; n += kWidth) {
      const Part residual = at(residual_ + n);
      for (int i = 0; i < Columns; ++i) sum[i] += residual * at(z[i] + n);
    }
    for (int i = 0; i < Columns; ++i) gradient.data()[j + i] += static_cast<double>(sum_of(sum[i]));
  }

  // diagonal += Z^2' curvature, of some columns of the block at hand.
  SAFDR_INLINE void add_squares(std::int64_t j, double* diagonal) {
    const Real* const* z = columns_.data() + j;
    Part sum[kStep] = {};
    for (std::int64_t n = 0; n < n_rows_; n += kWidth) {
      const Part curvature = at(curvature_ + n);
      for (int i = 0; i < kStep; ++i) sum[i] += curvature * at(z[i] + n) * at(z[i] + n);
    }
    for (int i = 0; i < kStep; ++i) diagonal[j + i] += static_cast<double>(sum_of(sum[i]));
  }

  // H is V'V with V = sqrt(curvature) z: one matrix to read, so that a block of it stays near.
  template <class Precision>
  SAFDR_INLINE void add_hessian(Gram<Precision>& gram) {
#pragma omp simd
    for (std::int64_t n = 0; n < n_rows_; ++n) root_[n] = std::sqrt(curvature_[n]);
    for (std::int64_t j = 0; j < q; ++j) gram.take(j, root_, columns_[static_cast<std::size_t>(j)], n_rows_);
    gram.add(n_rows_);
  }

  template <class Precision>
  SAFDR_INLINE void sum_up(Gram<Precision>& gram) {
    gram.clear();
    for (std::int64_t block = 0; block < design_.n_blocks() && !stopped_at(block); ++block) {
      enter(block, kept_.data());
      add_hessian(gram);
    }
    gram.write(H.data(), stride, total_);
    for (std::int64_t j = 0; j + 1 < q; ++j) H.data()[j * (stride + 1)] += design_.penalty;
  }

  // Of the slopes, to the gradient; returns what it adds to the loss.
  double add_penalty(const double* beta) {
    if (design_.penalty == 0.0) return 0.0;
    double squares = 0.0;
    for (std::int64_t j = 0; j + 1 < q; ++j) {
      gradient.data()[j] += design_.penalty * beta[j];
      squares += beta[j] * beta[j];
    }
    return 0.5 * design_.penalty * squares;
  }

  const Design& design_;
  const Real* Z_;
  std::vector<std::int64_t> offsets_;
  std::vector<const Real*> columns_;
  Gram<double> exact_;
  Gram<float> rough_;
  AlignedBuffer<Real> last_, kept_;    // curvatures of all rows, at the point evaluated last and the one kept
  AlignedBuffer<Real> sign_, weight_;  // of all rows: 2y - 1, zero beyond the last
  Real* curvature_ = nullptr;          // those of the block at hand
  double positive_, total_;
  std::int64_t n_rows_ = 0;  // of the block at hand, filled up
  alignas(64) Real eta_[kBlock], residual_[kBlock], root_[kBlock];
};

}  // namespace safdr
