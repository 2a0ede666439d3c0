#include "fits/linear_algebra.hpp"

#include "fits/cholesky.hpp"
#include "simd/clones.hpp"

namespace safdr {

SAFDR_CLONES double dot(const double* a, const double* b, std::int64_t n) {
  double sum = 0.0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

SAFDR_CLONES double factorise(double* L, std::int64_t q, std::int64_t stride) {
  return Cholesky::factorise(L, q, stride);
}

SAFDR_CLONES void solve(const double* L, std::int64_t q, std::int64_t stride, const double* in, double* out) {
  Cholesky::solve(L, q, stride, in, out);
}

}  // namespace safdr
