// Products with the columns of a subset, compiled for each instruction set. Numbers of rows are [output][row], those of
// coefficients [output][column], with subset.stride columns.
#pragma once

#include <cstdint>

#include "fits/columns.hpp"
#include "fits/gram.hpp"

namespace safdr {

// out = Z theta on some blocks of rows; n_padded rows an output.
void predict(SubsetColumns& subset, const double* theta, std::int64_t n_outputs, std::int64_t first, std::int64_t last,
             double* out);

// Sums of Z' r over blocks of rows.
class Gather {
 public:
  Gather(std::int64_t n_outputs, std::int64_t stride) : n_(n_outputs * stride), sums_(n_ * kPackSize) {}

  void clear() { std::fill_n(sums_.data(), n_ * kPackSize, 0.0); }
  void add(SubsetColumns& subset, const double* rows, std::int64_t n_outputs, std::int64_t first, std::int64_t last);
  void write(double* out) const;

 private:
  std::int64_t n_;
  AlignedBuffer<double> sums_;
};

// H = Z' diag(weight) Z, its lower triangle, column by column.
void weighted_gram(SubsetColumns& subset, const double* weight, Gram& gram, double* H);

double dot(const double* a, const double* b, std::int64_t n);
// to += factor * from
void add_to(double* to, double factor, const double* from, std::int64_t n);

// Overwrites a positive semi-definite matrix, the lower triangle column by column, with its Cholesky factor and the
// inverse of its diagonal. A column without residual curvature (collinear, or all rows fitted) becomes zero. Returns the
// smallest share of the diagonal that remains given the previous columns.
double factorise(double* L, std::int64_t q, std::int64_t stride);
// out = (L L')^-1 in, which may be the same; no step for columns without curvature.
void solve(const double* L, std::int64_t q, std::int64_t stride, const double* in, double* out);

}  // namespace safdr
