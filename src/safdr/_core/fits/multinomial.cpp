#include "fits/multinomial.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "aligned.hpp"
#include "fits/cholesky.hpp"
#include "fits/linear_algebra.hpp"
#include "fits/pace.hpp"
#include "fits/plain_fit.hpp"
#include "fits/shortlist.hpp"
#include "fits/softmax.hpp"
#include "fits/softmax_bound.hpp"
#include "parallel.hpp"
#include "simd/clones.hpp"

namespace safdr {
namespace {

// Newton's equations are solved by conjugate gradients until the residual is this small against the gradient: on
// the way steps that leave some tenth of what there is to gain will do, for a third of the products. Fits that are
// to be exact take better ones, and the last one, which tells how far each row would still move, is better still. With a
// penalty every direction bends, so that it takes as many products as it takes.
constexpr double kRoughForcing = 0.3, kExactForcing = 0.01, kRoughLast = 1e-3, kExactLast = 1e-8;
constexpr int kRoughProducts = 50, kExactProducts = 500;

// A slow pace is a sign of separation (see pace.hpp) once this share of the loss without features is left.
constexpr double kDriftTol = 1e-8;

// The blocks on the diagonal of the Hessian cost as much as some five products. Those of an earlier place serve
// as long as no more products than this are needed.
constexpr int kFewProducts = 3;

// So many steps that should be the last, and are not, are left to the plain path to judge.
constexpr int kMaxUntold = 3;

// On even columns in units of their spread: slopes that no optimum has. Rounding made them, or one long step that took
// rows to infinity, where nothing is left of them to be seen.
constexpr double kHugeSlope = 1e4;

// With a penalty every fit arrives within so many steps, or rounding has stopped it, where it may have this share of the
// loss without features left.
constexpr int kMaxFreshSteps = 500;
constexpr double kNothingLeft = 1e-9;

// Share of its squares that no other column makes up, where a column counts as one of its own.
constexpr double kWellConditioned = 1e-9;

// A bound takes as long as two products. It is worth a try where the incumbent is farther below what the step leads to
// than so many times what the residual of the equations may take from it. (Once or twenty times took longer.)
constexpr double kWorthTrying = 4.0;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The plain path factorises a matrix of all unknowns: of more than these it takes too long.
constexpr std::int64_t kMostUnknowns = 500;

// 2^-30 of a step that does not lead down is rounding.
constexpr int kMaxHalvings = 30;

// Share of what a step promises that it must gain.
constexpr double kLeastGain = 1e-4;

SAFDR_CLONES ClassEvaluation evaluate(SoftmaxLoss& f, const double* theta, double* gradient, double* probability) {
  return f.evaluate(theta, gradient, probability);
}

SAFDR_CLONES SoftmaxLoss::StepSpread spread(SoftmaxLoss& f, const double* step, const double* probability) {
  return f.spread(step, probability);
}

SAFDR_CLONES void curvature(SoftmaxLoss& f, const double* v, const double* probability, double* out) {
  f.curvature(v, probability, out);
}

SAFDR_CLONES double find_bound(SoftmaxBound& bound, const double* theta, const double* probability, double loss,
                               const double* step, double* dual) {
  return bound.find(theta, probability, loss, step, dual);
}

SAFDR_CLONES void factorise_block(SoftmaxLoss& f, std::int64_t c, const double* probability, double* L) {
  f.diagonal_block(c, probability, L);
  Cholesky::factorise(L, f.q, f.stride);
}

// What is left of a column's squares beside the others, in the rows that have more curvature in a class.
SAFDR_CLONES double smallest_share(SoftmaxLoss& f, std::int64_t c, const double* probability, double least, double* L) {
  f.squares_of_rows(c, probability, least, L);
  return Cholesky::factorise(L, f.q, f.stride);
}

// out = a + factor b; out may be either of them.
SAFDR_CLONES void combine(const double* a, double factor, const double* b, double* out, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) out[i] = a[i] + factor * b[i];
}

// A fit under way.
class Fit {
 public:
  Fit(const ClassDesign& design, std::int64_t size, const ClassOptions& options)
      : options_(options), design_(design), f_(design, size + 1), n_(f_.length), theta_(n_), gradient_(n_), trial_(n_),
        trial_gradient_(n_), step_(n_), residual_(n_), direction_(n_), scaled_(n_), product_(n_),
        probability_(f_.n_probabilities()), trial_probability_(f_.n_probabilities()),
        L_(f_.n_classes * f_.stride * f_.stride) {}

