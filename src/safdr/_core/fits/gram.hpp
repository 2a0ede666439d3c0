// V'V, summed up over blocks of rows.
#pragma once

#include <algorithm>
#include <cstdint>

#include "aligned.hpp"
#include "fits/columns.hpp"
#include "simd/pack.hpp"

namespace safdr {

class Gram {
 public:
  explicit Gram(std::int64_t q)
      : q_(q), n_tiles_((q + kTile - 1) / kTile), n_sums_(n_tiles_ * (n_tiles_ + 1) / 2 * kTile * kTile),
        V_(n_tiles_ * kTile * kBlock), sums_(n_sums_ * kPackSize) {}

  SAFDR_INLINE void clear() { std::fill_n(sums_.data(), n_sums_ * kPackSize, 0.0); }

  // Sets column j of the current block to factor times z.
  SAFDR_INLINE void take(std::int64_t j, const double* factor, const double* z) {
    double* v = V_.data() + j * kBlock;
    for (std::int64_t n = 0; n < kBlock; n += kPackSize) at(v + n) = at(factor + n) * at(z + n);
  }

  // Adds the current block.
  SAFDR_INLINE void add() {
    double* sums = sums_.data();
    for (std::int64_t i = 0; i < n_tiles_; ++i) {
      for (std::int64_t j = 0; j <= i; ++j, sums += kTile * kTile * kPackSize) {
        add_tile(V_.data() + i * kTile * kBlock, V_.data() + j * kTile * kBlock, sums);
      }
    }
  }

  // The lower triangle, column by column of `stride` numbers.
  SAFDR_INLINE void write(double* H, std::int64_t stride) const {
    const double* sums = sums_.data();
    for (std::int64_t i = 0; i < q_; i += kTile) {
      for (std::int64_t j = 0; j <= i; j += kTile, sums += kTile * kTile * kPackSize) {
        const std::int64_t n_rows = std::min(kTile, q_ - i), n_columns = std::min(kTile, q_ - j);
        for (std::int64_t c = 0; c < n_columns; ++c) {
          double* column = H + (j + c) * stride + i;
          for (std::int64_t r = 0; r < n_rows; ++r) column[r] = sum_of(at(sums + (r * kTile + c) * kPackSize));
        }
      }
    }
  }

 private:
  // Nine sums run side by side: enough to fill two units of four cycles, few enough for sixteen registers.
  static constexpr std::int64_t kTile = 3;

  SAFDR_INLINE void add_tile(const double* rows, const double* columns, double* sums) {
    Doubles sum[kTile][kTile];
    each<kTile>([&](auto r) SAFDR_INLINE_LAMBDA {
      each<kTile>([&](auto c) SAFDR_INLINE_LAMBDA { sum[r][c] = at(sums + (r * kTile + c) * kPackSize); });
    });
    for (std::int64_t n = 0; n < kBlock; n += kPackSize) {
      const Doubles c0 = at(columns + n), c1 = at(columns + kBlock + n), c2 = at(columns + 2 * kBlock + n);
      each<kTile>([&](auto r) SAFDR_INLINE_LAMBDA {
        const Doubles factor = at(rows + r * kBlock + n);
        sum[r][0] += factor * c0;
        sum[r][1] += factor * c1;
        sum[r][2] += factor * c2;
      });
    }
    each<kTile>([&](auto r) SAFDR_INLINE_LAMBDA {
      each<kTile>([&](auto c) SAFDR_INLINE_LAMBDA { at(sums + (r * kTile + c) * kPackSize) = sum[r][c]; });
    });
  }

  const std::int64_t q_, n_tiles_, n_sums_;  // columns; tiles in the triangle's column; sums in all
  AlignedBuffer<double> V_, sums_;
};

}  // namespace safdr
