// Unpenalised logistic or softmax regression by Newton's method with a line search, from the model without features:
// the plain path that every other fit can fall back on. It is slow, and it arrives.
//
// The loss is convex. H is its Hessian, g its gradient, delta = H^-1 g Newton's step, u = Z delta what that moves the
// logits of each row by. A row's loss falls, by a move s, at least as slowly as its curvature fades, w (exp(-s) + s - 1),
// so that with e = max |u| < 1 (of several classes: the largest difference within a row) no more is left than
//
//     W (e + (1 - e) log(1 - e)),    about W e^2 / 2,    W: mean curvature.
//
// A small decrement g' delta alone tells nothing: one row of a huge value can hold a fit where all others have most
// to gain. But it gives itself away, since its own move is about one a step for as long as it does.
#pragma once

#include <cstdint>
#include <vector>

#include "aligned.hpp"
#include "multinomial.hpp"

namespace safdr {

// Newton's step of a fit that is at its optimum moves no logit farther than this: what is left is below 1e-7, and the
// step itself leaves the square of that. The second is for fits that need not be exact: below 1e-3 is left, and by
// estimate far less.
constexpr double kSteady = 1e-3, kNearby = 0.1;

class PlainFit {
 public:
  PlainFit(const ClassDesign& design, std::int64_t size);

  void run(const std::int32_t* subset, std::int64_t max_iter);

  // Coefficients of class c, intercept last; those of class 0 are zero.
  const double* coefficients(std::int64_t c) const { return theta_.data() + c * q_; }

  double loss = 0.0;       // mean cross-entropy; zero under complete separation
  bool separated = false;  // completely, or in part
  bool converged = false;  // false under separation, or where rounding stopped it
  std::int64_t n_iter = 0;

 private:
  // What a step does to the logits of rows, each less that of the row's own class.
  struct Moves {
    double live;     // the largest move of one that counts
    double slowest;  // of those on their way out the smallest; infinite if there are none
    double limit;    // how many such steps it takes until one that went out counts again
    bool all_gone;   // whether nothing is left of those on their way out
  };

  struct Place {
    double loss, slope;
  };

  void take_columns(const std::int32_t* subset);
  void take_null();
  bool evaluate();
  void sum_gradient();
  void sum_hessian();
  void solve();
  void solve_flat();
  void drop_rounding(const double* step);
  Moves moves() const;
  Place along(double fraction) const;
  double line_search(double largest) const;

  // Z theta' of all rows.
  void apply(const double* theta, std::vector<double>& out) const;
  // visit(columns of a block, its first row) for each of them.
  template <class Visit>
  void each_block(Visit visit) const;

  const ClassDesign design_;
  const std::int64_t q_, n_classes_, n_unknown_, stride_, n_padded_;
  std::vector<double> weight_, shares_;    // of rows, zero beyond the last; of classes
  std::vector<const double*> columns_;     // in the first block
  std::vector<double> theta_, step_;       // one row a class; those of class 0 are zero
  std::vector<double> logits_, move_;      // [class][row], and what a step takes from them
  std::vector<double> chance_, rest_;      // probabilities, and one less them, to the last digit
  AlignedBuffer<double> gradient_;         // of all classes but class 0
  AlignedBuffer<double> hessian_;          // its lower triangle by columns; then the Cholesky factor
  std::vector<double> bend_;               // the lower triangle again
  std::vector<std::int64_t> flat_;         // unknowns along which nothing bends, as far as can be told
};

}  // namespace safdr
