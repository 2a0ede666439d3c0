// The value of a subset from scratch, less its cost, and whether it counts: not if its features are collinear.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "criterion.hpp"

namespace safdr {

// A subset counts if its features can be taken up in some order such that each has variance of its own when its turn
// comes: more than the tolerance, or half of what it has. This is what chains of swaps can reach. Then it is also true
// of every part of the subset; so the last in such an order can be any one that has variance of its own beside all
// others, and the order is found from its end.
class Judge {
 public:
  Judge(const Criterion& criterion, const double* cost, double collinear_tol, std::int64_t size)
      : criterion_(criterion), cost_(cost), tol_(collinear_tol), size_(size),
        factor_(static_cast<std::size_t>(size * size)), inverse_(factor_.size()),
        solution_(static_cast<std::size_t>(size)) {}

  // Minus infinity if the subset does not count.
  double value(const std::int32_t* subset) {
    constexpr double kNone = -std::numeric_limits<double>::infinity();
    bool independent = true;
    for (std::int64_t i = 0; i < size_; ++i) {
      const double own = factor_row(subset, i);
      if (!(own > 0.0)) return kNone;
      independent = independent && has_own(own, entry(subset, i, i));
    }
    if (!independent && tol_ > 0.0 && !some_order_works(subset)) return kNone;
    double value = 0.0;
    for (std::int64_t column = 0; column < criterion_.n_columns; ++column) value += explained(subset, column);
    for (std::int64_t i = 0; i < size_; ++i) value -= cost_[subset[i]];
    return value;
  }

 private:
  double entry(const std::int32_t* subset, std::int64_t i, std::int64_t j) const {
    return criterion_.A[subset[i] * criterion_.n_features + subset[j]];
  }
  bool has_own(double own, double variance) const { return own > tol_ || own >= 0.5 * variance; }

  // One row of Cholesky's factor; returns what the members before it leave of its variance.
  double factor_row(const std::int32_t* subset, std::int64_t i) {
    double* row = factor_.data() + i * size_;
    for (std::int64_t j = 0; j <= i; ++j) {
      const double* other = factor_.data() + j * size_;
      double left = entry(subset, i, j);
      for (std::int64_t l = 0; l < j; ++l) left -= row[l] * other[l];
      if (j == i) {
        row[i] = std::sqrt(left);
        return left;
      }
      row[j] = left / other[j];
    }
    return 0.0;
  }

  double explained(const std::int32_t* subset, std::int64_t column) {
    double sum = 0.0;
    for (std::int64_t i = 0; i < size_; ++i) {
      const double* row = factor_.data() + i * size_;
      double left = criterion_.D[subset[i] * criterion_.n_columns + column];
      for (std::int64_t l = 0; l < i; ++l) left -= row[l] * solution_[static_cast<std::size_t>(l)];
      left /= row[i];
      solution_[static_cast<std::size_t>(i)] = left;
      sum += left * left;
    }
    return sum;
  }

  // Takes out one member after the other that has variance of its own beside those still there.
  bool some_order_works(const std::int32_t* subset) {
    invert();
    std::vector<bool> there(static_cast<std::size_t>(size_), true);
    for (std::int64_t n_left = size_; n_left > 0; --n_left) {
      std::int64_t last = -1;
      for (std::int64_t i = 0; i < size_ && last < 0; ++i) {
        const double own = 1.0 / inverse_[static_cast<std::size_t>(i * size_ + i)];
        if (there[static_cast<std::size_t>(i)] && has_own(own, entry(subset, i, i))) last = i;
      }
      if (last < 0) return false;
      there[static_cast<std::size_t>(last)] = false;
      take_out_of_inverse(last);
    }
    return true;
  }

  void take_out_of_inverse(std::int64_t j) {
    const std::vector<double> row(inverse_.begin() + j * size_, inverse_.begin() + (j + 1) * size_);
    const double pivot = row[static_cast<std::size_t>(j)];
    for (std::int64_t a = 0; a < size_; ++a) {
      for (std::int64_t b = 0; b < size_; ++b) {
        inverse_[static_cast<std::size_t>(a * size_ + b)] -=
            row[static_cast<std::size_t>(a)] * row[static_cast<std::size_t>(b)] / pivot;
      }
    }
  }

  // The inverse of the matrix, from its factor L: column by column, L L' x = e.
  void invert() {
    for (std::int64_t column = 0; column < size_; ++column) {
      double* x = inverse_.data() + column * size_;
      for (std::int64_t i = 0; i < size_; ++i) {
        double left = i == column ? 1.0 : 0.0;
        for (std::int64_t l = 0; l < i; ++l) left -= factor_[static_cast<std::size_t>(i * size_ + l)] * x[l];
        x[i] = left / factor_[static_cast<std::size_t>(i * size_ + i)];
      }
      for (std::int64_t i = size_ - 1; i >= 0; --i) {
        for (std::int64_t l = i + 1; l < size_; ++l) x[i] -= factor_[static_cast<std::size_t>(l * size_ + i)] * x[l];
        x[i] /= factor_[static_cast<std::size_t>(i * size_ + i)];
      }
    }
  }

  Criterion criterion_;
  const double* cost_;
  double tol_;
  std::int64_t size_;
  std::vector<double> factor_, inverse_, solution_;
};

}  // namespace safdr
