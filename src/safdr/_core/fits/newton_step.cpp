#include "fits/newton_step.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "fits/cholesky.hpp"
#include "fits/weak_directions.hpp"
#include "simd/clones.hpp"

namespace safdr {
namespace {

// Unknowns to which those before them leave no more than this share of their curvature are solved for from the rows
// themselves: sums of products hold them to some digits at best.
constexpr double kWeak = 1e-9;

// Columns that differ by less than 1e-6 of their size count as collinear, so that no step has a reason to be longer.
constexpr double kLongest = 1e8;

SAFDR_CLONES void add_gram(WeightedGram& gram, const double* const* columns, const double* factor, double* H) {
  gram.add(columns, factor, H);
}

std::int64_t whole_steps(std::int64_t n) { return (n + Cholesky::kStep - 1) / Cholesky::kStep * Cholesky::kStep; }

}  // namespace

NewtonStep::NewtonStep(const SubsetRows& rows)
    : step(static_cast<std::size_t>(rows.n_classes * rows.q)), rows_(rows), n_unknown_(rows.n_unknown),
      stride_(whole_steps(n_unknown_)), gram_(rows.q), gradient_(stride_), solution_(stride_),
      bend_(static_cast<std::size_t>(stride_ * stride_)), factor_(stride_ * stride_),
      blocks_(static_cast<std::size_t>(rows.n_classes * (rows.n_classes - 1) / 2 * gram_.stride * gram_.stride)) {}

void NewtonStep::forget() {
  collinear_.clear();
  collinear_known_ = false;
}

void NewtonStep::find(const Probabilities& now) {
  sum_gradient(now);
  sum_hessian(now);
  gone_.clear();
  solve_for(now);
  // Where nothing is left that bends an unknown, rounding of the others makes its step: it has none, and is flat.
  if (std::ranges::none_of(step, [](double slope) { return std::abs(slope) > kLongest; })) return;
  for (std::int64_t i = 0; i < n_unknown_; ++i) {
    if (bend_[i * (stride_ + 1)] <= kGone && !std::ranges::count(collinear_, i)) gone_.push_back(i);
  }
  if (gone_.empty()) return;
  solve_for(now);
  for (const std::int64_t i : gone_) {
    flat.emplace_back(step.size());
    flat.back()[rows_.q + i] = 1.0;
  }
}

void NewtonStep::solve_for(const Probabilities& now) {
  // 1. Which unknowns are weak; once, which columns others stand for.
  factorise_without({});
  std::vector<std::int64_t> weak = weak_unknowns();
  if (!weak.empty() && !collinear_known_) {
    for (const std::int64_t j : collinear_columns(rows_)) {
      for (std::int64_t c = 1; c < rows_.n_classes; ++c) collinear_.push_back((c - 1) * rows_.q + j);
    }
    collinear_known_ = true;
    factorise_without({});
    weak = weak_unknowns();
  }
  // 2. The step of all others.
  if (!weak.empty()) factorise_without(weak);
  solve(factor_.data(), n_unknown_, stride_, gradient_.data(), solution_.data());
  decrement = dot(solution_.data(), gradient_.data(), n_unknown_);
  // A step before that was not a number may have left its trace in class 0 too.
  std::fill_n(step.data(), rows_.q, 0.0);
  std::copy_n(solution_.data(), n_unknown_, step.data() + rows_.q);
  // 3. That of the weak ones.
  flat.clear();
  if (!weak.empty()) add_weak(weak, now);
}

void NewtonStep::sum_gradient(const Probabilities& now) {
  const auto residual = [&](std::int64_t c, std::int64_t n) {
    const std::size_t i = rows_.at(c, n);
    return rows_.weight[n] * (rows_.codes[n] == c ? -now.rest[i] : now.p[i]);
  };
  rows_.sum(residual, gradient_.data());
}

// One symmetric block for each pair of classes.
void NewtonStep::sum_hessian(const Probabilities& now) {
  const std::int64_t n_classes = rows_.n_classes, q = rows_.q, numbers = gram_.stride * gram_.stride;
  std::fill(blocks_.begin(), blocks_.end(), 0.0);
  alignas(64) double factor[kBlock];
  rows_.each_block([&](const double* const* columns, std::int64_t start) {
    double* block = blocks_.data();
    for (std::int64_t c = 1; c < n_classes; ++c) {
      for (std::int64_t d = c; d < n_classes; ++d, block += numbers) {
        const double* first = &now.p[rows_.at(c, start)];
        const double* second = c == d ? &now.rest[rows_.at(c, start)] : &now.p[rows_.at(d, start)];
        const double sign = c == d ? 1.0 : -1.0;
        for (std::int64_t n = 0; n < kBlock; ++n) factor[n] = sign * rows_.weight[start + n] * first[n] * second[n];
        add_gram(gram_, columns, factor, block);
      }
    }
  });
  const double* block = blocks_.data();
  for (std::int64_t c = 0; c + 1 < n_classes; ++c) {
    for (std::int64_t d = c; d + 1 < n_classes; ++d, block += numbers) {
      for (std::int64_t j = 0; j < q; ++j) {
        for (std::int64_t i = c == d ? j : 0; i < q; ++i) {
          bend_[(c * q + j) * stride_ + d * q + i] = block[std::min(i, j) * gram_.stride + std::max(i, j)];
        }
      }
    }
  }
}

// Nor with those that have no step at all.
void NewtonStep::factorise_without(std::vector<std::int64_t> unknowns) {
  unknowns.insert(unknowns.end(), collinear_.begin(), collinear_.end());
  unknowns.insert(unknowns.end(), gone_.begin(), gone_.end());
  std::copy(bend_.begin(), bend_.end(), factor_.data());
  for (const std::int64_t j : unknowns) {
    for (std::int64_t i = 0; i < n_unknown_; ++i) factor_.data()[std::min(i, j) * stride_ + std::max(i, j)] = 0.0;
  }
  factorise(factor_.data(), n_unknown_, stride_);
}

std::vector<std::int64_t> NewtonStep::weak_unknowns() const {
  std::vector<std::int64_t> found;
  for (std::int64_t i = 0; i < n_unknown_; ++i) {
    const double inverse = factor_.data()[i * (stride_ + 1)], own = bend_[i * (stride_ + 1)];
    const bool weak = inverse == 0.0 || 1.0 / (inverse * inverse) <= kWeak * own;
    if (weak && !std::ranges::count(collinear_, i) && !std::ranges::count(gone_, i)) found.push_back(i);
  }
  return found;
}

// Of one weak unknown by one, the others following so that the curvature along them has no part in it.
Direction NewtonStep::direction_of(std::int64_t weak, const Probabilities& now) {
  Direction v(step.size());
  double* of_unknowns = v.data() + rows_.q;
  of_unknowns[weak] = 1.0;
  AlignedBuffer<double> rest(stride_);
  for (std::int64_t i = 0; i < n_unknown_; ++i) rest.data()[i] = bend_[std::min(i, weak) * stride_ + std::max(i, weak)];
  const auto take_rest = [&] {
    solve(factor_.data(), n_unknown_, stride_, rest.data(), rest.data());
    for (std::int64_t i = 0; i < n_unknown_; ++i) of_unknowns[i] -= rest.data()[i];
  };
  take_rest();
  // What rounding has left of it, from the rows.
  std::vector<double> shift(now.p.size()), mean(static_cast<std::size_t>(rows_.n_padded));
  rows_.apply(v.data(), shift);
  for (std::size_t i = 0; i < shift.size(); ++i) mean[i % mean.size()] += now.p[i] * shift[i];
  const auto curvature = [&](std::int64_t c, std::int64_t n) {
    const std::size_t i = rows_.at(c, n);
    return rows_.weight[n] * now.p[i] * (shift[i] - mean[n]);
  };
  rows_.sum(curvature, rest.data());
  take_rest();
  return v;
}

void NewtonStep::add_weak(const std::vector<std::int64_t>& weak, const Probabilities& now) {
  std::vector<Direction> directions;
  for (const std::int64_t j : weak) directions.push_back(direction_of(j, now));
  WeakStep more = weak_step(rows_, now, directions, step);
  step = std::move(more.step);
  decrement += more.decrement;
  flat = std::move(more.flat);
}

}  // namespace safdr
