// Standardised columns with the labels of their rows: what all fits read.
#pragma once

#include <algorithm>
#include <cstdint>

namespace safdr {

// Rows handled at a time: 64 rows of 31 columns are 16 KB, half a first-level cache; and few rows waste little.
constexpr std::int64_t kBlock = 64;

// Standardised columns, block by block of rows: Z[block][column][row in block], the last block filled up with
// zeros; on a cache-line boundary. The last column is constant one.
struct Design {
  const double* Z;
  const float* single;       // the same in single precision
  const std::uint8_t* wild;  // whether a column is too uneven for that
  std::int64_t n_rows, n_columns;
  const double* y;       // 0 or 1
  const double* weight;  // positive; null means one
  double penalty;        // half of it times the squares of the slopes is added to the loss

  std::int64_t n_blocks() const { return (n_rows + kBlock - 1) / kBlock; }

  template <class Real>
  const Real* columns() const {
    if constexpr (sizeof(Real) == sizeof(double)) {
      return Z;
    } else {
      return single;
    }
  }
};

// Columns as in Design; rows of several classes.
struct ClassDesign {
  const double* Z;
  std::int64_t n_rows, n_columns, n_classes;
  const std::int32_t* codes;  // from 0 to n_classes - 1
  const double* weight;       // positive; null means one
  const std::uint8_t* wild;   // whether a column is very uneven
  double penalty;             // as in Design, on the slopes of all classes

  std::int64_t n_blocks() const { return (n_rows + kBlock - 1) / kBlock; }
};

inline bool any_wild(const std::uint8_t* wild, const std::int32_t* columns, std::int64_t n_columns) {
  return std::any_of(columns, columns + n_columns, [&](std::int32_t j) { return wild[j] != 0; });
}

// Rows of X by element strides, so that either memory order serves, and by number; without numbers, all in turn.
// Writes (x - center) / scale of the given columns, and a column of ones, in the order of Design: the optimum is the
// same, the Hessian is better conditioned.
void standardise(const double* X, std::int64_t row_stride, std::int64_t column_stride, const std::int64_t* rows,
                 std::int64_t n_rows, const double* center, const double* scale, const std::int32_t* columns,
                 std::int64_t n_columns, double* Z);

}  // namespace safdr