  // From the given coefficients: the fast way, and where anything about it is odd, the plain one.
  void run(const std::int32_t* subset, const double* start) {
    f_.take_columns(subset);
    subset_ = subset;
    for (std::int64_t c = 0; c < f_.n_classes; ++c) {
      std::copy_n(start + c * f_.q, f_.q, theta_.data() + c * f_.stride);
    }
    final_ = options_.exact;
    wild_ = any_wild(design_.wild, subset, f_.q - 1);
    near_copy_.reset();
    const Verdict verdict = hurry();
    if (verdict == Verdict::kDone) return;
    if (penalised()) {
      // One that need not be exact is left to one that is.
      if (options_.exact) take_fresh_path();
    } else {
      take_plain_path(subset, verdict == Verdict::kPlainFromHere);
    }
  }

  void report(const ClassFits& fits, std::int64_t index) const {
    const std::int64_t q = f_.q;
    for (std::int64_t c = 0; c < f_.n_classes; ++c) {
      std::copy_n(theta_.data() + c * f_.stride, q, fits.coefficients + (index * f_.n_classes + c) * q);
    }
    fits.cross_entropy[index] = now_.separated ? 0.0 : now_.loss;
    fits.separated[index] = now_.separated || drifting_;
    fits.converged[index] = converged_ && final_ && !now_.separated && !drifting_;
    fits.left[index] = now_.separated ? 0.0 : bounded() ? now_.loss - least_ : left_;
    fits.n_iter[index] = n_iter_;
  }

 private:
  // The optimum is then finite, whatever the rows: none is on its way to infinity.
  bool penalised() const { return design_.penalty > kLeastPenalty; }

  // Whether what is left is told by a bound of the loss: then it is no estimate.
  bool bounded() const { return penalised() && options_.best_only && !options_.exact; }

  // Truncated Newton steps.
  Verdict hurry() {
    move_here();
    bool stale = true;  // the blocks are those of a place too far off
    for (n_iter_ = 0; n_iter_ < options_.max_iter && !now_.separated && !stopped(); ++n_iter_) {
      // 1. Newton's step, with the blocks at hand as long as they serve.
      if (stale) take_blocks();
      const double before = left_;
      const int n_products = solve_newton(options_.exact ? kExactForcing : kRoughForcing);
      // 2. Its pace tells whether the fit is on its way to infinity, or near its end.
      judge_pace(before);
      // 3. If it ends here, no row may move far.
      if ((drifting_ || converged_) && any_near_copy()) return Verdict::kPlainFromNothing;
      if ((drifting_ || converged_) && !certain()) {
        if (any_huge_slope()) return Verdict::kPlainFromNothing;
        if (drifting_ || ++n_untold_ > kMaxUntold) return Verdict::kPlainFromHere;
        converged_ = false;
      }
      // 4. The step tells what the loss can't fall below.
      if (bound_may_tell()) raise_bound();
      // 5. It is followed, also the last one. Where none leads down, something is wrong with this place.
      full_step_ = descend();
      if (converged_ && !drifting_ && options_.exact && may_be_separated()) return Verdict::kPlainFromHere;
      if (converged_ || drifting_ || beaten(now_.loss, least_, options_.incumbent)) return Verdict::kDone;
      if (fraction_ == 0.0 && stale) return Verdict::kPlainFromNothing;
      stale = !full_step_ || n_products > kFewProducts;
    }
    return now_.separated || options_.max_iter == 0 ? Verdict::kDone : Verdict::kPlainFromNothing;
  }

  void move_here() {
    now_ = evaluate(f_, theta_.data(), gradient_.data(), probability_.data());
    if (!(now_.loss <= f_.null_loss)) {
      // Worse than no features at all: not a start.
      f_.take_null(theta_.data());
      now_ = evaluate(f_, theta_.data(), gradient_.data(), probability_.data());
    }
    left_ = kInfinity;
    least_ = -kInfinity;
    converged_ = drifting_ = false;
    full_step_ = true;
    slow_steps_ = n_untold_ = 0;
  }

  // `before`: what was left before the last step.
  void judge_pace(double before) {
    // Halved steps tell nothing.
    const double ratio = left_ / before;
    slow_steps_ = full_step_ && ratio > kLeastSlow && ratio < kMostSlow ? slow_steps_ + 1 : 0;
    drifting_ = options_.exact && !penalised() && slow_steps_ >= kSlowSteps && left_ <= kDriftTol * f_.null_loss;
    converged_ = left_ <= options_.tol * f_.null_loss;
  }

  // Whether a fit ends here, by Newton's step, solved for anew: at the optimum, or with rows on their way to infinity,
  // where nothing else can come up behind them.
  bool certain() {
    // Of huge values a step that is nearly right is none.
    const bool strict = options_.exact || wild_;
    solve_newton(strict ? kExactLast : kRoughLast);
    const SoftmaxLoss::StepSpread found = spread(f_, step_.data(), probability_.data());
    if (!solved_ || any_huge_slope()) return false;
    if (found.range <= (strict ? kSteady : kNearby)) return !drifting_;
    // The pace alone tells rows on their way to infinity: little left to gain is no proof.
    if (wild_ || (options_.exact && !drifting_)) return false;
    return found.excess <= (options_.exact ? kExcess : kRoughExcess);
  }

