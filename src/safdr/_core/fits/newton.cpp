#include "fits/newton.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "interrupt.hpp"

namespace safdr {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Newton's equations are solved to this share (in the norm of the preconditioner): the usual forcing term.
constexpr double kForcing = 0.1;
// Number of products that cost as much as new factors.
constexpr std::int64_t kFewProducts = 4;
// Factors of another model are reused while their steps leave at most this share.
constexpr double kSlow = 0.03;
constexpr std::int64_t kMostProducts = 200;
// Share of the predicted gain that a step must have (Armijo's), and halvings until it does.
constexpr double kLeastGain = 1e-4;
constexpr int kMostHalvings = 30;
// A fit ends if its loss exceeds the incumbent's by more than this multiple of its gap.
constexpr double kMargin = 10.0;
// A fit that rounding stops has converged if its predicted gain is at most this multiple of the tolerance.
constexpr double kNear = 1e3;
// Blocks of rows that are predicted, evaluated and gathered while they are in the cache.
constexpr std::int64_t kBlocksAtOnce = 8;
// A row is separated below this share of its curvature without features; a direction is null if no more than
// this share of a column's curvature remains given the others.
constexpr double kLeaving = 1e-4, kLost = 1e-9;

}  // namespace

Newton::Newton(const Columns& columns, Family& family, std::int64_t size, const NewtonOptions& options)
    : columns_(columns, size), family_(family), options_(options), m_(family.t.n_outputs),
      length_(m_ * columns_.stride), n_rows_(m_ * columns.n_padded()), gram_(columns_.q), gather_(m_, columns_.stride),
      theta_(length_), step_(length_), gradient_(length_), trial_gradient_(length_), residual_(length_),
      scaled_(length_), direction_(length_), product_(length_), factors_(length_ * columns_.stride), eta_(n_rows_),
      trial_eta_(n_rows_), moved_(n_rows_), u_(n_rows_), bent_(n_rows_) {}

void Newton::start(const std::int32_t* subset, const double* null_model) {
  columns_.take(subset);
  null_.assign(null_model, null_model + m_);
  take_null();
  has_factors_ = false;
}

void Newton::start_near(const std::int32_t* subset, const double* null_model, const LocalModel& model,
                        const std::int32_t* places) {
  columns_.take(subset);
  null_.assign(null_model, null_model + m_);
  const std::int64_t q = columns_.q, stride = columns_.stride;
  const auto place = [&](std::int64_t i) { return i + 1 < q ? places[i] : model.q - 1; };
  for (std::int64_t c = 0; c < m_; ++c) {
    double *L = factors_.data() + c * stride * stride, *target = residual_.data() + c * stride;
    const double* hessian = model.hessian.data() + c * model.stride * model.stride;
    for (std::int64_t j = 0; j < q; ++j) {
      for (std::int64_t i = j; i < q; ++i) {
        const std::int64_t a = place(i), b = place(j);
        L[j * stride + i] = hessian[std::min(a, b) * model.stride + std::max(a, b)];
      }
      target[j] = model.target[static_cast<std::size_t>(c * model.stride + place(j))];
    }
    safdr::factorise(L, q, stride);
    safdr::solve(L, q, stride, target, theta_.data() + c * stride);
  }
  has_factors_ = true;
  own_ = false;
}

void Newton::take_null() {
  std::fill_n(theta_.data(), length_, 0.0);
  for (std::int64_t c = 0; c < m_; ++c) {
    theta_.data()[c * columns_.stride + columns_.q - 1] = null_[static_cast<std::size_t>(c)];
  }
}

NewtonResult Newton::run(double null_loss, double incumbent) {
  NewtonResult result{0.0, kInfinity, 0.0, 0, 0, false, false};
  enough_ = options_.tol * null_loss;
  incumbent_ = incumbent;
  result.loss = evaluate(theta_.data(), eta_.data(), gradient_.data(), true);
  if (!(result.loss <= null_loss * (1.0 + 1e-12))) {
    take_null();
    result.loss = evaluate(theta_.data(), eta_.data(), gradient_.data(), true);
    has_factors_ = false;
  }
  if (!has_factors_) factorise();
  double previous = kInfinity;
  for (; result.n_steps < options_.max_steps && !stopped(); ++result.n_steps) {
    result.separated = options_.separable && family_.separates(eta_.data());
    if (result.separated) break;
    const std::int64_t before = result.n_products;
    if (family_.diagonal && !own_) {
      // The step of factors from elsewhere costs one pass: it serves until a bound would end the fit.
      std::copy_n(gradient_.data(), length_, residual_.data());
      const double promised = precondition();
      if (!settles(result, promised)) {
        if (!(promised <= kSlow * previous) || !follow_roughly(result, promised)) factorise();
        previous = promised;
        continue;
      }
    }
    result.left = solve(result);
    result.converged = result.left <= enough_;
    if (settles(result, result.left)) {
      settle(result);
      break;
    }
    const double loss = result.loss;
    const bool whole = follow(result);
    if (loss == result.loss && own_) {  // rounding stopped it
      result.converged = decrement() <= kNear * enough_;
      break;
    }
    if (loss == result.loss || !whole || result.n_products - before > kFewProducts) {
      factorise();
    } else {
      own_ = false;
    }
  }
  result.of_penalty = 0.5 * options_.penalty * squared_slopes(theta_.data());
  return result;
}

