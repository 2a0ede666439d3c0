// Cholesky factors L of A_SS and z = L^-1 D_S of four subsets S side by side, row by row, so that J(S) = |z|^2. What a
// feature j adds to J(S) takes one more row: the solution of L y = A_Sj, and then (D_j - y'z)^2 / (A_jj - y'y).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "aligned.hpp"
#include "criterion.hpp"
#include "simd/pack.hpp"

namespace safdr {

// Below this a pivot is rounding error: features are scaled to variance one, and double precision has 16 digits.
constexpr double kSmallestPivot = 1e-13;

class Factor {
 public:
  // n_rows: rows of the factor and of candidates; width: the most features that a row may have before it, and itself.
  Factor(std::int64_t n_rows, std::int64_t width, const Criterion& criterion)
      : n_features_(criterion.n_features), n_columns_(criterion.n_columns), memory_(n_rows * (width + 2 + n_columns_)),
        inverse_(memory_.data()), pivot_(inverse_ + n_rows), z_(pivot_ + n_rows),
        feature_(static_cast<std::size_t>(n_rows * kPackSize)),
        present_(static_cast<std::size_t>(n_rows), constant(std::int64_t{-1})) {
    Doubles* row = z_ + n_rows * n_columns_;
    for (std::int64_t i = 0; i < n_rows; ++i) row_.push_back(row + i * width);
    set_criterion(criterion);
  }

  SAFDR_INLINE void set_criterion(const Criterion& criterion) {
    for (int n = 0; n < kPackSize; ++n) set_criterion(n, criterion);
  }

  SAFDR_INLINE void set_criterion(int slot, const Criterion& criterion) {
    A_[slot] = criterion.A;
    D_[slot] = criterion.D;
  }

  // Number of rows of the factor.
  std::int64_t length() const { return length_; }

  SAFDR_INLINE void clear() { length_ = 0; }

  // Row i of one of the four will be that of a feature.
  SAFDR_INLINE void put(int slot, std::int64_t i, std::int32_t feature) {
    feature_[static_cast<std::size_t>(i * kPackSize + slot)] = feature;
  }

  // The same of rows that may fill up shorter subsets: a negative feature adds nothing.
  SAFDR_INLINE void put_or_fill(int slot, std::int64_t i, std::int32_t feature) {
    put(slot, i, std::max(feature, 0));
    present_[static_cast<std::size_t>(i)][slot] = feature < 0 ? 0 : -1;
  }

  // Appends the rows before `last`, which were put; returns their gain of J.
  SAFDR_INLINE Doubles extend(std::int64_t last) {
    Doubles added = constant(0.0);
    while (length_ < last) {
      const std::int64_t next = std::min(length_ + 4, last);
      solve(length_, next);
      added += finish(length_, next);
      length_ = next;
    }
    return added;
  }

  // Solves for rows `first` to `last`, which were put, against the rows of the factor.
  SAFDR_INLINE void solve(std::int64_t first, std::int64_t last) {
    for (; first + 4 <= last; first += 4) solve_rows<4>(first);
    for (; first < last; ++first) solve_rows<1>(first);
  }

  // Gain of the feature of row i alone, after solve().
  SAFDR_INLINE Doubles added(std::int64_t i) const {
    Doubles sum = constant(0.0);
    for (std::int64_t col = 0; col < n_columns_; ++col) sum += z_[i * n_columns_ + col] * z_[i * n_columns_ + col];
    return sum / left(i);
  }

  // Gain of the features of rows `first` to `last` together; prepares later rows.
  SAFDR_INLINE Doubles finish(std::int64_t first, std::int64_t last) {
    Doubles added = constant(0.0);
    for (std::int64_t i = first; i < last; ++i) {
      for (std::int64_t s = first; s < i; ++s) eliminate(i, s, length_ + s - first);
      const Doubles root = square_root(left(i));
      row_[i][length_ + i - first] = root;
      inverse_[i] = choose(present_[static_cast<std::size_t>(i)], 1.0 / root, constant(0.0));
      for (std::int64_t col = 0; col < n_columns_; ++col) {
        Doubles& z = z_[i * n_columns_ + col];
        z *= inverse_[i];
        added += z * z;
      }
    }
    return added;
  }

