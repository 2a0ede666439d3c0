// Quadratic criteria J(S) = trace(D_S' A_SS^-1 D_S) of subsets S.
#pragma once

#include <cstdint>

namespace safdr {

// A is n_features x n_features, D is n_features x n_columns, both row-major.
struct Criterion {
  const double* A;
  const double* D;
  std::int64_t n_features;
  std::int64_t n_columns;
};

// Criteria over the same features: A is n_criteria x K x K, D is n_criteria x K x n_columns.
struct CriterionStack {
  const double* A;
  const double* D;
  std::int64_t n_criteria, n_features, n_columns;

  Criterion operator[](std::int64_t i) const {
    return {A + i * n_features * n_features, D + i * n_features * n_columns, n_features, n_columns};
  }
};

}  // namespace safdr
