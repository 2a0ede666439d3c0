#include "fits/passes.hpp"

#include <cmath>

#include "interrupt.hpp"
#include "simd/clones.hpp"

namespace safdr {

namespace {

// `Count` columns from the first of z: their products with the rows of a block, added to `sums`.
template <int Count>
SAFDR_INLINE void gather_columns(const double* const* z, const double* rows, double* sums) {
  Doubles sum[Count];
  each<Count>([&](auto j) SAFDR_INLINE_LAMBDA { sum[j] = at(sums + j * kPackSize); });
  for (std::int64_t n = 0; n < kBlock; n += kPackSize) {
    const Doubles r = at(rows + n);
    each<Count>([&](auto j) SAFDR_INLINE_LAMBDA { sum[j] += r * at(z[j] + n); });
  }
  each<Count>([&](auto j) SAFDR_INLINE_LAMBDA { at(sums + j * kPackSize) = sum[j]; });
}

SAFDR_INLINE void predict_block(const double* const* z, std::int64_t q, const double* theta, double* out) {
  constexpr int kParts = 8;
  for (std::int64_t n = 0; n < kBlock; n += kParts * kPackSize) {
    Doubles sum[kParts] = {};
    for (std::int64_t j = 0; j < q; ++j) {
      const double* column = z[j] + n;
      const double factor = theta[j];
      each<kParts>([&](auto i) SAFDR_INLINE_LAMBDA { sum[i] += factor * at(column + i * kPackSize); });
    }
    each<kParts>([&](auto i) SAFDR_INLINE_LAMBDA { at(out + n + i * kPackSize) = sum[i]; });
  }
}

}  // namespace

SAFDR_CLONES void predict(SubsetColumns& subset, const double* theta, std::int64_t n_outputs, std::int64_t first,
                          std::int64_t last, double* out) {
  const std::int64_t n_padded = subset.n_blocks * kBlock;
  for (std::int64_t b = first; b < last; ++b) {
    const double* const* z = subset.block(b);
    for (std::int64_t c = 0; c < n_outputs; ++c) {
      predict_block(z, subset.q, theta + c * subset.stride, out + c * n_padded + b * kBlock);
    }
  }
}

SAFDR_CLONES static void gather(SubsetColumns& subset, const double* rows, std::int64_t n_outputs, std::int64_t first,
                                std::int64_t last, double* sums) {
  const std::int64_t n_padded = subset.n_blocks * kBlock, stride = subset.stride;
  for (std::int64_t b = first; b < last; ++b) {
    const double* const* z = subset.block(b);
    for (std::int64_t c = 0; c < n_outputs; ++c) {
      const double* r = rows + c * n_padded + b * kBlock;
      double* to = sums + c * stride * kPackSize;
      std::int64_t j = 0;
      for (; j + 8 <= stride; j += 8) gather_columns<8>(z + j, r, to + j * kPackSize);
      if (j < stride) gather_columns<4>(z + j, r, to + j * kPackSize);
    }
  }
}

void Gather::add(SubsetColumns& subset, const double* rows, std::int64_t n_outputs, std::int64_t first,
                 std::int64_t last) {
  gather(subset, rows, n_outputs, first, last, sums_.data());
}

void Gather::write(double* out) const {
  for (std::int64_t i = 0; i < n_; ++i) out[i] = sum_of(at(sums_.data() + i * kPackSize));
}

SAFDR_CLONES void weighted_gram(SubsetColumns& subset, const double* weight, Gram& gram, double* H) {
  alignas(64) double root[kBlock];
  gram.clear();
  for (std::int64_t b = 0; b < subset.n_blocks && !stopped_at(b); ++b) {
    const double* const* z = subset.block(b);
    for (std::int64_t n = 0; n < kBlock; ++n) root[n] = std::sqrt(weight[b * kBlock + n]);
    for (std::int64_t j = 0; j < subset.q; ++j) gram.take(j, root, z[j]);
    gram.add();
  }
  std::fill_n(H, subset.stride * subset.stride, 0.0);
  gram.write(H, subset.stride);
}

SAFDR_CLONES double dot(const double* a, const double* b, std::int64_t n) {
  double sum = 0.0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

SAFDR_CLONES void add_to(double* to, double factor, const double* from, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) to[i] += factor * from[i];
}

// to -= A x for the four columns of A from the first on.
SAFDR_INLINE void subtract_columns(double* to, const double* A, std::int64_t stride, const double* x, std::int64_t n) {
  const double x0 = x[0], x1 = x[1], x2 = x[2], x3 = x[3];
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    to[i] -= (x0 * A[i] + x1 * A[stride + i]) + (x2 * A[2 * stride + i] + x3 * A[3 * stride + i]);
  }
}

// Vectors begin at multiples of four.
SAFDR_CLONES double factorise(double* L, std::int64_t q, std::int64_t stride) {
  double smallest = 1.0;
  for (std::int64_t j = 0; j < q; ++j) {
    const std::int64_t first = j / 4 * 4;
    double* column = L + j * stride;
    const double before = column[j];
    for (std::int64_t l = 0; l < first; l += 4) {
      const double* other = L + l * stride;
      const double x[] = {other[j], other[stride + j], other[2 * stride + j], other[3 * stride + j]};
      subtract_columns(column + first, other + first, stride, x, stride - first);
    }
    for (std::int64_t l = first; l < j; ++l) {
      const double x = L[l * stride + j];
#pragma omp simd
      for (std::int64_t i = first; i < stride; ++i) column[i] -= x * L[l * stride + i];
    }
    const double pivot = column[j], inverse = pivot > 1e-12 * before ? 1.0 / std::sqrt(pivot) : 0.0;
    smallest = std::min(smallest, inverse > 0.0 ? pivot / before : 0.0);
    for (std::int64_t i = first; i < stride; ++i) column[i] *= inverse;
    std::fill(column + first, column + j, 0.0);
    column[j] = inverse;
  }
  return smallest;
}

SAFDR_CLONES void solve(const double* L, std::int64_t q, std::int64_t stride, const double* in, double* out) {
  std::copy_n(in, q, out);
  std::fill(out + q, out + stride, 0.0);
  for (std::int64_t j = 0; j < q; j += 4) {
    const double* A = L + j * stride;
    for (std::int64_t l = j; l < j + 4; ++l) {
      for (std::int64_t i = j; i < l; ++i) out[l] -= L[i * stride + l] * out[i];
      out[l] *= L[l * stride + l];
    }
    subtract_columns(out + j + 4, A + j + 4, stride, out + j, stride - j - 4);
  }
  for (std::int64_t j = stride - 4; j >= 0; j -= 4) {
    const double* A = L + j * stride;
    double sum0 = 0.0, sum1 = 0.0, sum2 = 0.0, sum3 = 0.0;
#pragma omp simd reduction(+ : sum0, sum1, sum2, sum3)
    for (std::int64_t i = j + 4; i < stride; ++i) {
      sum0 += A[i] * out[i];
      sum1 += A[stride + i] * out[i];
      sum2 += A[2 * stride + i] * out[i];
      sum3 += A[3 * stride + i] * out[i];
    }
    const double sum[] = {sum0, sum1, sum2, sum3};
    for (std::int64_t l = j + 3; l >= j; --l) {
      out[l] -= sum[l - j];
      for (std::int64_t i = l + 1; i < j + 4; ++i) out[l] -= L[l * stride + i] * out[i];
      out[l] *= L[l * stride + l];
    }
  }
}

}  // namespace safdr