  // Moves row a to the end and out of the factor, by Givens rotations that make the others triangular again. Returns
  // what its feature adds to the others: the square of what the rotations leave at the end of z. (Not with rows that
  // fill up.)
  SAFDR_INLINE Doubles open(std::int64_t a) {
    const std::int64_t last = --length_;
    std::rotate(row_.begin() + a, row_.begin() + a + 1, row_.begin() + last + 1);
    std::rotate(feature_.begin() + a * kPackSize, feature_.begin() + (a + 1) * kPackSize,
                feature_.begin() + (last + 1) * kPackSize);
    std::fill(row_[last] + a + 1, row_[last] + last + 1, constant(0.0));
    for (std::int64_t i = a; i < last; ++i) {
      Doubles* row = row_[i];
      const Doubles root = square_root(row[i] * row[i] + row[i + 1] * row[i + 1]), inverse = 1.0 / root;
      const Doubles c = row[i] * inverse, s = row[i + 1] * inverse;
      row[i] = root;
      inverse_[i] = inverse;
      for (std::int64_t l = i + 1; l <= last; ++l) rotate(row_[l][i], row_[l][i + 1], c, s);
      for (std::int64_t col = 0; col < n_columns_; ++col) {
        rotate(z_[i * n_columns_ + col], z_[(i + 1) * n_columns_ + col], c, s);
      }
    }
    inverse_[last] = 1.0 / row_[last][last];
    Doubles lost = constant(0.0);
    for (std::int64_t col = 0; col < n_columns_; ++col) {
      lost += z_[last * n_columns_ + col] * z_[last * n_columns_ + col];
    }
    return lost;
  }

  // The row after the last becomes that of another feature, after solve(): in each slot row i of it; the last itself
  // stays.
  SAFDR_INLINE void replace(const Flags& i) {
    const Flags accept = ~(i == length_);
    const double* from[kPackSize];
    for (int n = 0; n < kPackSize; ++n) {
      from[n] = reinterpret_cast<const double*>(row_[i[n]]) + n;
      put(n, length_, feature(i[n])[n]);
    }
    Doubles* row = row_[length_];
    for (std::int64_t l = 0; l < length_; ++l)
      row[l] = gather([&](int n) SAFDR_INLINE_LAMBDA { return from[n][l * kPackSize]; });
    const Doubles root = square_root(gather([&](int n) SAFDR_INLINE_LAMBDA { return left(i[n])[n]; }));
    row[length_] = choose(accept, root, row[length_]);
    inverse_[length_] = 1.0 / row[length_];
    for (std::int64_t col = 0; col < n_columns_; ++col) {
      const Doubles rest = gather([&](int n) SAFDR_INLINE_LAMBDA { return z_[i[n] * n_columns_ + col][n]; });
      z_[length_ * n_columns_ + col] = choose(accept, rest * inverse_[length_], rest);
    }
  }

  // Appends the row after the last to the factor.
  SAFDR_INLINE void close() { ++length_; }

 private:
  static SAFDR_INLINE void rotate(Doubles& x, Doubles& y, const Doubles& c, const Doubles& s) {
    const Doubles before = x;
    x = c * x + s * y;
    y = c * y - s * before;
  }

  // Residual variance of the feature of row i given the features before it.
  SAFDR_INLINE Doubles left(std::int64_t i) const {
    return choose(pivot_[i] > kSmallestPivot, pivot_[i], constant(kSmallestPivot));
  }

  const std::int32_t* feature(std::int64_t i) const { return feature_.data() + i * kPackSize; }

  // A of the features of two rows.
  SAFDR_INLINE Doubles entry(std::int64_t i, std::int64_t l) const {
    return gather([&](int n) SAFDR_INLINE_LAMBDA { return A_[n][feature(i)[n] * n_features_ + feature(l)[n]]; });
  }

  // Several rows at a time, from i on: sums run side by side, and each number of the factor is loaded once for them.
  template <int Rows>
  SAFDR_INLINE void solve_rows(std::int64_t i) {
    constexpr int kColumns = Rows == 1 ? 4 : 2;
    each<Rows>([&](auto r) SAFDR_INLINE_LAMBDA { load(i + r); });
    std::int64_t j = 0;
    for (; j + kColumns <= length_; j += kColumns) reduce<Rows, kColumns>(i, j);
    for (; j < length_; ++j) reduce<Rows, 1>(i, j);
    Doubles pivot[Rows], rest[Rows];
    each<Rows>([&](auto r) SAFDR_INLINE_LAMBDA {
      pivot[r] = entry(i + r, i + r);
      rest[r] = discriminant(i + r, 0);
    });
    for (std::int64_t l = 0; l < length_; ++l) {
      const Doubles z = z_[l * n_columns_];
      each<Rows>([&](auto r) SAFDR_INLINE_LAMBDA {
        const Doubles y = row_[i + r][l];
        pivot[r] -= y * y;
        rest[r] -= y * z;
      });
    }
    each<Rows>([&](auto r) SAFDR_INLINE_LAMBDA {
      pivot_[i + r] = pivot[r];
      z_[(i + r) * n_columns_] = rest[r];
      for (std::int64_t col = 1; col < n_columns_; ++col) z_[(i + r) * n_columns_ + col] = residual(i + r, col);
    });
  }

