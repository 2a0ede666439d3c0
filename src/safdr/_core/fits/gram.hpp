// V'V, summed up over blocks of rows, in double or in single precision.
#pragma once

#include <algorithm>
#include <cstdint>

#include "aligned.hpp"
#include "fits/columns.hpp"
#include "simd/pack.hpp"

namespace safdr {

template <class Real>
class Gram {
 public:
  explicit Gram(std::int64_t q)
      : q_(q), n_tiles_((q + kTile - 1) / kTile), n_sums_(n_tiles_ * (n_tiles_ + 1) / 2 * kTile * kTile),
        V_(n_tiles_ * kTile * kBlock), sums_(n_sums_ * kWidth), totals_(n_sums_) {}

  SAFDR_INLINE void clear() {
    std::fill_n(sums_.data(), n_sums_ * kWidth, Real{});
    std::fill_n(totals_.data(), n_sums_, 0.0);
    n_blocks_ = 0;
  }

  // Column j of the block at hand becomes factor times z.
  template <class Given>
  SAFDR_INLINE void take(std::int64_t j, const Given* factor, const Given* z, std::int64_t n_rows) {
    constexpr std::int64_t width = kRegisterBytes / std::max(sizeof(Given), sizeof(Real));
    typedef Given From __attribute__((vector_size(sizeof(Given) * width)));
    typedef Real To __attribute__((vector_size(sizeof(Real) * width)));
    Real* v = V_.data() + j * kBlock;
    for (std::int64_t n = 0; n < n_rows; n += width) {
      const From product = *reinterpret_cast<const From*>(factor + n) * *reinterpret_cast<const From*>(z + n);
      *reinterpret_cast<To*>(v + n) = __builtin_convertvector(product, To);
    }
  }

  // Adds the block at hand.
  SAFDR_INLINE void add(std::int64_t n_rows) {
    Real* sums = sums_.data();
    for (std::int64_t i = 0; i < n_tiles_; ++i) {
      for (std::int64_t j = 0; j <= i; ++j, sums += kTile * kTile * kWidth) {
        add_tile(V_.data() + i * kTile * kBlock, V_.data() + j * kTile * kBlock, n_rows, sums);
      }
    }
    if (sizeof(Real) < sizeof(double) && ++n_blocks_ % kBlocksAtOnce == 0) flush();
  }

  // The lower triangle over `divisor`, column by column of `stride` numbers.
  SAFDR_INLINE void write(double* H, std::int64_t stride, double divisor) {
    flush();
    const double* totals = totals_.data();
    for (std::int64_t i = 0; i < q_; i += kTile) {
      for (std::int64_t j = 0; j <= i; j += kTile, totals += kTile * kTile) {
        const std::int64_t n_rows = std::min(kTile, q_ - i), n_columns = std::min(kTile, q_ - j);
        for (std::int64_t c = 0; c < n_columns; ++c) {
          double* column = H + (j + c) * stride + i;
          for (std::int64_t r = 0; r < n_rows; ++r) column[r] = totals[r * kTile + c] / divisor;
        }
      }
    }
  }

 private:
  typedef typename Register<Real>::Part Part;
  static constexpr std::int64_t kWidth = Register<Real>::kWidth;
  // Nine sums run side by side, enough to keep two groups busy that take four cycles a sum, and few enough for
  // sixteen registers.
  static constexpr std::int64_t kTile = 3;
  // In single precision a sum of more terms than this many blocks have would lose digits.
  static constexpr std::int64_t kBlocksAtOnce = 16;

  // The sums stay vectors from block to block.
  SAFDR_INLINE void add_tile(const Real* rows, const Real* columns, std::int64_t n_rows, Real* sums) {
    Part sum[kTile][kTile];
    each<kTile>([&](auto r) SAFDR_INLINE_LAMBDA {
      each<kTile>([&](auto c) SAFDR_INLINE_LAMBDA { sum[r][c] = at(sums + (r * kTile + c) * kWidth); });
    });
    for (std::int64_t n = 0; n < n_rows; n += kWidth) {
      const Part c0 = at(columns + n), c1 = at(columns + kBlock + n), c2 = at(columns + 2 * kBlock + n);
      each<kTile>([&](auto r) SAFDR_INLINE_LAMBDA {
        const Part factor = at(rows + r * kBlock + n);
        sum[r][0] += factor * c0;
        sum[r][1] += factor * c1;
        sum[r][2] += factor * c2;
      });
    }
    each<kTile>([&](auto r) SAFDR_INLINE_LAMBDA {
      each<kTile>([&](auto c) SAFDR_INLINE_LAMBDA { at(sums + (r * kTile + c) * kWidth) = sum[r][c]; });
    });
  }

  SAFDR_INLINE void flush() {
    for (std::int64_t i = 0; i < n_sums_; ++i) {
      Part& sum = at(sums_.data() + i * kWidth);
      totals_.data()[i] += static_cast<double>(sum_of(sum));
      sum = Part{};
    }
  }

  const std::int64_t q_, n_tiles_, n_sums_;  // columns; tiles in a column of the triangle; sums in all
  AlignedBuffer<Real> V_, sums_;
  AlignedBuffer<double> totals_;
  std::int64_t n_blocks_ = 0;
};

}  // namespace safdr
