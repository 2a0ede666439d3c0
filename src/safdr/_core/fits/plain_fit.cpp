#include "fits/plain_fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "fits/cholesky.hpp"
#include "fits/graded_rows.hpp"
#include "interrupt.hpp"
#include "simd/clones.hpp"
#include "simd/vector_math.hpp"

namespace safdr {
namespace {

// A row with less than this to lose is on its way out: rounding of the others weighs as much. One with less than the
// second is gone, and nothing of it is left to compute with.
constexpr double kLeaving = 1e-10, kGone = 1e-80;

// Margin at which a row counts again: about -log(kLeaving).
constexpr double kBack = 20.0;

// Rows on their way out are moved so far in one go, which takes them there, as long as the others move no farther than
// the second.
constexpr double kFar = 250.0, kStill = 0.01;

// Whether rows are on their way out can be told once the others move no more than this (or no less than at the step
// before, to no end: then rounding moves them): a row that then moves towards its own class by more than the second, and by more
// than the third of how far it has come, does so since nothing else holds it.
constexpr double kQuiet = 1e-8, kDrift = 0.05, kRounding = 1e-6;

// Unknowns to which those before them leave no more than this share of their curvature are solved for from the rows
// themselves: sums of products hold them to some digits at best.
constexpr double kWeak = 1e-9;

// Share of its size up to which a column counts as collinear with others.
constexpr double kCollinear = 1e-6;

// What rounding may add to the loss by a step, and what is no progress.
constexpr double kRise = 1e-10, kProgress = 1e-14;

// Part of a sum's terms that rounding may make of it.
constexpr double kNoise = 4e-15;

// Where rounding moves rows, a fit is at its optimum if by the decrement no more than this is left.
constexpr double kTold = 1e-8;

// A step is followed to where its slope is this part of what it was at first: less than the 1/e that a row on its way
// to infinity leaves, so that it is sent farther.
constexpr double kFlat = 0.3;

// Halvings that are enough once the slope has changed its sign, and those that must lead down.
constexpr int kBisections = 3, kMaxHalvings = 1100;

// A probability that is no less than nothing.
constexpr double kLeast = 1e-290;

// Part of what directions are made of that they must move a row by, to be no rounding; how long a mixture is looked for.
constexpr double kMoved = 1e-4;
constexpr int kSweeps = 1000;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

SAFDR_CLONES double dot(const double* a, const double* b, std::int64_t n) {
  double sum = 0.0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

SAFDR_CLONES double factorise(double* L, std::int64_t q, std::int64_t stride) {
  return Cholesky::factorise(L, q, stride);
}

SAFDR_CLONES void solve_with(const double* L, std::int64_t q, std::int64_t stride, double* x) {
  Cholesky::solve(L, q, stride, x, x);
}

// out += factor z of a block.
SAFDR_CLONES void add_scaled(const double* z, double factor, double* out) {
  for (std::int64_t n = 0; n < kBlock; ++n) out[n] += factor * z[n];
}

SAFDR_CLONES void add_gram(WeightedGram& gram, const double* const* columns, const double* factor, double* H) {
  gram.add(columns, factor, H);
}

SAFDR_CLONES void fold(GradedRows& rows, const double* noise, bool by_number) { rows.fold(noise, by_number); }

// Loss and slope of rows of two classes, where a step adds so much to the margin of each.
SAFDR_CLONES void look_along(const double* margin, const double* gain, const double* weight, std::int64_t n_rows,
                             double fraction, double& loss, double& slope) {
  double losses = 0.0, slopes = 0.0;
#pragma omp simd reduction(+ : losses, slopes)
  for (std::int64_t n = 0; n < n_rows; ++n) {
    const double m = margin[n] + fraction * gain[n], t = exp_minus<std::uint64_t>(std::abs(m));
    const double larger = 1.0 / (1.0 + t), wrong = m < 0.0 ? larger : t * larger;
    losses += weight[n] * (log1p_unit(t) + (m < 0.0 ? -m : 0.0));
    slopes -= weight[n] * wrong * gain[n];
  }
  loss = losses;
  slope = slopes;
}

std::int64_t whole_steps(std::int64_t n) { return (n + Cholesky::kStep - 1) / Cholesky::kStep * Cholesky::kStep; }

}  // namespace

PlainFit::PlainFit(const ClassDesign& design, std::int64_t size)
    : design_(design), q_(size + 1), n_classes_(design.n_classes), n_unknown_((n_classes_ - 1) * q_),
      stride_(whole_steps(n_unknown_)), n_padded_(design.n_blocks() * kBlock), gram_(q_),
      weight_(static_cast<std::size_t>(n_padded_)), shares_(static_cast<std::size_t>(n_classes_)),
      columns_(static_cast<std::size_t>(gram_.stride)), theta_(static_cast<std::size_t>(n_classes_ * q_)),
      step_(theta_.size()), logits_(static_cast<std::size_t>(n_classes_ * n_padded_)), move_(logits_.size()),
      chance_(logits_.size()), rest_(logits_.size()), margin_(static_cast<std::size_t>(n_padded_)),
      gain_(margin_.size()), gradient_(stride_), bend_(static_cast<std::size_t>(stride_ * stride_)),
      factor_(stride_ * stride_),
      blocks_(static_cast<std::size_t>(n_classes_ * (n_classes_ - 1) / 2 * gram_.stride * gram_.stride)) {
  double total = 0.0;
  for (std::int64_t n = 0; n < design.n_rows; ++n) total += design.weight ? design.weight[n] : 1.0;
  for (std::int64_t n = 0; n < design.n_rows; ++n) {
    weight_[n] = (design.weight ? design.weight[n] : 1.0) / total;
    shares_[design.codes[n]] += weight_[n];
  }
  // What sets rare classes apart from the rest is then no difference of large numbers.
  common_ = std::max_element(shares_.begin(), shares_.end()) - shares_.begin();
  std::swap(shares_[0], shares_[common_]);
  codes_.resize(design.n_rows);
  std::transform(design.codes, design.codes + design.n_rows, codes_.begin(), [&](auto c) { return row_of(c); });
}

void PlainFit::run(const std::int32_t* subset, const Start& start, std::int64_t max_iter) {
  take_columns(subset);
  take_null();
  for (std::int64_t c = 0; start && c < n_classes_; ++c) {
    // Less those of the most common class.
    for (std::int64_t j = 0; j < q_; ++j) theta_[row_of(c) * q_ + j] = start(c)[j] - start(common_)[j];
  }
  separated = converged = false;
  collinear_.clear();
  collinear_known_ = false;
  bool going = false;  // whether rows seem to be on their way out
  bool told = false;   // whether next to nothing is left
  double before = kInfinity, kept_loss = kInfinity;
  std::vector<double> kept = theta_;
  for (n_iter = 0; n_iter <= max_iter && !stopped(); ++n_iter) {
    // 1. Where every row is on its own side the classes are separated.
    if (evaluate()) {
      separated = true;
      loss = 0.0;
      return;
    }
    // 2. The step before was the last; or it was one too many, made of rounding: then, as far as can be told, rows that
    //    were on their way out would have gone on.
    if (converged) return;
    if (!(loss <= kept_loss + kRise)) {
      theta_ = kept;
      loss = kept_loss;
      separated = going;
      converged = told && !going;
      return;
    }
    const bool stuck = kept_loss - loss <= kProgress;
    kept = theta_;
    kept_loss = loss;
    // 3. Newton's step, and what it would move the rows by.
    sum_gradient();
    sum_hessian();
    solve();
    // Columns that others stand for have no coefficients.
    if (n_iter == 0 && start && !collinear_.empty()) return run(subset, nullptr, max_iter);
    const Moves move = moves();
    told = move.live <= kNearby && decrement_ <= kTold;
    const bool quiet = move.live <= kQuiet || (move.live <= kNearby && (stuck || told) && move.live >= 0.5 * before);
    before = move.live;
    const bool flat = flat_directions_separate();
    // 4. At the optimum no row moves. If some that count no more do, they are on their way to infinity: they are sent
    //    there, to see whether anything comes up behind them.
    const bool leaving = quiet && move.slowest < kInfinity;
    going = flat || move.slowest < kInfinity;
    separated = quiet && (leaving ? move.all_gone : flat);
    converged = quiet && !leaving && !separated && (told || move.live <= kSteady);
    // 5. Otherwise follow the step to about the smallest loss in its direction.
    double fraction = 1.0;
    if (leaving) fraction = std::min({kFar / move.slowest, move.limit, kStill / move.live});
    if (move.live > kSteady) fraction = line_search(move.live);
    if (separated) return;
    if (!(fraction > 0.0)) {
      separated = going;
      converged = told && !going;
      return;
    }
    for (std::size_t i = 0; i < theta_.size(); ++i) theta_[i] -= fraction * step_[i];
  }
  theta_ = kept;  // the loss is that of this point
}

void PlainFit::take_columns(const std::int32_t* subset) {
  // The constant one also fills up the last tile.
  for (std::int64_t j = 0; j < gram_.stride; ++j) {
    columns_[j] = design_.Z + (j + 1 < q_ ? subset[j] : design_.n_columns - 1) * kBlock;
  }
}

void PlainFit::take_null() {
  std::fill(theta_.begin(), theta_.end(), 0.0);
  for (std::int64_t c = 1; c < n_classes_; ++c) theta_[c * q_ + q_ - 1] = std::log(shares_[c] / shares_[0]);
}

template <class Visit>
void PlainFit::each_block(Visit visit) const {
  std::vector<const double*> columns(columns_);
  for (std::int64_t start = 0; start < n_padded_; start += kBlock) {
    if (stopped()) return;
    visit(columns.data(), start);
    for (const double*& column : columns) column += design_.n_columns * kBlock;
  }
}

void PlainFit::apply(const double* theta, std::vector<double>& out) const {
  std::fill(out.begin(), out.end(), 0.0);
  each_block([&](const double* const* columns, std::int64_t start) {
    for (std::int64_t c = n_classes_ == 2 ? 1 : 0; c < n_classes_; ++c) {
      double* here = &out[c * n_padded_ + start];
      for (std::int64_t j = 0; j < q_; ++j) {
        if (n_classes_ == 2) {
          add_scaled(columns[j], theta[c * q_ + j], here);
          continue;
        }
        // Coefficients of two classes may differ in the last digits only: first their difference, then the product.
        for (std::int64_t n = 0; n < std::min(kBlock, design_.n_rows - start); ++n) {
          here[n] += (theta[c * q_ + j] - theta[codes_[start + n] * q_ + j]) * columns[j][n];
        }
      }
    }
  });
}

// Loss and probabilities; whether every row is on its own side.
bool PlainFit::evaluate() {
  apply(theta_.data(), logits_);
  loss = 0.0;
  bool all_right = true;
  for (std::int64_t n = 0; n < design_.n_rows; ++n) {
    const auto at = [&](std::int64_t c) { return static_cast<std::size_t>(c * n_padded_ + n); };
    const std::int64_t code = codes_[n];
    std::int64_t likely = 0;
    for (std::int64_t c = 1; c < n_classes_; ++c) likely = logits_[at(c)] > logits_[at(likely)] ? c : likely;
    double others = 0.0;  // of all but the likeliest, which has 1
    for (std::int64_t c = 0; c < n_classes_; ++c) {
      chance_[at(c)] = std::exp(logits_[at(c)] - logits_[at(likely)]);
      if (c != likely) others += chance_[at(c)];
      all_right = all_right && (c == code || logits_[at(c)] < logits_[at(code)]);
    }
    for (std::int64_t c = 0; c < n_classes_; ++c) {
      chance_[at(c)] /= 1.0 + others;
      rest_[at(c)] = c == likely ? others / (1.0 + others) : 1.0 - chance_[at(c)];
    }
    loss += weight_[n] * (logits_[at(likely)] - logits_[at(code)] + std::log1p(others));
  }
  return all_right;
}

template <class Residual>
void PlainFit::sum_rows(Residual residual, double* out) const {
  std::fill_n(out, stride_, 0.0);
  alignas(64) double here[kBlock];
  each_block([&](const double* const* columns, std::int64_t start) {
    const std::int64_t n_here = std::min(kBlock, design_.n_rows - start);
    for (std::int64_t c = 1; c < n_classes_; ++c) {
      for (std::int64_t n = 0; n < n_here; ++n) here[n] = residual(c, start + n);
      std::fill(here + n_here, here + kBlock, 0.0);
      for (std::int64_t j = 0; j < q_; ++j) out[(c - 1) * q_ + j] += dot(here, columns[j], kBlock);
    }
  });
}

void PlainFit::sum_gradient() {
  const auto residual = [&](std::int64_t c, std::int64_t n) {
    return weight_[n] * (codes_[n] == c ? -rest_[c * n_padded_ + n] : chance_[c * n_padded_ + n]);
  };
  sum_rows(residual, gradient_.data());
}

// One symmetric block for each pair of classes.
void PlainFit::sum_hessian() {
  const std::int64_t numbers = gram_.stride * gram_.stride;
  std::fill(blocks_.begin(), blocks_.end(), 0.0);
  alignas(64) double factor[kBlock];
  each_block([&](const double* const* columns, std::int64_t start) {
    double* block = blocks_.data();
    for (std::int64_t c = 1; c < n_classes_; ++c) {
      for (std::int64_t d = c; d < n_classes_; ++d, block += numbers) {
        const double* first = &chance_[c * n_padded_ + start];
        const double* second = c == d ? &rest_[c * n_padded_ + start] : &chance_[d * n_padded_ + start];
        const double sign = c == d ? 1.0 : -1.0;
        for (std::int64_t n = 0; n < kBlock; ++n) factor[n] = sign * weight_[start + n] * first[n] * second[n];
        add_gram(gram_, columns, factor, block);
      }
    }
  });
  const double* block = blocks_.data();
  for (std::int64_t c = 0; c + 1 < n_classes_; ++c) {
    for (std::int64_t d = c; d + 1 < n_classes_; ++d, block += numbers) {
      for (std::int64_t j = 0; j < q_; ++j) {
        for (std::int64_t i = c == d ? j : 0; i < q_; ++i) {
          bend_[(c * q_ + j) * stride_ + d * q_ + i] = block[std::min(i, j) * gram_.stride + std::max(i, j)];
        }
      }
    }
  }
}

void PlainFit::solve() {
  factorise_without(collinear_);
  std::vector<std::int64_t> weak = weak_unknowns();
  if (!weak.empty() && !collinear_known_) {
    find_collinear();
    factorise_without(collinear_);
    weak = weak_unknowns();
  }
  if (!weak.empty()) {
    std::vector<std::int64_t> both(collinear_);
    both.insert(both.end(), weak.begin(), weak.end());
    factorise_without(both);
  }
  std::copy_n(gradient_.data(), n_unknown_, step_.data() + q_);
  solve_with(factor_.data(), n_unknown_, stride_, gradient_.data());
  decrement_ = dot(gradient_.data(), step_.data() + q_, n_unknown_);
  std::copy_n(gradient_.data(), n_unknown_, step_.data() + q_);
  flat_.clear();
  if (!weak.empty()) solve_weak(weak);
  apply(step_.data(), move_);
}

void PlainFit::factorise_without(const std::vector<std::int64_t>& unknowns) {
  std::copy(bend_.begin(), bend_.end(), factor_.data());
  for (const std::int64_t j : unknowns) {
    for (std::int64_t i = 0; i < n_unknown_; ++i) factor_.data()[std::min(i, j) * stride_ + std::max(i, j)] = 0.0;
  }
  factorise(factor_.data(), n_unknown_, stride_);
}

std::vector<std::int64_t> PlainFit::weak_unknowns() const {
  std::vector<std::int64_t> found;
  for (std::int64_t i = 0; i < n_unknown_; ++i) {
    const double inverse = factor_.data()[i * (stride_ + 1)], own = bend_[i * (stride_ + 1)];
    const bool weak = inverse == 0.0 || 1.0 / (inverse * inverse) <= kWeak * own;
    if (weak && !std::ranges::count(collinear_, i)) found.push_back(i);
  }
  return found;
}

// Columns that others make up in every row: neither its weight nor its size counts.
void PlainFit::find_collinear() {
  const auto rows_of = [&](auto visit) {
    each_block([&](const double* const* columns, std::int64_t start) {
      for (std::int64_t n = 0; n < std::min(kBlock, design_.n_rows - start); ++n) visit(columns, n);
    });
  };
  std::vector<double> size(static_cast<std::size_t>(q_)), count(size), squares(size), noise(size);
  rows_of([&](const double* const* columns, std::int64_t n) {
    for (std::int64_t j = 0; j < q_; ++j) {
      if (columns[j][n] == 0.0) continue;
      size[j] += std::log(std::abs(columns[j][n]));
      count[j] += 1.0;
    }
  });
  for (std::int64_t j = 0; j < q_; ++j) size[j] = std::exp(size[j] / std::max(count[j], 1.0));
  GradedRows rows(q_, design_.n_rows);
  const auto fold_rows = [&] {
    for (std::int64_t j = 0; j < q_; ++j) noise[j] = kCollinear * std::sqrt(squares[j]);
    fold(rows, noise.data(), true);
  };
  rows_of([&](const double* const* columns, std::int64_t n) {
    if (rows.full()) fold_rows();
    double *row = rows.next(), largest = 0.0;
    for (std::int64_t j = 0; j < q_; ++j) largest = std::max(largest, std::abs(row[j] = columns[j][n] / size[j]));
    for (std::int64_t j = 0; j < q_; ++j) {
      row[j] /= largest;
      squares[j] += row[j] * row[j];
    }
    row[q_] = 0.0;
  });
  fold_rows();
  for (std::int64_t i = rows.rank(); i < q_; ++i) {
    for (std::int64_t c = 1; c < n_classes_; ++c) collinear_.push_back((c - 1) * q_ + rows.order()[i]);
  }
  collinear_known_ = true;
}

// Of one weak unknown by one, the others following so that the curvature along them has no part in it.
std::vector<double> PlainFit::direction_of(std::int64_t weak) {
  std::vector<double> v(theta_.size()), mean(static_cast<std::size_t>(n_padded_));
  v[q_ + weak] = 1.0;
  AlignedBuffer<double> rest(stride_);
  for (std::int64_t i = 0; i < n_unknown_; ++i) rest.data()[i] = bend_[std::min(i, weak) * stride_ + std::max(i, weak)];
  for (int round = 0; round < 2; ++round) {
    solve_with(factor_.data(), n_unknown_, stride_, rest.data());
    for (std::int64_t i = 0; i < n_unknown_; ++i) v[q_ + i] -= rest.data()[i];
    // What rounding has left of it, from the rows.
    apply(v.data(), move_);
    std::fill(mean.begin(), mean.end(), 0.0);
    for (std::int64_t i = 0; i < n_classes_ * n_padded_; ++i) mean[i % n_padded_] += chance_[i] * move_[i];
    const auto curvature = [&](std::int64_t c, std::int64_t n) {
      return weight_[n] * chance_[c * n_padded_ + n] * (move_[c * n_padded_ + n] - mean[n]);
    };
    if (round == 0) sum_rows(curvature, rest.data());
  }
  return v;
}

// Newton's step along the directions of the weak unknowns, as least squares: the Hessian of a row is the sum of squares
// of C - 1 numbers, by how much a class moves more than the mean of those after it, the likeliest being the last.
void PlainFit::solve_weak(const std::vector<std::int64_t>& weak) {
  std::vector<std::vector<double>> directions;
  for (const std::int64_t j : weak) directions.push_back(direction_of(j));
  directions.push_back(step_);
  const auto n_weak = static_cast<std::int64_t>(weak.size());
  const std::size_t n_all = directions.size();
  GradedRows rows(n_weak, design_.n_rows * (n_classes_ - 1));
  std::vector<double> z(static_cast<std::size_t>(q_)), moved(n_all * static_cast<std::size_t>(n_classes_));
  std::vector<double> mean(n_all), size(n_all), squares(n_all), noise(n_all);
  const auto fold_rows = [&] {
    for (std::size_t a = 0; a < n_all; ++a) noise[a] = kNoise * std::sqrt(squares[a]);
    fold(rows, noise.data(), false);
  };
  const auto add_row = [&](std::int64_t n) {
    const std::int64_t own = codes_[n];
    std::fill(size.begin(), size.end(), 0.0);
    for (std::size_t a = 0; a < n_all; ++a) {
      for (std::int64_t c = 0; c < n_classes_; ++c) {
        const double *of_class = &directions[a][c * q_], *of_own = &directions[a][own * q_];
        double sum = 0.0, terms = 0.0;
        for (std::int64_t j = 0; j < q_; ++j) {
          sum += (of_class[j] - of_own[j]) * z[j];
          terms += std::abs(of_class[j] * z[j]);
        }
        moved[c * n_all + a] = sum;
        size[a] = std::max(size[a], terms);
      }
    }
    const auto chance = [&](std::int64_t c) { return chance_[c * n_padded_ + n]; };
    std::int64_t likely = 0;
    for (std::int64_t c = 1; c < n_classes_; ++c) likely = chance(c) > chance(likely) ? c : likely;
    std::copy_n(&moved[likely * n_all], n_all, mean.begin());
    double after = chance(likely);  // of the classes that come after
    bool before_own = likely == own;
    for (std::int64_t c = 0; c < n_classes_; ++c) {
      if (c == likely) continue;
      // Nothing is left of the own class of a row that is on the wrong side, but what it wants.
      const double p = c == own ? std::max(chance(c), kLeast) : chance(c), both = p + after;
      if (p < kLeast) continue;
      const double root = std::sqrt(weight_[n] * p * after / both);
      if (rows.full()) fold_rows();
      double* row = rows.next();
      for (std::size_t a = 0; a < n_all; ++a) {
        row[a] = root * (moved[c * n_all + a] - mean[a]);
        squares[a] += root * root * size[a] * size[a];
        mean[a] += p / both * (moved[c * n_all + a] - mean[a]);
      }
      // What is left of what the row wants, where the other unknowns have made their step.
      const double wanted = c == own ? -after / both : before_own ? p / both : 0.0;
      row[n_weak] = weight_[n] * wanted / root - row[n_weak];
      before_own = before_own || c == own;
      after = both;
    }
  };
  each_block([&](const double* const* columns, std::int64_t start) {
    for (std::int64_t n = 0; n < std::min(kBlock, design_.n_rows - start); ++n) {
      for (std::int64_t j = 0; j < q_; ++j) z[j] = columns[j][n];
      add_row(start + n);
    }
  });
  fold_rows();
  const auto follow = [&](const std::vector<double>& along, double factor, std::vector<double>& out) {
    for (std::size_t a = 0; a < along.size(); ++a) {
      for (std::size_t i = 0; i < out.size(); ++i) out[i] += factor * along[a] * directions[a][i];
    }
  };
  follow(rows.solution(n_weak), 1.0, step_);
  decrement_ += rows.explained();
  for (std::int64_t i = rows.rank(); i < n_weak; ++i) {
    flat_.push_back(directions[rows.order()[i]]);
    follow(rows.solution(rows.order()[i]), -1.0, flat_.back());
  }
}

// Whether along some mixture of the flat directions no row that is on its way out comes back, and some go on. Of a row,
// what the directions move it by is a vector g, of length 1 or 0. If a sum of all of them, each at least once, is zero,
// none is such a mixture; else the smallest sum is one itself.
bool PlainFit::flat_directions_separate() const {
  const std::size_t n_flat = flat_.size();
  if (n_flat == 0) return false;
  std::vector<std::vector<double>> moved(n_flat, std::vector<double>(logits_.size())), size = moved;
  for (std::size_t a = 0; a < n_flat; ++a) {
    apply(flat_[a].data(), moved[a]);
    each_block([&](const double* const* columns, std::int64_t start) {
      for (std::int64_t i = 0; i < n_classes_ * q_; ++i) {
        const std::int64_t c = i / q_, j = i % q_;
        for (std::int64_t n = 0; n < kBlock; ++n) {
          size[a][c * n_padded_ + start + n] += std::abs(flat_[a][i] * columns[j][n]);
        }
      }
    });
  }
  std::vector<std::vector<double>> gains;
  std::vector<double> sum(n_flat), gain(n_flat);
  for (std::int64_t n = 0; n < design_.n_rows; ++n) {
    const std::int64_t own = codes_[n] * n_padded_ + n;
    for (std::int64_t i = n; i < n_classes_ * n_padded_; i += n_padded_) {
      if (i == own || chance_[i] > kLeaving) continue;
      double squares = 0.0;
      for (std::size_t a = 0; a < n_flat; ++a) {
        gain[a] = moved[a][own] - moved[a][i];
        if (std::abs(gain[a]) <= kMoved * (size[a][own] + size[a][i])) gain[a] = 0.0;
        squares += gain[a] * gain[a];
      }
      if (squares == 0.0) continue;
      for (std::size_t a = 0; a < n_flat; ++a) sum[a] += gain[a] /= std::sqrt(squares);
      gains.push_back(gain);
    }
  }
  std::vector<double> extra(gains.size());
  for (int sweep = 0; sweep < kSweeps && !gains.empty(); ++sweep) {
    double worst = 0.0;
    for (std::size_t i = 0; i < gains.size(); ++i) {
      const double along = std::inner_product(sum.begin(), sum.end(), gains[i].begin(), 0.0);
      const double more = std::max(-extra[i], -along);
      worst = std::min(worst, along);
      extra[i] += more;
      for (std::size_t a = 0; a < n_flat; ++a) sum[a] += more * gains[i][a];
    }
    const double length = std::sqrt(std::inner_product(sum.begin(), sum.end(), sum.begin(), 0.0));
    if (length <= 1e-9) return false;
    if (worst >= -1e-9 * length) return true;
  }
  return true;
}

PlainFit::Moves PlainFit::moves() const {
  Moves found{0.0, kInfinity, kInfinity, true};
  for (std::int64_t n = 0; n < design_.n_rows; ++n) {
    const auto at = [&](std::int64_t c) { return static_cast<std::size_t>(c * n_padded_ + n); };
    const std::size_t own = at(codes_[n]);
    for (std::int64_t c = 0; c < n_classes_; ++c) {
      if (at(c) == own) continue;
      const double gain = move_[at(c)] - move_[own];
      const double margin = logits_[own] - logits_[at(c)];
      // One that counts no more may come back.
      if (chance_[at(c)] > kLeaving || margin + gain < kBack) {
        if (!(std::abs(gain) <= found.live)) found.live = std::abs(gain);  // not a number stays that
      } else if (gain < 0.0) {
        found.limit = std::min(found.limit, (kBack - margin) / gain);
      } else if (gain > std::max(kDrift, kRounding * margin)) {
        found.slowest = std::min(found.slowest, gain);
        found.all_gone = found.all_gone && chance_[at(c)] <= kGone;
      }
    }
  }
  return found;
}

// The loss and its slope along the step, where that has been followed by a fraction.
PlainFit::Place PlainFit::along(double fraction) const {
  Place place{0.0, 0.0};
  if (n_classes_ == 2) {
    look_along(margin_.data(), gain_.data(), weight_.data(), design_.n_rows, fraction, place.loss, place.slope);
    return place;
  }
  for (std::int64_t n = 0; n < design_.n_rows; ++n) {
    const auto at = [&](std::int64_t c) { return static_cast<std::size_t>(c * n_padded_ + n); };
    const auto logit = [&](std::size_t i) { return logits_[i] - fraction * move_[i]; };
    const std::size_t own = at(codes_[n]);
    double largest = -kInfinity, total = 0.0, change = 0.0;
    for (std::int64_t c = 0; c < n_classes_; ++c) largest = std::max(largest, logit(at(c)));
    for (std::int64_t c = 0; c < n_classes_; ++c) {
      const double e = std::exp(logit(at(c)) - largest);
      total += e;
      // No difference of nearly equal numbers: the probability of its own class is not needed.
      change += e * (move_[own] - move_[at(c)]);
    }
    place.loss += weight_[n] * (largest - logit(own) + std::log(total));
    place.slope += weight_[n] * change / total;
  }
  return place;
}

// Where the slope along the step is next to nothing, or still down; 0 where it leads up.
double PlainFit::line_search(double largest) {
  const double first = -decrement_;
  if (!(first < 0.0)) return 0.0;
  for (std::int64_t n = 0; n_classes_ == 2 && n < design_.n_rows; ++n) {
    const double sign = codes_[n] == 0 ? -1.0 : 1.0;
    margin_[n] = sign * logits_[n_padded_ + n];
    gain_[n] = -sign * move_[n_padded_ + n];
  }
  double low = 0.0, high = 1.0;
  Place here = along(high);
  // A slope that is next to nothing may have led up for long.
  if (std::abs(here.slope) <= kFlat * -first && here.loss <= loss) return high;
  // Farther: so far that nothing of the rows is left, if need be.
  while (here.slope < 0.0 && !stopped() && 2.0 * high * largest <= kFar) {
    low = high;
    here = along(high *= 2.0);
  }
  if (here.slope <= 0.0) return high;
  for (int halving = 0; halving < kMaxHalvings && !stopped(); ++halving) {
    const double middle = 0.5 * (low + high);
    const double slope = along(middle).slope;
    (slope <= 0.0 ? low : high) = middle;
    if (slope <= 0.0 && (slope >= kFlat * first || halving >= kBisections)) break;
  }
  return low;
}

}  // namespace safdr
