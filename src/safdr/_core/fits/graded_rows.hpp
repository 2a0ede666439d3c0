// Least squares on rows of very different sizes: an orthogonal factorisation of the rows themselves, with the largest
// rows first and the largest column next (Cox and Higham, 1998). Each row is then as good as if it had been rounded by
// itself. In sums of their products the small ones would be lost.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "simd/clones.hpp"

namespace safdr {

class GradedRows {
 public:
  // At most so many rows; some thousand of them are kept at a time.
  GradedRows(std::int64_t n_columns, std::int64_t n_rows)
      : n_(n_columns), capacity_(n_ + std::min(n_rows, kAtATime)),
        rows_(static_cast<std::size_t>(capacity_ * (n_ + 1))), columns_(rows_.size()),
        order_(static_cast<std::size_t>(n_)), by_size_(static_cast<std::size_t>(capacity_)),
        scale_(static_cast<std::size_t>(n_ + 1)), size_(by_size_.size()) {}

  bool full() const { return n_rows_ == capacity_; }

  // Where the next row is to be written: a number for each column, and the right-hand side.
  double* next() { return row(n_rows_++); }

  // Rows that are as good as all so far, no more than columns: a triangle, where columns are taken in some order. No
  // column is among them of which the others leave no more than its noise. By number, the first of those that could
  // stand for each other does.
  SAFDR_INLINE void fold(const double* noise, bool by_number) {
    sort_rows();
    std::iota(order_.begin(), order_.end(), 0);
    for (rank_ = 0; rank_ < n_rows_; ++rank_) {
      std::int64_t best = -1;
      double largest = 0.0;
      for (std::int64_t i = rank_; i < n_; ++i) {
        const double* a = column(order_[i]);
        const double norm = std::sqrt(product(a, a));
        if (!(norm * scale_[order_[i]] > noise[order_[i]])) continue;
        if (best >= 0 && !(by_number ? order_[i] < order_[best] : norm > largest)) continue;
        best = i;
        largest = norm;
      }
      if (best < 0) break;
      std::swap(order_[rank_], order_[best]);
      reflect(largest);
    }
    n_rows_ = rank_;
    for (std::int64_t i = 0; i < rank_; ++i) {
      for (std::int64_t j = 0; j <= n_; ++j) row(i)[j] = scale_[j] * column(j)[i];
    }
  }

  // Of the last fold: the columns in their order, of which so many are among the rows.
  const std::vector<std::int64_t>& order() const { return order_; }
  std::int64_t rank() const { return rank_; }

  // What makes up a column (n_columns: the right-hand side) from those among the rows; zero for the others.
  std::vector<double> solution(std::int64_t of) const {
    std::vector<double> x(static_cast<std::size_t>(n_));
    for (std::int64_t i = rank_ - 1; i >= 0; --i) {
      const double* r = rows_.data() + i * (n_ + 1);
      double rest = r[of];
      for (std::int64_t l = i + 1; l < rank_; ++l) rest -= r[order_[l]] * x[order_[l]];
      x[order_[i]] = rest / r[order_[i]];
    }
    return x;
  }

  // Sum of squares that it takes from the right-hand side.
  double explained() const {
    double sum = 0.0;
    for (std::int64_t i = 0; i < rank_; ++i) sum += rows_[i * (n_ + 1) + n_] * rows_[i * (n_ + 1) + n_];
    return sum;
  }

 private:
  static constexpr std::int64_t kAtATime = 4096;

  double* row(std::int64_t i) { return rows_.data() + i * (n_ + 1); }
  double* column(std::int64_t j) { return columns_.data() + j * capacity_; }

  // Product of what is left of two columns.
  SAFDR_INLINE double product(const double* a, const double* b) const {
    double sum = 0.0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = rank_; i < n_rows_; ++i) sum += a[i] * b[i];
    return sum;
  }

  // Columns in units of their mean absolute number: one with few large numbers then comes before those that would
  // spread these over all rows.
  SAFDR_INLINE void sort_rows() {
    std::fill_n(size_.begin(), n_rows_, 0.0);
    std::fill(scale_.begin(), scale_.end(), 1.0);
    for (std::int64_t j = 0; j < n_; ++j) {
      double sum = 0.0;
      for (std::int64_t i = 0; i < n_rows_; ++i) sum += std::abs(row(i)[j]);
      if (sum > 0.0) scale_[j] = sum / static_cast<double>(n_rows_);
      for (std::int64_t i = 0; i < n_rows_; ++i) size_[i] = std::max(size_[i], std::abs(row(i)[j]) / scale_[j]);
    }
    const auto last = by_size_.begin() + n_rows_;
    std::iota(by_size_.begin(), last, 0);
    // Not stable_sort, which takes memory.
    std::sort(by_size_.begin(), last,
              [&](auto a, auto b) { return size_[a] != size_[b] ? size_[a] > size_[b] : a < b; });
    for (std::int64_t j = 0; j <= n_; ++j) {
      for (std::int64_t i = 0; i < n_rows_; ++i) column(j)[i] = row(by_size_[i])[j] / scale_[j];
    }
  }

  // Leaves of the next column, which has this norm, one number, and turns the others along with it.
  SAFDR_INLINE void reflect(double norm) {
    double* v = column(order_[rank_]);
    const double head = v[rank_] < 0.0 ? norm : -norm;  // what is left
    const double half = norm * (norm + std::abs(v[rank_]));
    v[rank_] -= head;
    for (std::int64_t l = rank_ + 1; l <= n_; ++l) {
      double* a = column(l < n_ ? order_[l] : n_);
      const double share = product(v, a) / half;
#pragma omp simd
      for (std::int64_t i = rank_; i < n_rows_; ++i) a[i] -= share * v[i];
    }
    v[rank_] = head;
    std::fill(v + rank_ + 1, v + n_rows_, 0.0);
  }

  const std::int64_t n_, capacity_;
  std::int64_t n_rows_ = 0, rank_ = 0;
  std::vector<double> rows_, columns_;         // by rows, right-hand side last; sorted and scaled, by columns
  std::vector<std::int64_t> order_, by_size_;  // of columns; of rows
  std::vector<double> scale_, size_;           // of columns; of rows, in these units
};

}  // namespace safdr
