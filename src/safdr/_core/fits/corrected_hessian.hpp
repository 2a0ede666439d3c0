// A Hessian of here or of elsewhere, as a Cholesky factor, corrected by what the steps made with it have shown (BFGS).
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>

#include "aligned.hpp"
#include "fits/linear_algebra.hpp"

namespace safdr {

class CorrectedHessian {
 public:
  CorrectedHessian(std::int64_t q, std::int64_t stride)
      : q_(q), stride_(stride), L_(stride * stride), diagonal_(stride), scratch_(stride) {}

  // Where the lower triangle of a new one is written, by columns, before factorise().
  double* matrix() { return L_.data(); }

  void factorise() {
    for (std::int64_t j = 0; j < q_; ++j) diagonal_.data()[j] = L_.data()[j * (stride_ + 1)];
    smallest_ = safdr::factorise(L_.data(), q_, stride_);
    n_pairs_ = 0;
  }

  // Nothing is known about the one to come.
  void forget() { smallest_ = 0.0; }

  // Share of its curvature that the others leave to a column, at least.
  double smallest_share() const { return smallest_; }
  // Of the matrix before it was factorised.
  const double* diagonal() const { return diagonal_.data(); }

  // step = H^-1 gradient, corrected by two loops over the steps made; returns the squared Newton decrement
  // gradient' step.
  double solve(const double* gradient, double* step) {
    double* v = scratch_.data();
    std::copy_n(gradient, q_, v);
    for (std::size_t n = n_pairs_; n-- > 0;) {
      Pair& pair = pairs_[n];
      pair.alpha = dot(pair.move.data(), v, q_) / pair.curvature;
      for (std::int64_t i = 0; i < q_; ++i) v[i] -= pair.alpha * pair.change.data()[i];
    }
    safdr::solve(L_.data(), q_, stride_, v, step);
    for (std::size_t n = 0; n < n_pairs_; ++n) {
      const Pair& pair = pairs_[n];
      const double rest = pair.alpha - dot(pair.change.data(), step, q_) / pair.curvature;
      for (std::int64_t i = 0; i < q_; ++i) step[i] += rest * pair.move.data()[i];
    }
    return dot(gradient, step, q_);
  }

  // A step was made between two points with these gradients.
  void correct(const double* from, const double* to, const double* gradient_from, const double* gradient_to) {
    if (n_pairs_ == pairs_.size()) pairs_.emplace_back(q_);
    Pair& pair = pairs_[n_pairs_];
    for (std::int64_t i = 0; i < q_; ++i) {
      pair.move.data()[i] = to[i] - from[i];
      pair.change.data()[i] = gradient_to[i] - gradient_from[i];
    }
    pair.curvature = dot(pair.move.data(), pair.change.data(), q_);
    if (pair.curvature > 0.0) ++n_pairs_;
  }

 private:
  // A step that was made, and how it changed the gradient.
  struct Pair {
    explicit Pair(std::int64_t q) : move(q), change(q) {}
    AlignedBuffer<double> move, change;
    double curvature = 0.0, alpha = 0.0;
  };

  const std::int64_t q_, stride_;
  AlignedBuffer<double> L_, diagonal_, scratch_;
  std::deque<Pair> pairs_;  // the first n_pairs_ are those since the Hessian was taken
  std::size_t n_pairs_ = 0;
  double smallest_ = 0.0;
};

}  // namespace safdr
