// Evaluates a subset from scratch: its value less its cost.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "criterion.hpp"

namespace safdr {

class Judge {
 public:
  Judge(const Criterion& criterion, const double* cost, std::int64_t size)
      : criterion_(criterion), cost_(cost), size_(size), factor_(static_cast<std::size_t>(size * size)),
        solution_(static_cast<std::size_t>(size)) {}

  // Minus infinity if the matrix is not positive definite.
  double value(const std::int32_t* subset) {
    constexpr double kNone = -std::numeric_limits<double>::infinity();
    for (std::int64_t i = 0; i < size_; ++i) {
      if (!(factor_row(subset, i) > 0.0)) return kNone;
    }
    double value = 0.0;
    for (std::int64_t column = 0; column < criterion_.n_columns; ++column) value += explained(subset, column);
    for (std::int64_t i = 0; i < size_; ++i) value -= cost_[subset[i]];
    return value;
  }

 private:
  double entry(const std::int32_t* subset, std::int64_t i, std::int64_t j) const {
    return criterion_.A[subset[i] * criterion_.n_features + subset[j]];
  }

  // One row of Cholesky's factor; returns its residual variance given the members before it.
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

  Criterion criterion_;
  const double* cost_;
  std::int64_t size_;
  std::vector<double> factor_, solution_;
};

}  // namespace safdr
