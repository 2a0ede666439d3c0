// Small linear algebra for the fits, compiled for each instruction set.
#pragma once

#include <cstdint>

namespace safdr {

double dot(const double* a, const double* b, std::int64_t n);

// As in Cholesky.
double factorise(double* L, std::int64_t q, std::int64_t stride);
void solve(const double* L, std::int64_t q, std::int64_t stride, const double* in, double* out);

}  // namespace safdr
