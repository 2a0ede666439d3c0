// Rows of several classes, with the columns of one subset, and passes over them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "fits/columns.hpp"
#include "fits/linear_algebra.hpp"
#include "interrupt.hpp"

namespace safdr {

// Of models with one row of q coefficients a class. Those of class 0 are zero, the others are the unknowns.
class SubsetRows {
 public:
  SubsetRows(const ClassDesign& design, std::int64_t size);

  void take(const std::int32_t* subset);

  // Class 0 and the most common one change places.
  std::int64_t row_of(std::int64_t c) const { return c == common ? 0 : c == 0 ? common : c; }

  // Where numbers of [class][row] have that of a row.
  std::size_t at(std::int64_t c, std::int64_t n) const { return static_cast<std::size_t>(c * n_padded + n); }

  // visit(columns of a block, its first row) for each of them.
  template <class Visit>
  void each_block(Visit visit) const {
    std::vector<const double*> columns(columns_);
    for (std::int64_t start = 0; start < n_padded; start += kBlock) {
      if (stopped()) return;
      visit(columns.data(), start);
      for (const double*& column : columns) column += n_columns_ * kBlock;
    }
  }

  // visit(columns of a block, its first row, row in the block) for all rows.
  template <class Visit>
  void each_row(Visit visit) const {
    each_block([&](const double* const* columns, std::int64_t start) {
      for (std::int64_t n = 0; n < std::min(kBlock, n_rows - start); ++n) visit(columns, start, n);
    });
  }

  // out = Z theta' of all rows; with several classes less that of the row's own.
  void apply(const double* theta, std::vector<double>& out) const;

  // out = sum over rows of residual(c, row) z, for all classes c but class 0.
  template <class Residual>
  void sum(Residual residual, double* out) const {
    std::fill_n(out, n_unknown, 0.0);
    alignas(64) double here[kBlock];
    each_block([&](const double* const* columns, std::int64_t start) {
      const std::int64_t n_here = std::min(kBlock, n_rows - start);
      for (std::int64_t c = 1; c < n_classes; ++c) {
        for (std::int64_t n = 0; n < n_here; ++n) here[n] = residual(c, start + n);
        std::fill(here + n_here, here + kBlock, 0.0);
        for (std::int64_t j = 0; j < q; ++j) out[(c - 1) * q + j] += dot(here, columns[j], kBlock);
      }
    });
  }

  const std::int64_t q, n_classes, n_rows, n_unknown, n_padded;  // rows are filled up to whole blocks
  std::int64_t common = 0;
  std::vector<std::int64_t> codes;     // the row of theta of each row's class
  std::vector<double> weight, shares;  // of rows, zero beyond the last; of classes

 private:
  const double* const Z_;
  const std::int64_t n_columns_;
  std::vector<const double*> columns_;  // in the first block
};

// Of [class][row], and one less them, to the last digit.
struct Probabilities {
  std::vector<double> p, rest;
};

// One row a class; that of class 0 is zero.
typedef std::vector<double> Direction;

// A row with less than this to lose is on its way out: rounding of the others weighs as much.
constexpr double kLeaving = 1e-10;

// A row with less than this to lose is gone, and nothing of it is left to compute with.
constexpr double kGone = 1e-80;

}  // namespace safdr