  // A of the feature of row i and those of the factor.
  SAFDR_INLINE void load(std::int64_t i) {
    const double* of[kPackSize];
    for (int n = 0; n < kPackSize; ++n) of[n] = A_[n] + feature(i)[n] * n_features_;
    for (std::int64_t l = 0; l < length_; ++l) {
      const std::int32_t* other = feature(l);
      row_[i][l] = gather([&](int n) SAFDR_INLINE_LAMBDA { return of[n][other[n]]; });
    }
  }

  SAFDR_INLINE Doubles discriminant(std::int64_t i, std::int64_t col) const {
    return gather([&](int n) SAFDR_INLINE_LAMBDA { return D_[n][feature(i)[n] * n_columns_ + col]; });
  }

  SAFDR_INLINE Doubles residual(std::int64_t i, std::int64_t col) const {
    Doubles rest = discriminant(i, col);
    for (std::int64_t l = 0; l < length_; ++l) rest -= row_[i][l] * z_[l * n_columns_ + col];
    return rest;
  }

  // Columns j to j + Columns of rows i to i + Rows.
  template <int Rows, int Columns>
  SAFDR_INLINE void reduce(std::int64_t i, std::int64_t j) {
    Doubles *row[Rows], sum[Rows][Columns];
    const Doubles* above[Columns];
    each<Columns>([&](auto c) SAFDR_INLINE_LAMBDA { above[c] = row_[j + c]; });
    each<Rows>([&](auto r) SAFDR_INLINE_LAMBDA {
      row[r] = row_[i + r];
      each<Columns>([&](auto c) SAFDR_INLINE_LAMBDA { sum[r][c] = row[r][j + c]; });
    });
    for (std::int64_t l = 0; l < j; ++l) {
      Doubles y[Rows];
      each<Rows>([&](auto r) SAFDR_INLINE_LAMBDA { y[r] = row[r][l]; });
      each<Columns>([&](auto c) SAFDR_INLINE_LAMBDA {
        const Doubles number = above[c][l];
        each<Rows>([&](auto r) SAFDR_INLINE_LAMBDA { sum[r][c] -= number * y[r]; });
      });
    }
    each<Columns>([&](auto c) SAFDR_INLINE_LAMBDA {
      each<Rows>([&](auto r) SAFDR_INLINE_LAMBDA {
        each<c>([&](auto d) SAFDR_INLINE_LAMBDA { sum[r][c] -= above[c][j + d] * sum[r][d]; });
        row[r][j + c] = sum[r][c] *= inverse_[j + c];
      });
    });
  }

  // Two sums run side by side.
  static SAFDR_INLINE Doubles product(const Doubles* x, const Doubles* y, std::int64_t count) {
    Doubles even = constant(0.0), odd = constant(0.0);
    std::int64_t l = 0;
    for (; l + 2 <= count; l += 2) {
      even += x[l] * y[l];
      odd += x[l + 1] * y[l + 1];
    }
    return l < count ? even + odd + x[l] * y[l] : even + odd;
  }

  // The column of row i that belongs to row s, of the same candidate.
  SAFDR_INLINE void eliminate(std::int64_t i, std::int64_t s, std::int64_t column) {
    const Doubles sum = (entry(i, s) - product(row_[i], row_[s], column)) * inverse_[s];
    row_[i][column] = sum;
    pivot_[i] -= sum * sum;
    for (std::int64_t col = 0; col < n_columns_; ++col) z_[i * n_columns_ + col] -= sum * z_[s * n_columns_ + col];
  }

  std::int64_t n_features_, n_columns_, length_ = 0;
  const double* A_[kPackSize];
  const double* D_[kPackSize];
  AlignedBuffer<Doubles> memory_;
  Doubles *inverse_, *pivot_, *z_;
  std::vector<Doubles*> row_;
  std::vector<std::int32_t> feature_;  // n_rows x kPackSize
  std::vector<Flags> present_;
};

}  // namespace safdr
