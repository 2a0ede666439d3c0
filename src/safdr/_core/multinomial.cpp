#include "multinomial.hpp"

#include <algorithm>
#include <cstdint>

#include "aligned.hpp"
#include "cholesky.hpp"
#include "clones.hpp"
#include "parallel.hpp"
#include "softmax.hpp"

namespace safdr {
namespace {

// Newton's equations are solved by conjugate gradients until the residual is this small against the gradient: on
// the way steps that leave some tenth of what there is to gain will do, for a third of the products. In the end
// they must be good enough to tell how fast Newton's method itself would converge.
constexpr double kRoughForcing = 0.3, kExactForcing = 0.01;
constexpr int kRoughProducts = 50, kExactProducts = 500;

// Towards a finite optimum it converges quadratically; on the way to infinity, where a part of the rows is
// separated, each step divides what is left by e. So many steps in a row at about that pace, with next to nothing
// left (relative to the loss without features), or an end that is not much faster, mean separation.
constexpr double kLeastSlow = 0.3, kMostSlow = 0.45, kSlowEnd = 0.1, kDriftTol = 1e-8;
constexpr int kSlowSteps = 4;

// The blocks on the diagonal of the Hessian cost as much as some five products. Those of an earlier place serve
// as long as no more products than this are needed.
constexpr int kFewProducts = 3;

constexpr int kMaxHalvings = 30;

// Share of what a step promises that it must gain.
constexpr double kLeastGain = 1e-4;

SAFDR_CLONES ClassEvaluation evaluate(SoftmaxLoss& f, const double* theta, double* gradient, double* probability) {
  return f.evaluate(theta, gradient, probability);
}

SAFDR_CLONES void curvature(SoftmaxLoss& f, const double* v, const double* probability, double* out) {
  f.curvature(v, probability, out);
}

SAFDR_CLONES void factorise_block(SoftmaxLoss& f, std::int64_t c, const double* probability, double* L) {
  f.diagonal_block(c, probability, L);
  Cholesky::factorise(L, f.q, f.stride);
}

SAFDR_CLONES void solve(const double* L, std::int64_t q, std::int64_t stride, const double* in, double* out) {
  Cholesky::solve(L, q, stride, in, out);
}

SAFDR_CLONES double dot(const double* a, const double* b, std::int64_t n) {
  double sum = 0.0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
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
      : options_(options), f_(design, size + 1), n_(f_.length), theta_(n_), gradient_(n_), trial_(n_),
        trial_gradient_(n_), step_(n_), residual_(n_), direction_(n_), scaled_(n_), product_(n_),
        probability_(f_.n_probabilities()), trial_probability_(f_.n_probabilities()),
        L_(f_.n_classes * f_.stride * f_.stride) {}

  // From the given coefficients; what was left before the step that led there, and how many slow steps there were.
  void run(const std::int32_t* subset, const double* start, double left, std::int64_t slow_steps) {
    f_.take_columns(subset);
    for (std::int64_t c = 0; c < f_.n_classes; ++c) {
      std::copy_n(start + c * f_.q, f_.q, theta_.data() + c * f_.stride);
    }
    now_ = evaluate(f_, theta_.data(), gradient_.data(), probability_.data());
    if (!(now_.loss <= f_.null_loss)) {
      // Worse than no features at all: not a start.
      f_.take_null(theta_.data());
      now_ = evaluate(f_, theta_.data(), gradient_.data(), probability_.data());
    }
    left_ = left;
    slow_steps_ = slow_steps;
    converged_ = drifting_ = false;
    full_step_ = true;
    bool stale = true;  // the blocks are those of a place too far off
    finished_ = now_.separated;
    for (n_iter_ = 0; !finished_ && n_iter_ < options_.max_iter; ++n_iter_) {
      if (stale) take_blocks();
      const bool fresh = stale;
      const double before = left_;
      const int n_products = solve_newton();
      judge(left_ / before);
      full_step_ = descend();
      const bool stuck = fraction_ == 0.0 && fresh;  // rounding stopped it
      finished_ = now_.separated || converged_ || drifting_ || stuck;
      stale = !full_step_ || n_products > kFewProducts;
    }
  }

  void report(const ClassFits& fits, std::int64_t index) const {
    const std::int64_t q = f_.q;
    for (std::int64_t c = 0; c < f_.n_classes; ++c) {
      std::copy_n(theta_.data() + c * f_.stride, q, fits.coefficients + (index * f_.n_classes + c) * q);
    }
    fits.cross_entropy[index] = now_.separated ? 0.0 : now_.loss;
    fits.separated[index] = now_.separated || drifting_;
    fits.converged[index] = converged_ && !now_.separated;
    fits.finished[index] = finished_;
    fits.left[index] = now_.separated ? 0.0 : left_;
    fits.slow_steps[index] = slow_steps_;
    fits.n_iter[index] = n_iter_;
  }

 private:
  // Whether the step at hand is the last, and where it leads to: an optimum or infinity. `ratio` is what is left
  // against what was before the last step; zero if there was none.
  void judge(double ratio) {
    const double left = left_ / f_.null_loss;
    const bool near = left <= options_.tol;
    // Halved steps tell nothing.
    const bool slow = full_step_ && ratio > kLeastSlow && ratio < kMostSlow;
    slow_steps_ = slow ? slow_steps_ + 1 : 0;
    if (options_.exact) drifting_ = (slow_steps_ >= kSlowSteps && left <= kDriftTol) || (near && ratio > kSlowEnd);
    converged_ = near && !drifting_;
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
  int solve_newton() {
    std::fill_n(step_.data(), n_, 0.0);
    std::copy_n(gradient_.data(), n_, residual_.data());
    double rest = scale_residual(), decrement = 0.0;
    const double forcing = options_.exact ? kExactForcing : kRoughForcing, enough = forcing * forcing * rest;
    const int most = options_.exact ? kExactProducts : kRoughProducts;
    std::copy_n(scaled_.data(), n_, direction_.data());
    int n_products = 0;
    while (n_products < most && rest > enough) {
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
      const ClassEvaluation next =
          evaluate(f_, trial_.data(), trial_gradient_.data(), trial_probability_.data());
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
  SoftmaxLoss f_;
  const std::int64_t n_;
  AlignedBuffer<double> theta_, gradient_, trial_, trial_gradient_, step_, residual_, direction_, scaled_,
      product_, probability_, trial_probability_, L_;
  ClassEvaluation now_{};
  double left_ = 0.0, decrement_ = 0.0, fraction_ = 0.0;
  bool full_step_ = false, finished_ = false, converged_ = false, drifting_ = false;
  std::int64_t slow_steps_ = 0, n_iter_ = 0;
};

}  // namespace

void fit_multinomial(const ClassDesign& design, const std::int32_t* subsets, std::int64_t n_subsets,
                     std::int64_t size, const ClassOptions& options, const ClassFits& fits) {
  const std::int64_t numbers = design.n_classes * (size + 1);
  Contest contest;
  run_tasks(n_subsets, options.n_threads, [&](auto next) {
    Fit fit(design, size, options);
    for (std::int64_t i = next(); i >= 0 && !contest.over_before(i); i = next()) {
      fit.run(subsets + i * size, fits.coefficients + i * numbers, fits.left[i], fits.slow_steps[i]);
      fit.report(fits, i);
      if (options.contest && fits.cross_entropy[i] == 0.0) contest.end(i);
    }
  });
}

}  // namespace safdr
