#include "fits/logistic.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "aligned.hpp"
#include "fits/corrected_hessian.hpp"
#include "fits/cross_entropy.hpp"
#include "fits/linear_algebra.hpp"
#include "fits/pace.hpp"
#include "fits/plain_fit.hpp"
#include "fits/shortlist.hpp"
#include "parallel.hpp"
#include "simd/clones.hpp"

namespace safdr {
namespace {

// 1. Once the classes are known to be separated the fit goes on for its direction, until the loss is this small.
constexpr double kSeparatedEnough = 0.05;

// 2. A Hessian of elsewhere, corrected by the steps made with it, is good enough as long as each step halves the
//    decrement: a pass for the gradient alone costs a third (at 15 columns) to a fifth (at 30) of one with the Hessian.
//    Where it has failed so often the fit is a hard one, and a step need only lead down.
constexpr double kStaleShrink = 0.5, kHardShrink = 1.0;
constexpr int kMaxRefreshes = 3;
//    A Hessian summed in single precision is off by some 1e-6 of its diagonal: one or a few hundredths of the smallest
//    curvature, where the others leave each column this share of its own. A fit that need not be exact makes the same
//    steps with it.
constexpr double kWellConditioned = 1e-4;

// 3. A slow pace is a sign of separation (see pace.hpp) below this share of the loss without features.
constexpr double kSmallDecrement = 1.5e-3;
//    A last step needs no look, since half a decrement is what it gains, where that is this small. Farther off, one row
//    of huge values may turn a step to the worse.
constexpr double kNear = 1e-9;
//    Newton's last step leaves the square of next to nothing. One with a Hessian of elsewhere leaves what it shrinks
//    the decrement to: that may be this share of the tolerance.
constexpr double kStaleLeft = 1e-4;

// 4. A Hessian of elsewhere tells what is left where its step moves no row farther than this, and the one of here has
//    at least this share of its diagonal.
constexpr double kServingMove = 0.25, kServingShare = 0.25;
//    So many steps that should be the last, and move a row too far for that, are left to the plain path to judge.
constexpr int kMaxUntold = 2;

// 6. After so many steps the fit is a hard one too: of two steps each second then gets its own Hessian.
constexpr int kMaxStaleSteps = 10;
//    2^-30 of a step that does not lead down is rounding.
constexpr int kMaxHalvings = 30;

// Columns that differ by less than 1e-6 of their size count as collinear. So slopes of tame ones have no reason to be
// larger than this, and a place where they are is not one to go on from.
constexpr double kAstray = 1e8;

// With a penalty every fit arrives within so many steps, or rounding has stopped it.
constexpr int kMaxFreshSteps = 500;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

typedef CrossEntropy<double> Exact;
typedef CrossEntropy<float> Single;

SAFDR_CLONES Evaluation evaluate(Exact& f, const double* beta) { return f.evaluate(beta); }
SAFDR_CLONES Evaluation evaluate(Single& f, const double* beta) { return f.evaluate(beta); }
SAFDR_CLONES void sum_hessian(Exact& f) { f.sum_hessian(); }
SAFDR_CLONES void sum_hessian(Single& f) { f.sum_hessian(); }
SAFDR_CLONES void sum_hessian_roughly(Single& f) { f.sum_hessian_roughly(); }

SAFDR_CLONES StepReach reach(Exact& f, const double* step, double* diagonal) { return f.reach(step, diagonal); }
SAFDR_CLONES StepReach reach(Single& f, const double* step, double* diagonal) { return f.reach(step, diagonal); }

// The model's optimum for a subset S solves H_SS beta_S = (H b - g)_S: the right-hand side, of all columns.
std::vector<double> right_hand_side(const LocalModel& model) {
  const std::int64_t n = model.n_columns;
  std::vector<double> side(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    side[static_cast<std::size_t>(i)] = dot(model.hessian + i * n, model.coefficients, n) - model.gradient[i];
  }
  return side;
}

// A fit under way.
template <class Real>
class Fit {
  static constexpr bool kSingle = sizeof(Real) < sizeof(double);