// Loss at theta, with eta predicted before where it is new; derivatives of the family, and the gradient.
double Newton::evaluate(const double* theta, double* eta, double* gradient, bool at_new_eta) {
  const std::int64_t at_once = family_.by_rows ? kBlocksAtOnce : columns_.n_blocks;
  double loss = 0.0;
  gather_.clear();
  for (std::int64_t b = 0; b < columns_.n_blocks; b += at_once) {
    const std::int64_t last = std::min(columns_.n_blocks, b + at_once);
    if (at_new_eta) predict(columns_, theta, m_, b, last, eta);
    loss += family_.derivatives(eta, b * kBlock, last * kBlock);
    gather_.add(columns_, family_.slope.data(), m_, b, last);
  }
  write_penalised(theta, gradient);
  return loss + 0.5 * options_.penalty * squared_slopes(theta);
}

// The gathered sums, and the penalty times the slopes of theta.
void Newton::write_penalised(const double* theta, double* out) {
  gather_.write(out);
  for (std::int64_t c = 0; c < m_; ++c) {
    const std::int64_t first = c * columns_.stride, intercept = first + columns_.q - 1;
    add_to(out + first, options_.penalty, theta + first, columns_.q - 1);
    std::fill(out + intercept + 1, out + first + columns_.stride, 0.0);
  }
}

double Newton::squared_slopes(const double* theta) const {
  double sum = 0.0;
  for (std::int64_t c = 0; c < m_; ++c, theta += columns_.stride) sum += dot(theta, theta, columns_.q - 1);
  return sum;
}

void Newton::factorise() {
  const std::int64_t q = columns_.q, stride = columns_.stride;
  for (std::int64_t c = 0; c < m_; ++c) {
    double* L = factors_.data() + c * stride * stride;
    weighted_gram(columns_, family_.curvature.data() + c * family_.t.n_padded, gram_, L);
    for (std::int64_t j = 0; j + 1 < q; ++j) L[j * (stride + 1)] += options_.penalty;
    safdr::factorise(L, q, stride);
  }
  own_ = true;
}

// scaled = preconditioner times residual; returns their product.
double Newton::precondition() {
  const std::int64_t q = columns_.q, stride = columns_.stride;
  for (std::int64_t c = 0; c < m_; ++c) {
    safdr::solve(factors_.data() + c * stride * stride, q, stride, residual_.data() + c * stride,
                 scaled_.data() + c * stride);
  }
  return dot(residual_.data(), scaled_.data(), length_);
}

// product = H direction; u = Z direction.
void Newton::multiply(const double* direction, bool intercepts_alone) {
  const std::int64_t at_once = family_.by_rows ? kBlocksAtOnce : columns_.n_blocks;
  gather_.clear();
  for (std::int64_t b = 0; b < columns_.n_blocks; b += at_once) {
    const std::int64_t last = std::min(columns_.n_blocks, b + at_once);
    if (!intercepts_alone) predict(columns_, direction, m_, b, last, u_.data());
    family_.bend(u_.data(), bent_.data(), b * kBlock, last * kBlock);
    gather_.add(columns_, bent_.data(), m_, b, last);
  }
  write_penalised(direction, product_.data());
}

