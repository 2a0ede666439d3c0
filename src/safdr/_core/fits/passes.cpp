#include "fits/passes.hpp"

#include <cmath>

#include "fits/cholesky.hpp"
#include "interrupt.hpp"
#include "simd/clones.hpp"

namespace safdr {

namespace {

typedef Register<double>::Part Part;
constexpr std::int64_t kWidth = Register<double>::kWidth;

// `Count` columns from the first of z: their products with the rows of a block, added to `sums`.
template <int Count>
SAFDR_INLINE void gather_columns(const double* const* z, const double* rows, double* sums) {
  Part sum[Count];
  each<Count>([&](auto j) SAFDR_INLINE_LAMBDA { sum[j] = at(sums + j * kWidth); });
  for (std::int64_t n = 0; n < kBlock; n += kWidth) {
    const Part r = at(rows + n);
    each<Count>([&](auto j) SAFDR_INLINE_LAMBDA { sum[j] += r * at(z[j] + n); });
  }
  each<Count>([&](auto j) SAFDR_INLINE_LAMBDA { at(sums + j * kWidth) = sum[j]; });
}

SAFDR_INLINE void predict_block(const double* const* z, std::int64_t q, const double* theta, double* out) {
  constexpr int kParts = 8;
  for (std::int64_t n = 0; n < kBlock; n += kParts * kWidth) {
    Part sum[kParts] = {};
    for (std::int64_t j = 0; j < q; ++j) {
      const double* column = z[j] + n;
      const double factor = theta[j];
      each<kParts>([&](auto i) SAFDR_INLINE_LAMBDA { sum[i] += factor * at(column + i * kWidth); });
    }
    each<kParts>([&](auto i) SAFDR_INLINE_LAMBDA { at(out + n + i * kWidth) = sum[i]; });
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
      double* to = sums + c * stride * kWidth;
      std::int64_t j = 0;
      for (; j + 8 <= stride; j += 8) gather_columns<8>(z + j, r, to + j * kWidth);
      if (j < stride) gather_columns<4>(z + j, r, to + j * kWidth);
    }
  }
}

void Gather::add(SubsetColumns& subset, const double* rows, std::int64_t n_outputs, std::int64_t first,
                 std::int64_t last) {
  gather(subset, rows, n_outputs, first, last, sums_.data());
}

void Gather::write(double* out) const {
  for (std::int64_t i = 0; i < n_; ++i) out[i] = sum_of(at(sums_.data() + i * kWidth));
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

SAFDR_CLONES double factorise(double* L, std::int64_t q, std::int64_t stride) {
  return Cholesky::factorise(L, q, stride);
}

SAFDR_CLONES void solve(const double* L, std::int64_t q, std::int64_t stride, const double* in, double* out) {
  Cholesky::solve(L, q, stride, in, out);
}

}  // namespace safdr