 public:
  Fit(const Design& design, std::int64_t size, const FitOptions& options)
      : options_(options), design_(design), f_(design, size + 1), q_(f_.q), hessian_(q_, f_.stride), beta_(f_.stride),
        trial_(f_.stride), step_(f_.stride), before_(f_.stride), diagonal_(f_.stride) {
    const double share = f_.share();
    log_odds_ = std::log(share / (1.0 - share));
    null_loss_ = -share * std::log(share) - (1.0 - share) * std::log(1.0 - share);
  }

  // From the given coefficients, or the optimum of the model for these columns, which are at the given places in
  // it, and of which `side` is the right-hand side.
  void start(const std::int32_t* subset, const double* coefficients, const LocalModel* model,
             const std::int32_t* places, const std::vector<double>& side) {
    f_.take_columns(subset);
    subset_ = subset;
    hessian_.forget();
    if (model != nullptr) {
      take_model(*model, places, side);
      if (coefficients == nullptr) hessian_.solve(step_.data(), beta_.data());
    }
    if (coefficients != nullptr) std::copy_n(coefficients, q_, beta_.data());
    move_here(model == nullptr);
  }

  // Takes the fast way, and where anything about it is odd, the plain one.
  void run() {
    final_ = options_.exact;
    const Verdict verdict = hurry();
    if (verdict == Verdict::kDone) return;
    if (penalised()) {
      take_fresh_path();
    } else {
      take_plain_path(verdict == Verdict::kPlainFromHere);
    }
  }

  void report(const Fits& fits, std::int64_t index) const {
    std::copy_n(beta_.data(), q_, fits.coefficients + index * q_);
    fits.cross_entropy[index] = separated() ? 0.0 : now_.loss;
    fits.separated[index] = separated() || drifting_;
    fits.converged[index] = converged_ && final_ && !separated() && !drifting_;
    fits.left[index] = separated() ? 0.0 : left_;
    fits.n_iter[index] = n_iter_;
  }

 private:
  // Newton steps with whatever Hessian serves. The constants above have the numbers of the steps that need them.
  Verdict hurry() {
    previous_ = gain_ = kInfinity;
    newton_ = false;
    slow_steps_ = n_refreshes_ = n_untold_ = 0;
    for (n_iter_ = 0; !stopped(); ++n_iter_) {
      // 1. Every row on its own side proves separation.
      if (separated()) confirm_separation();
      if (separated() && now_.loss < kSeparatedEnough) return Verdict::kDone;
      // 2. Newton's step, with the Hessian at hand as long as it serves.
      const double decrement = find_step();
      // 3. Its pace tells what is left, and whether the fit is on its way to infinity, near its end, or hopeless.
      const bool ends = judge_pace(decrement);
      // 4. If it ends here, no row may move far.
      if (ends && separated()) return Verdict::kDone;
      if (ends) {
        const Verdict verdict = look_closely();
        if (verdict != Verdict::kGoOn) return verdict;
      }
      // 5. What the pace can't settle is left to the plain path.
      if (!separated() && (drifting_ || n_iter_ == options_.max_iter)) return Verdict::kPlainFromHere;
      if (n_iter_ == options_.max_iter) return Verdict::kDone;
      // 6. Otherwise the step is followed. Where none leads down, something is wrong with this place.
      if (!follow()) return separated() ? Verdict::kDone : Verdict::kPlainFromNothing;
    }
    return Verdict::kDone;
  }

  // The optimum is then finite, whatever the rows: none is on its way to infinity.
  bool penalised() const { return design_.penalty > kLeastPenalty; }
  bool separated() const { return now_.min_margin > 0.0 && !penalised(); }

  // Rounding may have made the sign of a margin: it is looked up in double precision.
  void confirm_separation() {
    if constexpr (kSingle) {
      if (!exact_) exact_.emplace(design_, q_);
      exact_->take_columns(subset_);
      now_.min_margin = std::min(now_.min_margin, evaluate(*exact_, beta_.data()).min_margin);
    }
  }

  // Returns the squared decrement of the step.
  double find_step() {
    const double decrement = newton_step();
    const double most = (n_refreshes_ >= kMaxRefreshes ? kHardShrink : kStaleShrink) * previous_;
    // The loss can't fall below zero: a step that promises so much is not worth a try.
    if (fresh_ || !(decrement > most || 0.5 * decrement > now_.loss)) return decrement;
    refresh_here();
    return newton_step();
  }

