// Standardised columns, in blocks of rows: the input of all fits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace safdr {

// Rows of a block: 64 rows of 31 columns are 16 KB, half a first-level cache, and few rows are filled up.
constexpr std::int64_t kBlock = 64;

// Z[block][column][row in block], the last block filled up with zeros, on a cache-line boundary. The last column is
// constant one.
struct Columns {
  const double* Z;
  std::int64_t n_rows, n_columns;

  std::int64_t n_blocks() const { return (n_rows + kBlock - 1) / kBlock; }
  std::int64_t n_padded() const { return n_blocks() * kBlock; }
};

// The columns of one subset and the constant one, filled up with constant ones to a multiple of four.
class SubsetColumns {
 public:
  SubsetColumns(const Columns& columns, std::int64_t size)
      : q(size + 1), stride((q + 3) / 4 * 4), n_blocks(columns.n_blocks()), columns_(columns),
        offsets_(static_cast<std::size_t>(stride), (columns.n_columns - 1) * kBlock),
        block_(static_cast<std::size_t>(stride)) {}

  void take(const std::int32_t* subset) {
    std::transform(subset, subset + q - 1, offsets_.begin(), [](std::int32_t j) { return j * kBlock; });
  }

  const double* const* block(std::int64_t b) {
    const double* Z = columns_.Z + b * columns_.n_columns * kBlock;
    std::transform(offsets_.begin(), offsets_.end(), block_.begin(), [Z](std::int64_t offset) { return Z + offset; });
    return block_.data();
  }

  const std::int64_t q, stride, n_blocks;

 private:
  const Columns columns_;
  std::vector<std::int64_t> offsets_;
  std::vector<const double*> block_;
};

// Reads rows of X by element strides, so that either memory order works, at the given indices; without indices, all.
// Writes (x - center) / scale of the given columns, and a column of ones.
void standardise(const double* X, std::int64_t row_stride, std::int64_t column_stride, const std::int64_t* rows,
                 std::int64_t n_rows, const double* center, const double* scale, const std::int32_t* columns,
                 std::int64_t n_columns, double* Z);

}  // namespace safdr
