// Newton's step of a softmax model. Sums of products of the columns hold most unknowns to enough digits; the others,
// the weak ones, are solved for from the rows themselves (weak_directions.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "aligned.hpp"
#include "fits/subset_rows.hpp"
#include "fits/weighted_gram.hpp"

namespace safdr {

class NewtonStep {
 public:
  explicit NewtonStep(const SubsetRows& rows);

  // The rows have other columns now.
  void forget();
  void find(const Probabilities& now);

  // Whether there are columns that others stand for; known as soon as it matters.
  bool any_collinear() const { return !collinear_.empty(); }

  Direction step;
  double decrement = 0.0;       // the slope along the step at first, turned round
  std::vector<Direction> flat;  // see WeakStep

 private:
  void sum_gradient(const Probabilities& now);
  void sum_hessian(const Probabilities& now);
  void solve_for(const Probabilities& now);
  void factorise_without(std::vector<std::int64_t> unknowns);
  std::vector<std::int64_t> weak_unknowns() const;
  Direction direction_of(std::int64_t weak, const Probabilities& now);
  void add_weak(const std::vector<std::int64_t>& weak, const Probabilities& now);

  const SubsetRows& rows_;
  const std::int64_t n_unknown_, stride_;
  WeightedGram gram_;
  AlignedBuffer<double> gradient_, solution_;  // of all classes but class 0; the step without the weak unknowns
  std::vector<double> bend_;                   // the Hessian: its lower triangle by columns
  AlignedBuffer<double> factor_;               // the Cholesky factor of that
  std::vector<double> blocks_;                 // of the Hessian, one for each pair of classes
  std::vector<std::int64_t> collinear_;        // unknowns that others stand for
  bool collinear_known_ = false;
  std::vector<std::int64_t> gone_;  // unknowns that nothing bends, where rounding made their step
};

}  // namespace safdr
