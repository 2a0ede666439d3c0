#include "fits/columns.hpp"

namespace safdr {

void standardise(const double* X, std::int64_t row_stride, std::int64_t column_stride, const std::int64_t* rows,
                 std::int64_t n_rows, const double* center, const double* scale, const std::int32_t* columns,
                 std::int64_t n_columns, double* Z) {
  for (std::int64_t start = 0; start < n_rows; start += kBlock, Z += (n_columns + 1) * kBlock) {
    const std::int64_t n_here = std::min(kBlock, n_rows - start);
    std::fill_n(Z, (n_columns + 1) * kBlock, 0.0);
    for (std::int64_t j = 0; j < n_columns; ++j) {
      const std::int64_t column = columns[j];
      const double* in = X + column * column_stride;
      const double middle = center[column], factor = 1.0 / scale[column];
      double* out = Z + j * kBlock;
      const auto write = [&](auto row) {
        for (std::int64_t n = 0; n < n_here; ++n) out[n] = (in[row(start + n) * row_stride] - middle) * factor;
      };
      if (rows == nullptr)
        write([](std::int64_t n) { return n; });
      else
        write([=](std::int64_t n) { return rows[n]; });
    }
    std::fill_n(Z + n_columns * kBlock, n_here, 1.0);
  }
}

}  // namespace safdr
