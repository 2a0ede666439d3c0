// Unpenalised logistic or softmax regression by Newton's method with a line search: the plain path that every other fit
// can fall back on. It is slow, and it arrives.
//
// What is left can be told from Newton's step, by duality. Let u be what the step moves the logits of a row by, p its
// probabilities, v = u - (mean of u by p). With p (1 - v) in place of p the gradient is zero, so if these are
// probabilities, if no v exceeds 1, then no coefficients have a loss that is smaller by more than the mean over the
// rows of their divergence from p, which is at most the sum of p v^2: the Newton decrement. So a small decrement tells
// what is left if no v exceeds 1, and nothing otherwise: one row of a huge value can hold a fit where all others have
// most to gain. A row on its way to infinity has v = 1 for ever; what it has left to lose is in the sum.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "fits/newton_step.hpp"
#include "fits/subset_rows.hpp"

namespace safdr {

// Newton's step of a fit that is at its optimum moves no logit farther than this: what is left is below 1e-6, and the
// step itself leaves the square of that. The second is for fits that need not be exact.
constexpr double kSteady = 1e-3, kNearby = 0.1;

// The largest v that tells what is left, with something for rounding. Where no column is uneven, some probability may
// be in excess: a gradient of that size, over the curvature of the smallest values (some 1e-7), could gain no more than
// its square. The last is for fits that need not be exact.
constexpr double kTelling = 1.0 + 1e-12, kExcess = 1e-9, kRoughExcess = 3e-7;

// Slopes of 1e6, which near copies may have, cost less than rounding where the penalty is no more than this: then the
// plain path, which knows none, has the optimum.
constexpr double kLeastPenalty = 1e-20;

class PlainFit {
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

 public:
  PlainFit(const ClassDesign& design, std::int64_t size);

  // Gives the coefficients of a class where to start; none means the model without features.
  typedef std::function<const double*(std::int64_t)> Start;

  void run(const std::int32_t* subset, const Start& start, std::int64_t max_iter);

  // Coefficients of class c, intercept last; those of the most common class are zero.
  const double* coefficients(std::int64_t c) const { return theta_.data() + rows_.row_of(c) * rows_.q; }

  double loss = 0.0;       // mean cross-entropy; zero under complete separation
  bool separated = false;  // completely, or in part
  bool converged = false;  // false under separation, or where rounding stopped it
  std::int64_t n_iter = 0;

 private:
  // What a step adds to the logit of a row's own class more than to that of another.
  struct Gains {
    double live;     // the largest of a class that counts, whatever its sign
    double slowest;  // of those on their way out the smallest; infinite if there are none
    double fastest;  // the largest of those
    double v;        // the same where anything is left of them
    double limit;    // how many such steps it takes until one that comes back counts again, or as much as those
    bool all_gone;   // whether nothing is left of those on their way out, nor of any that come back
    bool any_gone;   // whether one went out
    bool any_back;   // whether one that went out comes back
  };

  // What a descent has seen so far.
  struct Descent {
    Direction kept;  // the place before the step, and its loss
    double kept_loss = kInfinity;
    double live_before = kInfinity;  // Gains::live of the step before
    bool going = false;              // whether rows seem to be on their way out
    bool told = false;               // whether next to nothing is left
    bool sent = false;               // whether the step before sent them there
    bool held = false;               // whether that was too far once
    int waited = 0;                  // steps that were made to see whether they come to rest
  };

  struct Place {
    double loss, slope;
  };

  void descend(const std::int32_t* subset, const Start& start, std::int64_t max_iter);
  void begin(const std::int32_t* subset, const Start& start);
  bool turn_back(Descent& way);
  void end_by_rounding(const Descent& way);
  bool judge(const Gains& gain, bool stuck, Descent& way);
  double length_of_step(const Gains& gain, bool leaving, Descent& way);
  void follow(double fraction);
  void take_null();
  bool evaluate();
  Gains gains() const;
  Place along(double fraction) const;
  double line_search(double largest);

  bool certain_ = false;  // whether it is no guess where rounding stopped it that the fit converged or is separated
  SubsetRows rows_;
  NewtonStep newton_;
  Direction theta_;
  std::vector<double> logits_, move_;  // [class][row], and what a step takes from them
  Probabilities now_;
  std::vector<double> margin_, gain_;  // of two classes: of each row, and what a step adds
};

}  // namespace safdr