  // Whether a bound from the step may show that the incumbent is better: by the quadratic model it lies below the optimum
  // of that by the squared residual of the slopes over twice the penalty. At the end it tells what is left.
  bool bound_may_tell() const {
    if (!bounded() || converged_) return bounded();
    if (!(options_.incumbent < kInfinity)) return false;
    double squares = 0.0;
    for (std::int64_t c = 0; c < f_.n_classes; ++c) {
      const double* slopes = residual_.data() + c * f_.stride;
      squares += dot(slopes, slopes, f_.q - 1);
    }
    return now_.loss - left_ - kWorthTrying * 0.5 * squares / design_.penalty > options_.incumbent;
  }

  void raise_bound() {
    if (!bound_) bound_.emplace(design_, f_.q);
    bound_->take_columns(subset_);
    // The room for the next probabilities is free.
    const double found =
        find_bound(*bound_, theta_.data(), probability_.data(), now_.loss, step_.data(), trial_probability_.data());
    least_ = std::max(least_, found);
  }

  // Columns that make up one another leave their slopes to rounding, which then fits the rows; rows that are gone tell
  // nothing; and what two classes differ by is lost in the digits of their slopes. So nothing can start here either.
  bool any_huge_slope() const {
    const auto is_huge = [](double slope) { return std::abs(slope) > kHugeSlope; };
    return !wild_ && !penalised() && std::any_of(theta_.data(), theta_.data() + n_, is_huge);
  }

  // Whether columns nearly make up one another: what they differ by, which may be all that is left to gain, is lost in
  // sums of their products. Of uneven columns such sums tell nothing.
  bool any_near_copy() {
    if (penalised() || wild_) return false;
    if (!near_copy_) {
      AlignedBuffer<double> squares(f_.stride * f_.stride);
      near_copy_ = smallest_share(f_, 0, probability_.data(), -1.0, squares.data()) <= kWellConditioned;
    }
    return *near_copy_;
  }

  // Whether rows that are gone have left some class a direction along which nothing bends: one long step may have taken
  // them so far that none after it moves them. Columns that others make up leave one too, in all rows.
  bool may_be_separated() {
    if (penalised()) return false;
    for (std::int64_t c = 0; c < f_.n_classes; ++c) {
      if (!f_.any_gone(c, probability_.data())) continue;
      if (smallest_share(f_, c, probability_.data(), kLeaving, L_.data()) > 0.0) continue;
      if (smallest_share(f_, c, probability_.data(), -1.0, L_.data()) > kWellConditioned) return true;
    }
    return false;
  }

  // Newton's method from the model without features, with exact steps. With a penalty it arrives, but for rounding:
  // then the better end counts.
  void take_fresh_path() {
    const std::vector<double> first(theta_.data(), theta_.data() + n_);
    const double first_loss = now_.loss;
    f_.take_null(theta_.data());
    move_here();
    final_ = true;
    for (std::int64_t step = 0; step < kMaxFreshSteps && !stopped(); ++step, ++n_iter_) {
      take_blocks();
      solve_newton(kExactLast);
      converged_ =
          left_ <= options_.tol * f_.null_loss && spread(f_, step_.data(), probability_.data()).range <= kSteady;
      descend();
      if (converged_ || fraction_ == 0.0) break;
    }
    // Where rounding stopped it, next to nothing may be left.
    converged_ = converged_ || left_ <= kNothingLeft * f_.null_loss;
    if (converged_ || now_.loss <= first_loss) return;
    std::copy_n(first.data(), n_, theta_.data());
    now_ = evaluate(f_, theta_.data(), gradient_.data(), probability_.data());
  }

  void take_plain_path(const std::int32_t* subset, bool from_here) {
    // The pace has told what it can.
    if ((f_.n_classes - 1) * f_.q > kMostUnknowns) return;
    if (!plain_) plain_.emplace(design_, f_.q - 1);
    PlainFit::Start here;
    if (from_here && !any_huge_slope()) here = [&](std::int64_t c) { return theta_.data() + c * f_.stride; };
    plain_->run(subset, here, options_.max_iter);
    for (std::int64_t c = 0; c < f_.n_classes; ++c) {
      std::copy_n(plain_->coefficients(c), f_.q, theta_.data() + c * f_.stride);
    }
    now_ = {plain_->loss, plain_->loss == 0.0};
    drifting_ = plain_->separated;
    converged_ = plain_->converged;
    final_ = true;
    // Where rounding stopped it, nobody knows what is left: it may still be the best.
    left_ = converged_ || drifting_ ? 0.0 : kInfinity;
    n_iter_ += plain_->n_iter;
  }

