// Unpenalised logistic or softmax regression by Newton's method with a line search: the plain path that every other fit
// can fall back on. It is slow, and it arrives.
//
// What is left can be told from Newton's step, by duality. Let u be what the step moves the logits of a row by, p its
// probabilities, v = u - (mean of u by p). With p (1 - v) in place of p the gradient is zero, so if these are
// probabilities, if no v exceeds 1, then no coefficients have a loss that is smaller by more than the mean over the rows
// of their divergence from p, which is at most the sum of p v^2: the Newton decrement. So a small decrement tells what is
// left if no v exceeds 1, and nothing otherwise: one row of a huge value can hold a fit where all others have most to
// gain. A row on its way to infinity has v = 1 for ever; what it has left to lose is in the sum.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "aligned.hpp"
#include "fits/multinomial.hpp"
#include "fits/weighted_gram.hpp"

namespace safdr {

// Newton's step of a fit that is at its optimum moves no logit farther than this: what is left is below 1e-6, and the
// step itself leaves the square of that. The second is for fits that need not be exact.
constexpr double kSteady = 1e-3, kNearby = 0.1;

// The largest v that tells what is left, with something for rounding. Where no column is uneven, some probability may be
// in excess: a gradient of that size, over the curvature of the smallest values (some 1e-7), could gain no more than its
// square. The last is for fits that need not be exact.
constexpr double kTelling = 1.0 + 1e-12, kExcess = 1e-9, kRoughExcess = 3e-7;

class PlainFit {
 public:
  PlainFit(const ClassDesign& design, std::int64_t size);

  // Gives the coefficients of a class where to start; none means the model without features.
  typedef std::function<const double*(std::int64_t)> Start;

  void run(const std::int32_t* subset, const Start& start, std::int64_t max_iter);

  // Coefficients of class c, intercept last; those of the most common class are zero.
  const double* coefficients(std::int64_t c) const { return theta_.data() + row_of(c) * q_; }

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

  // Class 0 and the most common one change places.
  std::int64_t row_of(std::int64_t c) const { return c == common_ ? 0 : c == 0 ? common_ : c; }

  void take_columns(const std::int32_t* subset);
  void take_null();
  bool evaluate();
  void sum_gradient();
  void sum_hessian();
  void solve();
  void find_collinear();
  void factorise_without(const std::vector<std::int64_t>& unknowns);
  std::vector<std::int64_t> weak_unknowns() const;
  std::vector<double> direction_of(std::int64_t weak);
  void solve_weak(const std::vector<std::int64_t>& weak);
  bool flat_directions_separate() const;
  Moves moves() const;
  Place along(double fraction) const;
  double line_search(double largest);

  // Z theta' of all rows; with several classes less that of the row's own.
  void apply(const double* theta, std::vector<double>& out) const;
  // out = sum over rows of residual(c, row) z, for all classes c but class 0.
  template <class Residual>
  void sum_rows(Residual residual, double* out) const;
  // visit(columns of a block, its first row) for each of them.
  template <class Visit>
  void each_block(Visit visit) const;

  const ClassDesign design_;
  const std::int64_t q_, n_classes_, n_unknown_, stride_, n_padded_;
  WeightedGram gram_;
  std::int64_t common_ = 0;
  std::vector<std::int64_t> codes_;      // the row of theta of each row's class
  std::vector<double> weight_, shares_;  // of rows, zero beyond the last; of classes
  std::vector<const double*> columns_;   // in the first block
  std::vector<double> theta_, step_;     // one row a class; those of class 0 are zero
  std::vector<double> logits_, move_;    // [class][row], and what a step takes from them
  std::vector<double> chance_, rest_;    // probabilities, and one less them, to the last digit
  std::vector<double> margin_, gain_;    // of two classes: of each row, and what a step adds
  AlignedBuffer<double> gradient_;       // of all classes but class 0
  double decrement_ = 0.0;               // the slope along the step at first, turned round
  std::vector<double> bend_;             // the Hessian: its lower triangle by columns
  AlignedBuffer<double> factor_;         // the Cholesky factor of that
  std::vector<double> blocks_;           // of the Hessian, one for each pair of classes
  std::vector<std::int64_t> collinear_;  // unknowns that others stand for
  bool collinear_known_ = false;
  std::vector<std::vector<double>> flat_;  // directions along which nothing bends, as far as can be told
};

}  // namespace safdr
