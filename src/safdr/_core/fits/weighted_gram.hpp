// Z' diag(factor) Z, summed up block by block of rows.
#pragma once

#include <cstdint>

#include "aligned.hpp"
#include "fits/columns.hpp"
#include "simd/pack.hpp"

namespace safdr {

// Of columns whose number is filled up to whole tiles.
class WeightedGram {
 public:
  explicit WeightedGram(std::int64_t n_columns) : stride(whole_tiles(n_columns)), U_(stride * kBlock) {}

  static std::int64_t whole_tiles(std::int64_t n) { return (n + kTile - 1) / kTile * kTile; }

  const std::int64_t stride;

  // H += Z' factor Z of the rows of a block: its lower triangle (and a little more), column by column.
  SAFDR_INLINE void add(const double* const* columns, const double* factor, double* H) {
    for (std::int64_t j = 0; j < stride; ++j) {
      double* u = U_.data() + j * kBlock;
      for (std::int64_t n = 0; n < kBlock; n += kWidth) at(u + n) = at(factor + n) * at(columns[j] + n);
    }
    for (std::int64_t i = 0; i < stride; i += kTile) {
      for (std::int64_t j = 0; j < i + kTile; j += kHalf) add_tile(columns, i, j, H);
    }
  }

 private:
  typedef Doubles::Part Part;
  static constexpr std::int64_t kWidth = Doubles::kPerPart, kTile = 4, kHalf = 2;

  // Four rows and two columns, whose sums stay in registers.
  SAFDR_INLINE void add_tile(const double* const* columns, std::int64_t i, std::int64_t j, double* H) {
    const double* u = U_.data() + i * kBlock;
    const double *z0 = columns[j], *z1 = columns[j + 1];
    Part sum[kTile][kHalf] = {};
    for (std::int64_t n = 0; n < kBlock; n += kWidth) {
      const Part first = at(z0 + n), second = at(z1 + n);
      for (std::int64_t r = 0; r < kTile; ++r) {
        const Part factor = at(u + r * kBlock + n);
        sum[r][0] += factor * first;
        sum[r][1] += factor * second;
      }
    }
    for (std::int64_t r = 0; r < kTile; ++r) {
      for (std::int64_t c = 0; c < kHalf; ++c) H[(j + c) * stride + i + r] += sum_of(sum[r][c]);
    }
  }

  AlignedBuffer<double> U_;
};

}  // namespace safdr