  // Whether the fit should end here.
  bool judge_pace(double decrement) {
    near_end_ = decrement < kSmallDecrement * null_loss_;
    const bool slow = decrement > kLeastSlow * previous_ && decrement < kMostSlow * previous_;
    // Steps with a Hessian of elsewhere, and halved ones, tell nothing.
    slow_steps_ = newton_ && fresh_ && near_end_ && slow ? slow_steps_ + 1 : 0;
    drifting_ = slow_steps_ >= kSlowSteps && !penalised();
    const double shrink = previous_ < kInfinity ? decrement / previous_ : 1.0;
    // What a step would leave, in units in which Newton's may leave tol.
    const double after = fresh_ ? decrement : decrement * shrink / kStaleLeft;
    previous_ = decrement;
    left_ = 0.5 * decrement;
    // Both: a decrement may fall from 1e12 to 10 at once.
    const bool small_enough = left_ <= std::max(options_.tol, kNear) * null_loss_;
    converged_ = small_enough && 0.5 * after <= options_.tol * null_loss_;
    // Where the classes are separated nobody is better.
    return converged_ || (!separated() && hopeless({now_.loss, left_, null_loss_, shrink, gain_}, options_.incumbent));
  }

  // A step with the Hessian of here tells whether the fit ends here. If not, it is followed.
  Verdict look_closely() {
    if (kSingle && !fresh_ && still_serves()) return Verdict::kDone;
    if (!fresh_) {
      refresh_here();
      left_ = 0.5 * (previous_ = newton_step());
    }
    // Where nothing bends in some direction, either columns are collinear or rows are on their way to infinity.
    if (!(hessian_.smallest_share() > 0.0)) return Verdict::kPlainFromNothing;
    const StepReach reached = reach(f_, step_.data(), nullptr);
    const bool last = left_ <= options_.tol * null_loss_;
    if (options_.exact) {
      if (reached.largest <= kSteady) return settle();
      return last ? Verdict::kPlainFromHere : Verdict::kGoOn;
    }
    const bool telling = reached.largest <= kTelling || (kSingle && reached.excess <= kRoughExcess);
    if (telling && left_ <= kLittleLeft * null_loss_) return Verdict::kDone;
    return last && ++n_untold_ > kMaxUntold ? Verdict::kPlainFromHere : Verdict::kGoOn;
  }

  // Whether the step, with a Hessian of elsewhere, tells as much as one with that of here: no row moves far, and no
  // column has lost the curvature that it had there, as it does once a row of a huge value has let go.
  bool still_serves() {
    const StepReach reached = reach(f_, step_.data(), diagonal_.data());
    if (!(hessian_.smallest_share() > 0.0) || !(reached.largest <= kServingMove)) return false;
    for (std::int64_t j = 0; j < q_; ++j) {
      if (!(diagonal_.data()[j] >= kServingShare * hessian_.diagonal()[j])) return false;
    }
    return true;
  }

  // The last step.
  Verdict settle() {
    for (std::int64_t i = 0; i < q_; ++i) beta_.data()[i] -= step_.data()[i];
    now_.loss -= left_;
    left_ = 0.0;
    converged_ = true;
    return Verdict::kDone;
  }

  // Steps with a corrected Hessian do not show that there is no optimum. So near the end of a hard fit that is to be
  // exact each step gets a Hessian of its own; elsewhere on the way of a hard fit each second one does.
  bool follow() {
    const bool ending = near_end_ && options_.exact;
    const bool hard = n_refreshes_ >= (ending ? kMaxRefreshes - 1 : kMaxRefreshes) || n_iter_ >= kMaxStaleSteps;
    const bool fresh = fresh_;
    const double loss = now_.loss, fraction = descend(hard && (ending || !fresh));
    if (fraction > 0.0) {
      newton_ = fresh && fraction == 1.0;
      gain_ = (loss - now_.loss) / left_;
      return true;
    }
    if (fresh) return false;
    refresh_here();
    previous_ = kInfinity;
    return true;
  }

