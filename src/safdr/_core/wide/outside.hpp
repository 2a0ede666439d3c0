// What columns outside of a subset would gain, over very many of them: plain loops over arrays that the caller
// makes, a block of columns at a time.
#pragma once

#include <cstdint>

namespace safdr {

// Columns that may come in: what is to be explained by each (n_outputs x n), their variances with the ridge, and
// what each costs, or null.
struct Outside {
  const double* D;
  const double* variance;
  const double* cost;
  std::int64_t n, n_outputs;
};

// A subset: where its rows of A are, P = A_SS⁻¹, w = P·D_S (size x n_outputs), and what it loses with each member.
struct Inside {
  const std::int64_t* at;
  const double* P;
  const double* w;
  const double* loss;
  std::int64_t size;
};

// The gain of each swap (size x n), minus infinity for collinear candidates; or the largest of each column (1 x n).
// rows: A of members with the columns.
void swap_gains(const double* rows, const Inside& inside, const Outside& outside, double collinear_tol, bool best_only,
                double* gains);

// For each of `n_columns` columns, with what is left of its own variance and D, the partner among those outside that
// adds most to what both have alone: how much more, what it gains, and its place. Each is replaced where one is
// better. `left` is what is left of the variances outside, `own` what each of them has alone; where that is infinite,
// it is no partner.
struct Partners {
  double* more;
  double* gain;
  std::int64_t* place;
};
void best_partners(const double* rows, const double* variance, const double* D, std::int64_t n_columns,
                   const double* left, const double* own, const Outside& outside, double collinear_tol,
                   std::int64_t first, const Partners& partners);

}  // namespace safdr
