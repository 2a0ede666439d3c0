// Penalised models of subsets by Newton's method, with a bound on the optimality gap.
//
// The loss is a family's mean loss of eta = Z theta plus half the penalty times the squared slopes; intercepts are not
// penalised. Newton's equations H step = gradient are solved by conjugate gradients. The preconditioner is one Cholesky
// factor an output, of Z' diag(curvature) Z + penalty: the Hessian itself where W is diagonal.
//
// A step that lowers eta by u with reach(u) <= 1 bounds the gap by duality: with residual = gradient - H step, of
// which the intercepts have none, the loss can fall by no more than gradient'step + |residual|^2 / (2 penalty).
#pragma once

#include <cstdint>
#include <vector>

#include "aligned.hpp"
#include "fits/columns.hpp"
#include "fits/family.hpp"
#include "fits/gram.hpp"
#include "fits/passes.hpp"

namespace safdr {

struct NewtonOptions {
  double penalty;          // positive
  double tol;              // optimality gap, as a share of the loss without features
  std::int64_t max_steps;  // of Newton
  bool separable;          // whether a fit ends once it classifies every row correctly
};

struct NewtonResult {
  double loss;        // with the penalty
  double left;        // bound on the optimality gap; infinity if none is known
  double of_penalty;  // part of the loss
  std::int64_t n_steps, n_products;
  bool converged, separated;
};

// The loss near a model of some columns, to second order; of the Hessian the block of each output with itself.
struct LocalModel {
  std::int64_t q, stride;
  std::vector<double> hessian;  // [output][column][row], lower triangles
  std::vector<double> target;   // Hessian times coefficients, less the gradient
};

class Newton {
 public:
  Newton(const Columns& columns, Family& family, std::int64_t size, const NewtonOptions& options);

  // Start from the model without slopes, or near a model that has the subset's columns at these places.
  void start(const std::int32_t* subset, const double* null_model);
  void start_near(const std::int32_t* subset, const double* null_model, const LocalModel& model,
                  const std::int32_t* places);
  NewtonResult run(double null_loss, double incumbent);
  // Returns true if some direction has curvature only in rows of negligible curvature: these rows are separated.
  bool loses_direction();
  void take(const std::int32_t* subset) { columns_.take(subset); }
  LocalModel local_model(const double* theta);

  double* theta() { return theta_.data(); }
  std::int64_t stride() const { return columns_.stride; }

 private:
  double evaluate(const double* theta, double* eta, double* gradient, bool at_new_eta);
  void take_null();
  void factorise();
  double precondition();
  void multiply(const double* direction, bool intercepts_alone);
  double solve(NewtonResult& result);
  double decrement();
  bool settles(const NewtonResult& result, double left) const;
  double slack() const;
  void solve_intercepts();
  bool move(NewtonResult& result, AlignedBuffer<double>& theta, double promised, bool at_new_eta);
  bool follow(NewtonResult& result);
  bool follow_roughly(NewtonResult& result, double promised);
  void settle(NewtonResult& result);
  void write_penalised(const double* theta, double* out);
  double squared_slopes(const double* theta) const;

  SubsetColumns columns_;
  Family& family_;
  const NewtonOptions options_;
  const std::int64_t m_, length_, n_rows_;  // outputs; coefficients, filled up; rows of all outputs
  std::vector<double> null_;
  double enough_ = 0.0, incumbent_ = 0.0;
  bool has_factors_ = false, own_ = false;  // whether there are factors, and those of here
  Gram gram_;
  Gather gather_;
  AlignedBuffer<double> theta_, step_, gradient_, trial_gradient_, residual_, scaled_, direction_, product_, factors_;
  AlignedBuffer<double> eta_, trial_eta_, moved_, u_, bent_;
};

}  // namespace safdr