  void take_blocks() {
    const std::int64_t numbers = f_.stride * f_.stride;
    for (std::int64_t c = 0; c < f_.n_classes; ++c) {
      factorise_block(f_, c, probability_.data(), L_.data() + c * numbers);
    }
  }

  // scaled = (block diagonal of the Hessian)^-1 residual; returns their product.
  double scale_residual() {
    const std::int64_t numbers = f_.stride * f_.stride;
    for (std::int64_t c = 0; c < f_.n_classes; ++c) {
      const std::int64_t row = c * f_.stride;
      solve(L_.data() + c * numbers, f_.q, f_.stride, residual_.data() + row, scaled_.data() + row);
    }
    return dot(residual_.data(), scaled_.data(), n_);
  }

  // step = H^-1 gradient, nearly; returns the number of products with H that it took.
  int solve_newton(double forcing) {
    std::fill_n(step_.data(), n_, 0.0);
    std::copy_n(gradient_.data(), n_, residual_.data());
    double rest = scale_residual(), decrement = 0.0;
    const double enough = forcing * forcing * rest;
    const int most = options_.exact || penalised() ? kExactProducts : kRoughProducts;
    std::copy_n(scaled_.data(), n_, direction_.data());
    int n_products = 0;
    while (n_products < most && rest > enough && !stopped()) {
      curvature(f_, direction_.data(), probability_.data(), product_.data());
      ++n_products;
      const double bend = dot(direction_.data(), product_.data(), n_);
      if (!(bend > 0.0)) break;
      const double along = rest / bend;
      combine(step_.data(), along, direction_.data(), step_.data(), n_);
      combine(residual_.data(), -along, product_.data(), residual_.data(), n_);
      decrement += along * rest;
      const double following = scale_residual();
      combine(scaled_.data(), following / rest, direction_.data(), direction_.data(), n_);
      rest = following;
    }
    solved_ = rest <= enough;
    decrement_ = decrement;
    left_ = 0.5 * decrement;
    return n_products;
  }

  // Follows the step, halved until it gains something; false where it had to be. No fraction is left where none
  // gains.
  bool descend() {
    fraction_ = 1.0;
    for (int halving = 0; halving <= kMaxHalvings; ++halving, fraction_ *= 0.5) {
      combine(theta_.data(), -fraction_, step_.data(), trial_.data(), n_);
      const ClassEvaluation next = evaluate(f_, trial_.data(), trial_gradient_.data(), trial_probability_.data());
      if (!(next.loss <= now_.loss - kLeastGain * fraction_ * decrement_)) continue;
      now_ = next;
      theta_.swap(trial_);
      gradient_.swap(trial_gradient_);
      probability_.swap(trial_probability_);
      return halving == 0;
    }
    fraction_ = 0.0;
    return false;
  }

  const ClassOptions& options_;
  const ClassDesign& design_;
  SoftmaxLoss f_;
  std::optional<SoftmaxBound> bound_;  // both made when they are needed
  std::optional<PlainFit> plain_;
  const std::int64_t n_;
  const std::int32_t* subset_ = nullptr;
  AlignedBuffer<double> theta_, gradient_, trial_, trial_gradient_, step_, residual_, direction_, scaled_, product_,
      probability_, trial_probability_, L_;
  ClassEvaluation now_{};
  double left_ = 0.0, decrement_ = 0.0, fraction_ = 0.0;
  double least_ = -kInfinity;  // what the loss can't fall below
  bool full_step_ = false, converged_ = false, drifting_ = false;
  bool solved_ = false;            // whether the step is as good as was asked for
  bool wild_ = false;              // whether a column is
  std::optional<bool> near_copy_;  // see any_near_copy; once it is known
  bool final_ = false;             // whether nothing is left to do about it
  std::int64_t n_iter_ = 0;
  int slow_steps_ = 0, n_untold_ = 0;
};

}  // namespace

void fit_multinomial(const ClassDesign& design, const std::int32_t* subsets, std::int64_t n_subsets, std::int64_t size,
                     const ClassOptions& options, const ClassFits& fits) {
  const std::int64_t numbers = design.n_classes * (size + 1);
  FirstSeparated first_separated;
  run_tasks(n_subsets, options.n_threads, [&](auto next) {
    Fit fit(design, size, options);
    for (std::int64_t i = next(); i >= 0 && !first_separated.before(i); i = next()) {
      fit.run(subsets + i * size, fits.coefficients + i * numbers);
      fit.report(fits, i);
      if (options.best_only && fits.cross_entropy[i] == 0.0) first_separated.found(i);
    }
  });
}

}  // namespace safdr
