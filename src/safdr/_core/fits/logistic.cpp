#include "fits/logistic.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "aligned.hpp"
#include "fits/cholesky.hpp"
#include "fits/cross_entropy.hpp"
#include "fits/plain_fit.hpp"
#include "parallel.hpp"
#include "simd/clones.hpp"

namespace safdr {
namespace {

// Newton's method converges quadratically towards a finite optimum; on the way to infinity, where a
// direction separates the classes in part, each step divides what is left by e. A decrement that is small
// already (relative to the loss without features) and yet shrinks by about 1/e = 0.37, so many times in a
// row, is a sign of separation, and the plain path judges. Larger ratios, and rising decrements, are the way of fits
// that outliers make hard.
constexpr double kLeastSlow = 0.3, kMostSlow = 0.45, kSmallDecrement = 1.5e-3;
constexpr int kSlowSteps = 4;

// A Hessian of elsewhere, corrected by the steps made with it, is good enough as long as each step halves the
// decrement: a pass for the gradient alone costs a third (at 15 columns) to a fifth (at 30) of one with the
// Hessian. When it has failed so often, or made so many steps, the fit is a hard one: of two steps each second
// then gets its own, as long as they lead down. Only near the end of a fit that is to be exact each one does:
// steps with a corrected Hessian do not show that there is no optimum.
constexpr double kStaleShrink = 0.5, kHardShrink = 1.0;
constexpr int kMaxRefreshes = 3, kMaxStaleSteps = 10;

// Where a last step needs no look: half a decrement is what it gains. Farther off, one row of huge values may
// turn a step to the worse.
constexpr double kNear = 1e-9;

// What a last step with such a Hessian may leave, against the square of next to nothing that Newton's does.
constexpr double kStaleLeft = 1e-4;

// A fit that is worse than a rival by so many times what it has left is given up, where that is small against
// the loss without features, the last step divided it by five or more, and gained about what it promised. One
// that gains more has met less curvature than it was made for: so do those on the plateaus of heavy-tailed
// data, where a row of huge values hides what is left until the steps have freed the others of it.
constexpr double kHopeless = 1e3, kPlainDecrement = 1e-4, kPlainShrink = 0.2, kPlainGain = 1.2;

// Once the classes are known to be separated the fit goes on until little is left, for its direction.
constexpr double kSeparatedEnough = 0.05;

// A Hessian summed in single precision is off by some 1e-6 of its diagonal: one or a few hundredths of the
// smallest curvature, where the others leave each column this share of its own. A fit that need not be exact
// makes the same steps with it.
constexpr double kWellConditioned = 1e-4;

// A Hessian of elsewhere tells what is left where its step moves no row farther than this, and the one of here has at
// least this share of its diagonal.
constexpr double kServingMove = 0.25, kServingShare = 0.25;

// So many steps that should be the last, and move a row too far for that, are left to the plain path to judge.
constexpr int kMaxUntold = 2;

constexpr int kMaxHalvings = 30;

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

SAFDR_CLONES double dot(const double* a, const double* b, std::int64_t n) {
  double sum = 0.0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

SAFDR_CLONES double factorise(double* L, std::int64_t q, std::int64_t stride) {
  return Cholesky::factorise(L, q, stride);
}
SAFDR_CLONES void solve(const double* L, std::int64_t q, std::int64_t stride, const double* in, double* out) {
  Cholesky::solve(L, q, stride, in, out);
}

// The model's optimum for a subset S solves H_SS beta_S = (H b - g)_S: the right-hand side, of all columns.
std::vector<double> right_hand_side(const LocalModel& model) {
  const std::int64_t n = model.n_columns;
  std::vector<double> side(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    side[static_cast<std::size_t>(i)] = dot(model.hessian + i * n, model.coefficients, n) - model.gradient[i];
  }
  return side;
}

// A fit under way. L is the Cholesky factor of the Hessian here, or of one that is near enough.
template <class Real>
class Fit {
  static constexpr bool kSingle = sizeof(Real) < sizeof(double);

 public:
  Fit(const Design& design, std::int64_t size, const FitOptions& options)
      : options_(options), design_(design), f_(design, size + 1), q_(f_.q), L_(f_.stride * f_.stride), beta_(f_.stride),
        trial_(f_.stride), step_(f_.stride), before_(f_.stride), scratch_(f_.stride), diagonal_(f_.stride),
        its_diagonal_(f_.stride) {
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
    smallest_ = 0.0;
    if (model != nullptr) {
      const auto place = [&](std::int64_t i) { return i + 1 < q_ ? places[i] : model->n_columns - 1; };
      for (std::int64_t j = 0; j < q_; ++j) {
        const double* row = model->hessian + place(j) * model->n_columns;
        for (std::int64_t i = j; i < q_; ++i) L_.data()[j * f_.stride + i] = row[place(i)];
        step_.data()[j] = side[static_cast<std::size_t>(place(j))];
      }
      keep_diagonal();
      smallest_ = factorise(L_.data(), q_, f_.stride);
      if (coefficients == nullptr) solve(L_.data(), q_, f_.stride, step_.data(), beta_.data());
    }
    if (coefficients != nullptr) std::copy_n(coefficients, q_, beta_.data());
    move_here(model == nullptr);
  }

  // Takes the fast way, and where anything about it is odd, the plain one.
  void run() {
    final_ = options_.exact;
    from_here_ = false;
    if (!hurry()) take_plain_path();
  }

  void report(const Fits& fits, std::int64_t index) const {
    const bool certain = now_.min_margin > 0.0;
    std::copy_n(beta_.data(), q_, fits.coefficients + index * q_);
    fits.cross_entropy[index] = certain ? 0.0 : now_.loss;
    fits.separated[index] = certain || drifting_;
    fits.converged[index] = converged_ && final_ && !certain && !drifting_;
    fits.left[index] = certain ? 0.0 : left_;
    fits.n_iter[index] = n_iter_;
  }

 private:
  // Newton steps with whatever Hessian serves. False where they end neither at an optimum (or near enough) nor with all
  // rows on their own side.
  bool hurry() {
    double previous = kInfinity;
    bool newton = false;  // whether the last step was one with the Hessian of its place
    int slow_steps = 0, n_refreshes = 0, n_untold = 0;
    gain_ = kInfinity;
    for (n_iter_ = 0; !stopped(); ++n_iter_) {
      // Every row on its own side proves separation.
      if (now_.min_margin > 0.0) confirm_separation();
      if (now_.min_margin > 0.0 && now_.loss < kSeparatedEnough) return true;
      double decrement = newton_step();
      const double most = (n_refreshes >= kMaxRefreshes ? kHardShrink : kStaleShrink) * previous;
      // The loss can't fall below zero: a step that promises so much is not worth a try.
      if (!fresh_ && (decrement > most || 0.5 * decrement > now_.loss)) {
        refresh();
        ++n_refreshes;
        newton = false;
        decrement = newton_step();
      }
      const bool small = decrement < kSmallDecrement * null_loss_;
      const bool slow = decrement > kLeastSlow * previous && decrement < kMostSlow * previous;
      // Steps with a Hessian of elsewhere, and halved ones, tell nothing.
      slow_steps = newton && fresh_ && small && slow ? slow_steps + 1 : 0;
      drifting_ = slow_steps >= kSlowSteps;
      const double shrink = previous < kInfinity ? decrement / previous : 1.0;
      // What a step would leave, in units in which Newton's may leave tol.
      const double after = fresh_ ? decrement : decrement * shrink / kStaleLeft;
      previous = decrement;
      left_ = 0.5 * decrement;
      // Both: a decrement may fall from 1e12 to 10 at once.
      const bool small_enough = left_ <= std::max(options_.tol, kNear) * null_loss_;
      converged_ = small_enough && 0.5 * after <= options_.tol * null_loss_;
      const bool hopeless = plain(shrink) && now_.loss - kHopeless * left_ > options_.rival;
      if (now_.min_margin > 0.0) {
        if (converged_) return true;
      } else if (converged_ || hopeless) {
        // A step with the Hessian of here tells whether that is so. If not, it is followed.
        if (kSingle && !fresh_ && still_serves()) return true;
        if (!fresh_) {
          refresh();
          ++n_refreshes;
          newton = false;
          left_ = 0.5 * (previous = newton_step());
        }
        // Where nothing bends in some direction, either columns are collinear or rows are on their way to infinity.
        if (!(smallest_ > 0.0)) return false;
        const StepReach reached = reach(f_, step_.data(), nullptr);
        if (options_.exact && reached.largest <= kSteady) return settle();
        const bool telling = reached.largest <= kTelling || (kSingle && reached.excess <= kRoughExcess);
        if (!options_.exact && telling && left_ <= kPlainDecrement * null_loss_) return true;
        const bool last = left_ <= options_.tol * null_loss_;
        if (last && (options_.exact || ++n_untold > kMaxUntold)) return hand_over();
      }
      if (drifting_ && !(now_.min_margin > 0.0)) return hand_over();
      if (n_iter_ == options_.max_iter) return now_.min_margin > 0.0 || hand_over();
      const bool ending = small && options_.exact;
      const bool hard = n_refreshes >= (ending ? kMaxRefreshes - 1 : kMaxRefreshes) || n_iter_ >= kMaxStaleSteps;
      newton = fresh_;
      const double before = now_.loss;
      if (descend(hard && (ending || !fresh_))) {
        newton = newton && full_step_;
        gain_ = (before - now_.loss) / left_;
        continue;
      }
      if (fresh_) return now_.min_margin > 0.0;
      refresh();
      ++n_refreshes;
      previous = kInfinity;
    }
    return true;
  }

  // Whether the step, with a Hessian of elsewhere, tells as much as one with that of here: no row moves far, and no column
  // has lost the curvature that it had there, as it does once a row of a huge value has let go.
  bool still_serves() {
    const StepReach reached = reach(f_, step_.data(), diagonal_.data());
    if (!(smallest_ > 0.0) || !(reached.largest <= kServingMove)) return false;
    for (std::int64_t j = 0; j < q_; ++j) {
      if (!(diagonal_.data()[j] >= kServingShare * its_diagonal_.data()[j])) return false;
    }
    return true;
  }

  // The last step.
  bool settle() {
    for (std::int64_t i = 0; i < q_; ++i) beta_.data()[i] -= step_.data()[i];
    now_.loss -= left_;
    left_ = 0.0;
    converged_ = true;
    return true;
  }

  // To the plain path, from here.
  bool hand_over() {
    from_here_ = true;
    return false;
  }

  void take_plain_path() {
    if (!plain_) {
      codes_.assign(design_.y, design_.y + design_.n_rows);
      plain_.emplace(
          ClassDesign{design_.Z, design_.n_rows, design_.n_columns, 2, codes_.data(), design_.weight, design_.wild},
          q_ - 1);
    }
    const std::vector<double> zeros(static_cast<std::size_t>(q_));
    PlainFit::Start here;
    if (from_here_) here = [&](std::int64_t c) { return c == 1 ? beta_.data() : zeros.data(); };
    plain_->run(subset_, here, options_.max_iter);
    const double *negative = plain_->coefficients(0), *positive = plain_->coefficients(1);
    std::transform(positive, positive + q_, negative, beta_.data(), std::minus<>());
    now_ = {plain_->loss, plain_->loss == 0.0 ? kInfinity : -kInfinity};
    drifting_ = plain_->separated;
    converged_ = plain_->converged;
    final_ = true;
    left_ = 0.0;
    n_iter_ += plain_->n_iter;
  }

  // Whether what is left can be told from the last step, which multiplied the decrement by `shrink`.
  bool plain(double shrink) const {
    return left_ <= kPlainDecrement * null_loss_ && shrink < kPlainShrink && gain_ < kPlainGain;
  }

  // Rounding may have made the sign of a margin: it is looked up in double precision.
  void confirm_separation() {
    if constexpr (kSingle) {
      if (!exact_) exact_.emplace(design_, q_);
      exact_->take_columns(subset_);
      now_.min_margin = std::min(now_.min_margin, evaluate(*exact_, beta_.data()).min_margin);
    }
  }

  // The Hessian of here, where the gradient is known already.
  void refresh() {
    if constexpr (kSingle) {
      if (smallest_ > kWellConditioned) {
        sum_hessian_roughly(f_);
      } else {
        sum_hessian(f_);
      }
    } else {
      sum_hessian(f_);
    }
    std::copy_n(f_.H.data(), f_.stride * f_.stride, L_.data());
    keep_diagonal();
    smallest_ = factorise(L_.data(), q_, f_.stride);
    n_pairs_ = 0;
    fresh_ = true;
  }

  void keep_diagonal() {
    for (std::int64_t j = 0; j < q_; ++j) its_diagonal_.data()[j] = L_.data()[j * (f_.stride + 1)];
  }

  void move_here(bool with_hessian) {
    converged_ = drifting_ = fresh_ = false;
    left_ = 0.0;
    n_pairs_ = 0;
    now_ = evaluate(f_, beta_.data());
    if (!(now_.loss <= null_loss_)) {
      // Worse than no features at all: not a start.
      std::fill_n(beta_.data(), q_, 0.0);
      beta_.data()[q_ - 1] = log_odds_;
      with_hessian = true;
      now_ = evaluate(f_, beta_.data());
    }
    f_.keep();
    if (with_hessian) refresh();
  }

  // Follows the step. A fresh one is halved until the loss does not rise; a stale one is followed as it is,
  // or not at all. False where that can't be done.
  bool descend(bool with_hessian) {
    std::copy_n(f_.gradient.data(), q_, before_.data());
    double fraction = 1.0;
    for (int halving = 0; halving <= (fresh_ ? kMaxHalvings : 0); ++halving, fraction *= 0.5) {
      for (std::int64_t i = 0; i < q_; ++i) trial_.data()[i] = beta_.data()[i] - fraction * step_.data()[i];
      const Evaluation next = evaluate(f_, trial_.data());
      if (!(next.loss <= now_.loss)) continue;
      full_step_ = halving == 0;
      if (!with_hessian) remember();
      std::copy_n(trial_.data(), q_, beta_.data());
      f_.keep();
      now_ = next;
      fresh_ = false;
      if (with_hessian) refresh();
      return true;
    }
    std::copy_n(before_.data(), q_, f_.gradient.data());
    return false;
  }

  // step = H^-1 gradient, where the Hessian at hand is corrected by what the last steps have shown (BFGS, two
  // loops over the pairs); returns the squared Newton decrement gradient' step.
  double newton_step() {
    const double* gradient = f_.gradient.data();
    double *v = scratch_.data(), *step = step_.data();
    std::copy_n(gradient, q_, v);
    for (std::size_t n = n_pairs_; n-- > 0;) {
      Pair& pair = pairs_[n];
      pair.alpha = dot(pair.move.data(), v, q_) / pair.curvature;
      for (std::int64_t i = 0; i < q_; ++i) v[i] -= pair.alpha * pair.change.data()[i];
    }
    solve(L_.data(), q_, f_.stride, v, step);
    for (std::size_t n = 0; n < n_pairs_; ++n) {
      const Pair& pair = pairs_[n];
      const double rest = pair.alpha - dot(pair.change.data(), step, q_) / pair.curvature;
      for (std::int64_t i = 0; i < q_; ++i) step[i] += rest * pair.move.data()[i];
    }
    return dot(gradient, step, q_);
  }

  // A step that was made, and how it changed the gradient.
  struct Pair {
    explicit Pair(std::int64_t q) : move(q), change(q) {}
    AlignedBuffer<double> move, change;
    double curvature = 0.0, alpha = 0.0;
  };

  // Remembers the step from beta to trial, while before_ holds the gradient at beta.
  void remember() {
    if (n_pairs_ == pairs_.size()) pairs_.emplace_back(q_);
    Pair& pair = pairs_[n_pairs_];
    for (std::int64_t i = 0; i < q_; ++i) {
      pair.move.data()[i] = trial_.data()[i] - beta_.data()[i];
      pair.change.data()[i] = f_.gradient.data()[i] - before_.data()[i];
    }
    pair.curvature = dot(pair.move.data(), pair.change.data(), q_);
    if (pair.curvature > 0.0) ++n_pairs_;
  }

  const FitOptions& options_;
  const Design& design_;
  CrossEntropy<Real> f_;
  std::optional<Exact> exact_;  // made when it is needed
  const std::int64_t q_;
  AlignedBuffer<double> L_, beta_, trial_, step_, before_, scratch_;
  AlignedBuffer<double> diagonal_, its_diagonal_;  // of the Hessian here, and of the one that L_ is the factor of
  std::deque<Pair> pairs_;                         // the first n_pairs_ since the Hessian at hand was taken
  std::size_t n_pairs_ = 0;
  double log_odds_, null_loss_, left_ = 0.0;
  double gain_ = 0.0;      // of the last step, in units of what it promised
  double smallest_ = 0.0;  // share of its curvature that the others leave a column, by the last Hessian
  Evaluation now_{};
  const std::int32_t* subset_ = nullptr;
  std::vector<std::int32_t> codes_;  // both made when they are needed
  std::optional<PlainFit> plain_;
  bool fresh_ = false, converged_ = false, drifting_ = false, full_step_ = false;
  bool from_here_ = false;  // where the plain path starts
  bool final_ = false;      // whether nothing is left to do about it
  std::int64_t n_iter_ = 0;
};

void fit_each(const Design& design, const std::int32_t* subsets, std::int64_t n_subsets, std::int64_t size,
              const double* start, const LocalModel* model, const std::int32_t* places, const FitOptions& options,
              const Fits& fits) {
  const std::vector<double> side = model == nullptr ? std::vector<double>() : right_hand_side(*model);
  Contest contest;
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
    for (std::int64_t i = next(); i >= 0 && !contest.over_before(i); i = next()) {
      if (options.exact || any_wild(design.wild, subsets + i * size, size)) {
        fit_with(exact, i);
      } else {
        fit_with(single, i);
      }
      if (options.contest && fits.cross_entropy[i] == 0.0) contest.end(i);
    }
  });
}

}  // namespace

void standardise(const double* X, std::int64_t row_stride, std::int64_t column_stride, std::int64_t n_rows,
                 const double* center, const double* scale, const std::int32_t* columns, std::int64_t n_columns,
                 double* Z) {
  for (std::int64_t start = 0; start < n_rows; start += kBlock, Z += (n_columns + 1) * kBlock) {
    const std::int64_t n_here = std::min(kBlock, n_rows - start);
    std::fill_n(Z, (n_columns + 1) * kBlock, 0.0);
    for (std::int64_t j = 0; j < n_columns; ++j) {
      const std::int64_t column = columns[j];
      const double* in = X + start * row_stride + column * column_stride;
      const double middle = center[column], factor = 1.0 / scale[column];
      double* out = Z + j * kBlock;
      for (std::int64_t n = 0; n < n_here; ++n) out[n] = (in[n * row_stride] - middle) * factor;
    }
    std::fill_n(Z + n_columns * kBlock, n_here, 1.0);
  }
}

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
  fit_each(design, subsets, n_subsets, size, start, model, places, options, fits);
}

}  // namespace safdr