// The step, what it lowers eta by, and the residual; returns the bound, or infinity where it would end no fit.
double Newton::solve(NewtonResult& result) {
  std::copy_n(gradient_.data(), length_, residual_.data());
  double rest = precondition();
  if (own_ && family_.diagonal) {
    std::copy_n(scaled_.data(), length_, step_.data());
    predict(columns_, step_.data(), m_, 0, columns_.n_blocks, moved_.data());
    std::fill_n(residual_.data(), length_, 0.0);
    return family_.reach(moved_.data()) <= 1.0 ? decrement() : kInfinity;
  }
  std::fill_n(step_.data(), length_, 0.0);
  std::fill_n(moved_.data(), n_rows_, 0.0);
  std::copy_n(scaled_.data(), length_, direction_.data());
  const double solved = kForcing * kForcing * rest;
  for (std::int64_t i = 0; i < kMostProducts && rest > 0.0 && !stopped_at(i); ++i) {
    multiply(direction_.data(), false);
    ++result.n_products;
    const double bend = dot(direction_.data(), product_.data(), length_);
    if (!(bend > 0.0)) break;
    const double along = rest / bend;
    add_to(step_.data(), along, direction_.data(), length_);
    add_to(residual_.data(), -along, product_.data(), length_);
    add_to(moved_.data(), along, u_.data(), n_rows_);
    double next = precondition(), turn = next / rest;
    if (next <= solved) {
      // More only where this would end the fit.
      if (!settles(result, decrement()) || family_.reach(moved_.data()) > 1.0) break;
      if (settles(result, decrement() + slack())) {
        solve_intercepts();
        const double left = decrement() + slack();
        if (settles(result, left)) return family_.reach(moved_.data()) <= 1.0 ? left : kInfinity;
        next = precondition(), turn = 0.0;
      }
    }
    rest = next;
    for (std::int64_t j = 0; j < length_; ++j) {
      direction_.data()[j] = scaled_.data()[j] + turn * direction_.data()[j];
    }
  }
  return kInfinity;
}

double Newton::decrement() { return dot(gradient_.data(), step_.data(), length_); }

// Returns true if the fit ends at this gap.
bool Newton::settles(const NewtonResult& result, double left) const {
  return left <= enough_ || result.loss - (kMargin + 1.0) * left > incumbent_;
}

double Newton::slack() const { return squared_slopes(residual_.data()) / (2.0 * options_.penalty); }

// Solves the equations of the intercepts, which no penalty may leave a residual.
void Newton::solve_intercepts() {
  const std::int64_t n_padded = family_.t.n_padded, stride = (m_ + 3) / 4 * 4, at = columns_.q - 1;
  AlignedBuffer<double> H(stride * stride), rest(stride), shift(stride);
  double total = 0.0;
  for (std::int64_t c = 0; c < m_; ++c) {
    std::fill_n(u_.data(), n_rows_, 0.0);
    std::fill_n(u_.data() + c * n_padded, family_.t.n_rows, 1.0);
    family_.bend(u_.data(), bent_.data(), 0, n_padded);
    for (std::int64_t d = c; d < m_; ++d) {
      double sum = 0.0;
      for (std::int64_t n = 0; n < n_padded; ++n) sum += bent_.data()[d * n_padded + n];
      H.data()[c * stride + d] = sum;
    }
    rest.data()[c] = residual_.data()[c * columns_.stride + at];
    for (std::int64_t n = 0; n < n_padded; ++n) total += family_.curvature.data()[c * n_padded + n];
  }
  if (!(H.data()[0] > 1e-12 * total)) return;  // nothing depends on them
  safdr::factorise(H.data(), m_, stride);
  safdr::solve(H.data(), m_, stride, rest.data(), shift.data());
  std::fill_n(direction_.data(), length_, 0.0);
  for (std::int64_t c = 0; c < m_; ++c) {
    direction_.data()[c * columns_.stride + at] = shift.data()[c];
    std::fill_n(u_.data() + c * n_padded, family_.t.n_rows, shift.data()[c]);
  }
  multiply(direction_.data(), true);
  add_to(step_.data(), 1.0, direction_.data(), length_);
  add_to(residual_.data(), -1.0, product_.data(), length_);
  add_to(moved_.data(), 1.0, u_.data(), n_rows_);
}

// Moves to coefficients with a gain; eta follows where it is new.
bool Newton::move(NewtonResult& result, AlignedBuffer<double>& theta, double promised, bool at_new_eta) {
  const double loss = evaluate(theta.data(), trial_eta_.data(), trial_gradient_.data(), at_new_eta);
  if (!(loss <= result.loss - kLeastGain * promised)) return false;
  result.loss = loss;
  theta_.swap(theta);
  eta_.swap(trial_eta_);
  gradient_.swap(trial_gradient_);
  return true;
}

