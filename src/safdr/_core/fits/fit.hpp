// Models of many small subsets of the same columns.
#pragma once

#include <cstdint>

#include "fits/columns.hpp"
#include "fits/family.hpp"
#include "fits/newton.hpp"

namespace safdr {

struct FitOptions {
  double penalty, tol;
  double incumbent;  // best loss so far
  bool best_only;    // whether fits that cannot be the best may end early
  bool separable;    // whether the penalty only keeps optima finite: separation is reported, losses are without it
  std::int64_t n_threads;
};

// One entry a subset; coefficients are [output][column], the intercept last.
struct Fits {
  double* coefficients;
  double* loss;
  bool* separated;
  bool* converged;
  double* left;  // optimality gap
  std::int64_t* n_iter;
};

// null_model: the intercepts without features. With best_only, subsets come in order of preference.
void fit_subsets(const Columns& columns, FamilyName family, const Target& target, const double* null_model,
                 const std::int32_t* subsets, std::int64_t n_subsets, std::int64_t size, const FitOptions& options,
                 const Fits& fits);

// The loss of one output near a model of some columns, whose intercept is last.
LocalModel second_order(const Columns& columns, FamilyName family, const Target& target, const std::int32_t* members,
                        std::int64_t n_members, const double* theta, double penalty);

}  // namespace safdr
