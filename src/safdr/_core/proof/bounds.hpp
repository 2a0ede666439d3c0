// Lower bounds on the loss of leaving features out, for sets and for each feature.
//
// Of the features of a node, c are free, and all but m of them are to be left out. With all of them in, the
// coefficients are β and the inverse of the matrix is P. Then
// - leaving out j costs β_j² / P_jj, and leaving out more costs no less;
// - leaving out a set costs at least the sum of its δ_j β_j², for any diagonal Δ with A - Δ positive semidefinite.
// Leaving out a feature saves its cost.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "proof/elimination.hpp"

namespace safdr {

// Of the n smallest of some numbers: their sum and the largest; and the smallest of the others.
struct Smallest {
  double sum = 0.0, last = 0.0, next = 0.0;
};

inline Smallest smallest_of(const double* numbers, std::int64_t size, std::int64_t n, std::vector<double>& memory) {
  memory.assign(numbers, numbers + size);
  const auto others = memory.begin() + n;
  std::nth_element(memory.begin(), others - 1, memory.end());
  return {std::accumulate(memory.begin(), others, 0.0), *(others - 1), *std::min_element(others, memory.end())};
}

class Losses {
 public:
  explicit Losses(std::int64_t n_features)
      : together_(static_cast<std::size_t>(n_features)), alone_(static_cast<std::size_t>(n_features)) {}

  // n_out features of a node, and not all, must be left out. `cost` is null if all costs are zero.
  void find(const Layout& layout, const Symmetric& inverse, const std::int32_t* features, const double* delta,
            const double* cost, std::int64_t n_out) {
    size_ = inverse.size;
    std::fill_n(alone_.begin(), size_, 0.0);
    for (std::int64_t column = 0; column < layout.n_columns; ++column) {
      const double* beta = inverse.columns + column * layout.stride;
      for (std::int64_t j = 0; j < size_; ++j) alone_[static_cast<std::size_t>(j)] += beta[j] * beta[j];
    }
    for (std::int64_t j = 0; j < size_; ++j) {
      const auto at = static_cast<std::size_t>(j);
      together_[at] = delta[features[j]] * alone_[at];
      alone_[at] /= inverse.entries[j * layout.stride + j];
    }
    most_saved_ = 0.0;
    if (cost != nullptr) save(features, cost, n_out);
    sums_ = smallest_of(together_.data(), size_, n_out, memory_);
    largest_ = smallest_of(alone_.data(), size_, n_out, memory_);
  }

  std::int64_t size() const { return size_; }

  // The feature to branch on: either loss alone needs up to twice the nodes.
  double both(std::int64_t j) const {
    return together_[static_cast<std::size_t>(j)] + alone_[static_cast<std::size_t>(j)];
  }

  // Loss of any set, of a set with j, and of one without j.
  double least() const { return std::max(sums_.sum, largest_.last - most_saved_); }
  double least_with(std::int64_t j) const {
    const double together = together_[static_cast<std::size_t>(j)], alone = alone_[static_cast<std::size_t>(j)];
    const double sum = together <= sums_.last ? sums_.sum : sums_.sum - sums_.last + together;
    return std::max(sum, std::max(alone, largest_.last) - most_saved_);
  }
  double least_without(std::int64_t j) const {
    const double together = together_[static_cast<std::size_t>(j)], alone = alone_[static_cast<std::size_t>(j)];
    const double sum = together <= sums_.last ? sums_.sum - together + sums_.next : sums_.sum;
    return std::max(sum, (alone <= largest_.last ? largest_.next : largest_.last) - most_saved_);
  }

 private:
  // Each saves its own cost; together they save no more than the highest.
  void save(const std::int32_t* features, const double* cost, std::int64_t n_out) {
    saved_.resize(static_cast<std::size_t>(size_));
    for (std::int64_t j = 0; j < size_; ++j) {
      const auto at = static_cast<std::size_t>(j);
      saved_[at] = -cost[features[j]];
      together_[at] += saved_[at];
    }
    most_saved_ = -smallest_of(saved_.data(), size_, n_out, memory_).sum;
  }

  std::vector<double> together_, alone_, saved_, memory_;
  std::int64_t size_ = 0;
  Smallest sums_, largest_;
  double most_saved_ = 0.0;
};

}  // namespace safdr