// Follows the step, halved until it gains; returns true if the full step was made.
bool Newton::follow(NewtonResult& result) {
  const double promised = decrement();
  double part = 1.0;
  for (int halving = 0; halving <= kMostHalvings; ++halving, part *= 0.5) {
    std::copy_n(eta_.data(), n_rows_, trial_eta_.data());
    add_to(trial_eta_.data(), -part, moved_.data(), n_rows_);
    std::copy_n(theta_.data(), length_, scaled_.data());
    add_to(scaled_.data(), -part, step_.data(), length_);
    if (move(result, scaled_, part * promised, false)) return halving == 0;
  }
  family_.derivatives(eta_.data(), 0, family_.t.n_padded);
  return false;
}

// Follows the step of factors from elsewhere if it gains.
bool Newton::follow_roughly(NewtonResult& result, double promised) {
  std::copy_n(theta_.data(), length_, step_.data());
  add_to(step_.data(), -1.0, scaled_.data(), length_);
  if (move(result, step_, promised, true)) return true;
  family_.derivatives(eta_.data(), 0, family_.t.n_padded);
  return false;
}

// The last step: to second order it gains half of the predicted gain.
void Newton::settle(NewtonResult& result) {
  add_to(theta_.data(), -1.0, step_.data(), length_);
  result.loss -= 0.5 * decrement();
  ++result.n_steps;
}

// Each row ties together the outputs in which it has curvature left; of several outputs the last is fixed.
bool Newton::loses_direction() {
  const std::int64_t q = columns_.q, stride = columns_.stride, n_padded = family_.t.n_padded;
  const double* weight = family_.t.weight;
  AlignedBuffer<double> n_tied(n_padded), share(n_padded), block(stride * stride), tied(n_rows_);
  std::copy_n(family_.curvature.data(), n_rows_, tied.data());
  for (std::int64_t i = 0; i < n_rows_; ++i) u_.data()[i] = null_[static_cast<std::size_t>(i / n_padded)];
  family_.derivatives(u_.data(), 0, n_padded);
  bool any_left = false;
  for (std::int64_t i = 0; i < n_rows_; ++i) {
    const double before = family_.curvature.data()[i];
    tied.data()[i] = before > 0.0 && tied.data()[i] >= kLeaving * before ? 1.0 : 0.0;
    any_left |= before > 0.0 && tied.data()[i] == 0.0;
    n_tied.data()[i % n_padded] += tied.data()[i];
  }
  weighted_gram(columns_, weight, gram_, block.data());
  if (!any_left || !(safdr::factorise(block.data(), q, stride) > kLost)) return false;
  const std::int64_t n_blocks = std::max<std::int64_t>(1, m_ - 1), wide = (n_blocks * q + 3) / 4 * 4;
  AlignedBuffer<double> L(wide * wide);
  for (std::int64_t c = 0; c < n_blocks; ++c) {
    for (std::int64_t d = c; d < n_blocks; ++d) {
      for (std::int64_t n = 0; n < n_padded; ++n) {
        const bool both = tied.data()[c * n_padded + n] * tied.data()[d * n_padded + n] > 0.0;
        const double mean = m_ == 1 ? 0.0 : 1.0 / n_tied.data()[n];
        share.data()[n] = both ? weight[n] * (c == d ? 1.0 - mean : mean) : 0.0;
      }
      weighted_gram(columns_, share.data(), gram_, block.data());
      for (std::int64_t j = 0; j < q; ++j) {
        for (std::int64_t i = 0; i < q; ++i) {
          const double h = block.data()[std::min(i, j) * stride + std::max(i, j)];
          L.data()[(c * q + j) * wide + d * q + i] = c == d ? (i < j ? 0.0 : h) : -h;
        }
      }
    }
  }
  return !(safdr::factorise(L.data(), n_blocks * q, wide) > kLost);
}

LocalModel Newton::local_model(const double* theta) {
  const std::int64_t q = columns_.q, stride = columns_.stride;
  evaluate(theta, eta_.data(), gradient_.data(), true);
  LocalModel model{q, stride, std::vector<double>(static_cast<std::size_t>(length_ * stride)),
                   std::vector<double>(static_cast<std::size_t>(length_))};
  for (std::int64_t c = 0; c < m_; ++c) {
    double *H = model.hessian.data() + c * stride * stride, *target = model.target.data() + c * stride;
    weighted_gram(columns_, family_.curvature.data() + c * family_.t.n_padded, gram_, H);
    for (std::int64_t j = 0; j + 1 < q; ++j) H[j * (stride + 1)] += options_.penalty;
    for (std::int64_t j = 0; j < q; ++j) {
      target[j] = -gradient_.data()[c * stride + j];
      for (std::int64_t i = 0; i < q; ++i) {
        target[j] += H[std::min(i, j) * stride + std::max(i, j)] * theta[c * stride + i];
      }
    }
  }
  return model;
}

}  // namespace safdr