  // Follows the step. A fresh one is halved until the loss does not rise; a stale one is followed as it is,
  // or not at all. Returns what part of it was followed.
  double descend(bool with_hessian) {
    std::copy_n(f_.gradient.data(), q_, before_.data());
    double fraction = 1.0;
    for (int halving = 0; halving <= (fresh_ ? kMaxHalvings : 0); ++halving, fraction *= 0.5) {
      for (std::int64_t i = 0; i < q_; ++i) trial_.data()[i] = beta_.data()[i] - fraction * step_.data()[i];
      const Evaluation next = evaluate(f_, trial_.data());
      if (!(next.loss <= now_.loss)) continue;
      if (!with_hessian) hessian_.correct(beta_.data(), trial_.data(), before_.data(), f_.gradient.data());
      std::copy_n(trial_.data(), q_, beta_.data());
      f_.keep();
      now_ = next;
      fresh_ = false;
      if (with_hessian) refresh();
      return fraction;
    }
    std::copy_n(before_.data(), q_, f_.gradient.data());
    return 0.0;
  }

  double newton_step() { return hessian_.solve(f_.gradient.data(), step_.data()); }

  // The Hessian of here, where the gradient is known already.
  void refresh() {
    if constexpr (kSingle) {
      if (hessian_.smallest_share() > kWellConditioned) {
        sum_hessian_roughly(f_);
      } else {
        sum_hessian(f_);
      }
    } else {
      sum_hessian(f_);
    }
    std::copy_n(f_.H.data(), f_.stride * f_.stride, hessian_.matrix());
    hessian_.factorise();
    fresh_ = true;
  }

  // The same where that of elsewhere has failed. The next decrement can't be compared with the one before.
  void refresh_here() {
    refresh();
    ++n_refreshes_;
    newton_ = false;
  }

  // The model's Hessian for these columns, and their part of its right-hand side (to step_).
  void take_model(const LocalModel& model, const std::int32_t* places, const std::vector<double>& side) {
    const auto place = [&](std::int64_t i) { return i + 1 < q_ ? places[i] : model.n_columns - 1; };
    for (std::int64_t j = 0; j < q_; ++j) {
      const double* row = model.hessian + place(j) * model.n_columns;
      for (std::int64_t i = j; i < q_; ++i) hessian_.matrix()[j * f_.stride + i] = row[place(i)];
      step_.data()[j] = side[static_cast<std::size_t>(place(j))];
    }
    hessian_.factorise();
  }

  void move_here(bool with_hessian) {
    converged_ = drifting_ = fresh_ = false;
    left_ = 0.0;
    now_ = evaluate(f_, beta_.data());
    if (!(now_.loss <= null_loss_)) {
      // Worse than no features at all: not a start.
      start_from_nothing();
      return;
    }
    f_.keep();
    if (with_hessian) refresh();
  }

  void start_from_nothing() {
    std::fill_n(beta_.data(), q_, 0.0);
    beta_.data()[q_ - 1] = log_odds_;
    now_ = evaluate(f_, beta_.data());
    f_.keep();
    refresh();
  }

  // Newton's method from the model without features, with the Hessian of each place. With a penalty it arrives.
  void take_fresh_path() {
    start_from_nothing();
    converged_ = false;
    for (std::int64_t step = 0; step < kMaxFreshSteps && !stopped(); ++step, ++n_iter_) {
      left_ = 0.5 * newton_step();
      if (left_ <= options_.tol * null_loss_ && reach(f_, step_.data(), nullptr).largest <= kSteady) {
        settle();
        return;
      }
      if (descend(true) == 0.0) break;
    }
    // Rounding stopped it.
    converged_ = left_ <= kNear * null_loss_;
  }

  // Whether rounding has made a step along a direction of next to no curvature.
  bool astray() const {
    const auto far = [](double b) { return !(std::abs(b) <= kAstray); };
    return !any_wild(design_.wild, subset_, q_ - 1) && std::any_of(beta_.data(), beta_.data() + q_, far);
  }

  void take_plain_path(bool from_here) {
    if (!plain_) {
      codes_.assign(design_.y, design_.y + design_.n_rows);
      plain_.emplace(ClassDesign{design_.Z, design_.n_rows, design_.n_columns, 2, codes_.data(), design_.weight,
                                 design_.wild, 0.0},
                     q_ - 1);
    }
    const std::vector<double> zeros(static_cast<std::size_t>(q_));
    PlainFit::Start here;
    if (from_here && !astray()) here = [&](std::int64_t c) { return c == 1 ? beta_.data() : zeros.data(); };
    plain_->run(subset_, here, options_.max_iter);
    const double *negative = plain_->coefficients(0), *positive = plain_->coefficients(1);
    std::transform(positive, positive + q_, negative, beta_.data(), std::minus<>());
    now_ = {plain_->loss, plain_->loss == 0.0 ? kInfinity : -kInfinity};
    drifting_ = plain_->separated;
    converged_ = plain_->converged;
    final_ = true;
    // Where rounding stopped it, nobody knows what is left: it may still be the best.
    left_ = converged_ || drifting_ ? 0.0 : kInfinity;
    n_iter_ += plain_->n_iter;
  }

