// The criterion where coefficients must have given signs.
#pragma once

#include <cstdint>

#include "criterion.hpp"

namespace safdr {

// J+(S) = max 2 d'w - w'A_SS w over the w with signs[j] * w[j] >= 0, for each subset; a sign of 0 asks for nothing.
// It is at most J(S), and J(S) exactly where w = A_SS^-1 d_S has the signs: n_wrong counts the members for which it
// has not. Subsets are rows of `width` members, filled up with -1. The criterion has one column.
// A subset so collinear that it can't be solved has the value minus infinity.
void signed_values(const Criterion& criterion, const double* signs, const std::int32_t* subsets, std::int64_t n_subsets,
                   std::int64_t width, std::int64_t n_threads, double* values, std::int32_t* n_wrong);

}  // namespace safdr
