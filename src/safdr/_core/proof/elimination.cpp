#include "proof/elimination.hpp"

#include <algorithm>
#include <limits>

#include "simd/clones.hpp"

namespace safdr {
namespace {

// The full row of j: values right of the diagonal are stored below it.
SAFDR_INLINE void copy_row(const Symmetric& from, std::int64_t stride, std::int64_t j, double* row) {
  std::copy_n(from.entries + j * stride, j + 1, row);
  for (std::int64_t i = j + 1; i < from.size; ++i) row[i] = from.entries[i * stride + j];
}

}  // namespace

SAFDR_CLONES double take_out(const Layout& layout, const Symmetric& from, std::int64_t j, double* row,
                             Symmetric& to) noexcept {
  const std::int64_t stride = layout.stride, size = from.size;
  copy_row(from, stride, j, row);
  const double inverse = 1.0 / row[j];
  for (std::int64_t l = 0; l < size; ++l) {
    if (l == j) continue;
    const double factor = row[l] * inverse;
    const double* source = from.entries + l * stride;
    double* target = to.entries + (l < j ? l : l - 1) * stride;
    const std::int64_t first = std::min(l + 1, j);
#pragma omp simd
    for (std::int64_t i = 0; i < first; ++i) target[i] = source[i] - factor * row[i];
#pragma omp simd
    for (std::int64_t i = j + 1; i <= l; ++i) target[i - 1] = source[i] - factor * row[i];
  }
  double gain = 0.0;
  for (std::int64_t column = 0; column < layout.n_columns; ++column) {
    const double* source = from.columns + column * stride;
    double* target = to.columns + column * stride;
    const double own = source[j], factor = own * inverse;
    gain += own * factor;
    for (std::int64_t i = 0; i < j; ++i) target[i] = source[i] - factor * row[i];
    for (std::int64_t i = j + 1; i < size; ++i) target[i - 1] = source[i] - factor * row[i];
  }
  to.size = size - 1;
  return gain;
}

void leave_out(const Layout& layout, const Symmetric& from, std::int64_t j, Symmetric& to) noexcept {
  const std::int64_t stride = layout.stride, size = from.size;
  for (std::int64_t l = 0; l < size; ++l) {
    if (l == j) continue;
    const double* source = from.entries + l * stride;
    double* target = to.entries + (l < j ? l : l - 1) * stride;
    if (target != source) std::copy_n(source, std::min(l + 1, j), target);
    if (l > j) std::copy(source + j + 1, source + l + 1, target + j);
  }
  for (std::int64_t column = 0; column < layout.n_columns; ++column) {
    const double* source = from.columns + column * stride;
    double* target = to.columns + column * stride;
    if (target != source) std::copy_n(source, j, target);
    std::copy(source + j + 1, source + size, target + j);
  }
  to.size = size - 1;
}

SAFDR_CLONES void pair_gains(const Layout& layout, const Symmetric& matrix, const double* square, std::int64_t a,
                             double* product, double* gains) noexcept {
  const std::int64_t stride = layout.stride;
  std::fill_n(product, a, 0.0);
  for (std::int64_t column = 0; column < layout.n_columns; ++column) {
    const double* values = matrix.columns + column * stride;
    const double own = values[a];
#pragma omp simd
    for (std::int64_t b = 0; b < a; ++b) product[b] += own * values[b];
  }
  const double* row = matrix.entries + a * stride;
  const double own = row[a], own_square = square[a];
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (std::int64_t b = 0; b < a; ++b) gains[b] = matrix.entries[b * stride + b];
#pragma omp simd
  for (std::int64_t b = 0; b < a; ++b) {
    const double other = gains[b], shared = row[b];
    const double determinant = own * other - shared * shared;
    const double gain = (own_square * other - 2.0 * product[b] * shared + square[b] * own) / determinant;
    gains[b] = determinant > 0.0 ? gain : kInfinity;
  }
}

}  // namespace safdr