  const FitOptions& options_;
  const Design& design_;
  CrossEntropy<Real> f_;
  std::optional<Exact> exact_;  // made when it is needed
  const std::int64_t q_;
  CorrectedHessian hessian_;
  AlignedBuffer<double> beta_, trial_, step_, before_;  // before_: the gradient before a step
  AlignedBuffer<double> diagonal_;                      // of the Hessian here
  double log_odds_, null_loss_;
  const std::int32_t* subset_ = nullptr;
  std::vector<std::int32_t> codes_;  // both made when they are needed
  std::optional<PlainFit> plain_;

  // Where the fit is.
  Evaluation now_{};
  double left_ = 0.0;   // to lose, by estimate
  bool fresh_ = false;  // whether the Hessian is that of here
  bool converged_ = false, drifting_ = false;
  bool final_ = false;  // whether nothing is left to do about it
  std::int64_t n_iter_ = 0;

  // How it got there.
  double previous_ = kInfinity;  // decrement of the step before
  double gain_ = kInfinity;      // of the step before, in units of what it promised
  bool newton_ = false;          // whether that was a full step with the Hessian of its place
  bool near_end_ = false;
  int slow_steps_ = 0, n_refreshes_ = 0, n_untold_ = 0;
};

}  // namespace

void local_model(const Design& design, const std::int32_t* columns, std::int64_t n_columns, const double* coefficients,
                 double* gradient, double* hessian) {
  const auto expand = [&](auto& f, auto sum) {
    f.take_columns(columns);
    evaluate(f, coefficients);
    f.keep();
    sum(f);
    std::copy_n(f.gradient.data(), n_columns, gradient);
    for (std::int64_t i = 0; i < n_columns; ++i) {
      for (std::int64_t j = 0; j <= i; ++j) {
        hessian[i * n_columns + j] = hessian[j * n_columns + i] = f.H.data()[j * f.stride + i];
      }
    }
  };
  if (any_wild(design.wild, columns, n_columns - 1)) {
    Exact f(design, n_columns);
    expand(f, [](Exact& all) { sum_hessian(all); });
    return;
  }
  Single f(design, n_columns);
  expand(f, [&](Single& all) {
    sum_hessian_roughly(all);
    AlignedBuffer<double> L(all.stride * all.stride);
    std::copy_n(all.H.data(), all.stride * all.stride, L.data());
    // What nearly equal columns differ by would be lost in it, and fits that start from it would never see it.
    if (!(factorise(L.data(), n_columns, all.stride) > kWellConditioned)) sum_hessian(all);
  });
}

void fit_logistic(const Design& design, const std::int32_t* subsets, std::int64_t n_subsets, std::int64_t size,
                  const double* start, const LocalModel* model, const std::int32_t* places, const FitOptions& options,
                  const Fits& fits) {
  const std::vector<double> side = model == nullptr ? std::vector<double>() : right_hand_side(*model);
  FirstSeparated first_separated;
  run_tasks(n_subsets, options.n_threads, [&](auto next) {
    // Made when they are needed.
    std::optional<Fit<double>> exact;
    std::optional<Fit<float>> single;
    const auto fit_with = [&](auto& fit, std::int64_t i) {
      if (!fit) fit.emplace(design, size, options);
      fit->start(subsets + i * size, start == nullptr ? nullptr : start + i * (size + 1), model,
                 model == nullptr ? nullptr : places + i * size, side);
      fit->run();
      fit->report(fits, i);
    };
    for (std::int64_t i = next(); i >= 0 && !first_separated.before(i); i = next()) {
      if (options.exact || any_wild(design.wild, subsets + i * size, size)) {
        fit_with(exact, i);
      } else {
        fit_with(single, i);
      }
      if (options.best_only && fits.cross_entropy[i] == 0.0) first_separated.found(i);
    }
  });
}

}  // namespace safdr
