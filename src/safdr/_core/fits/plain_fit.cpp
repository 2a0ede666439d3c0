#include "fits/plain_fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "fits/cholesky.hpp"
#include "simd/clones.hpp"
#include "interrupt.hpp"
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

// Share of its curvature up to which a column counts as collinear with others: so near to what is flat that weights of
// rows may make the difference.
constexpr double kCollinear = 1e-9;

// What rounding may add to the loss by a step, and what is no progress.
constexpr double kRise = 1e-10, kProgress = 1e-14;

// Part of a sum's terms that rounding may make of it.
constexpr double kNoise = 1e-13;

// A step is followed to where its slope is this part of what it was at first: less than the 1/e that a row on its way
// to infinity leaves, so that it is sent farther.
constexpr double kFlat = 0.3;

// Halvings that are enough once the slope has changed its sign, and those that must lead down.
constexpr int kBisections = 3, kMaxHalvings = 1100;

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
      columns_(static_cast<std::size_t>(gram_.stride)), theta_(static_cast<std::size_t>(n_classes_ * q_)), step_(theta_.size()),
      logits_(static_cast<std::size_t>(n_classes_ * n_padded_)), move_(logits_.size()), chance_(logits_.size()),
      rest_(logits_.size()), margin_(static_cast<std::size_t>(n_padded_)), gain_(margin_.size()), gradient_(stride_),
      bend_(static_cast<std::size_t>(stride_ * stride_)), factor_(stride_ * stride_),
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
  bool going = false;  // whether rows seem to be on their way out
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
      return;
    }
    const bool stuck = kept_loss - loss <= kProgress;
    kept = theta_;
    kept_loss = loss;
    // 3. Newton's step, and what it would move the rows by.
    sum_gradient();
    sum_hessian();
    solve();
    // What is flat without features is so since columns are collinear. Elsewhere nobody knows.
    if (n_iter == 0 && start && !flat_.empty()) return run(subset, nullptr, max_iter);
    if (n_iter == 0) collinear_ = unknowns_below(kCollinear);
    std::erase_if(flat_, [&](std::int64_t j) { return std::ranges::count(collinear_, j) > 0; });
    Moves move = moves();
    bool quiet = move.live <= kQuiet || (move.live <= kNearby && stuck && move.live >= 0.5 * before);
    before = move.live;
    const bool flat = quiet && !flat_.empty();
    if (flat) {
      // Of rows that count less than rounding of the others: what they want where those want nothing.
      solve_flat();
      move = moves();
      quiet = move.live <= kSteady;
    }
    // 4. At the optimum no row moves. If some that count no more do, or nothing bends the loss where something did
    //    without features, they are on their way to infinity: they are sent there, to see whether anything comes up behind them.
    const bool leaving = quiet && move.slowest < kInfinity;
    going = !flat_.empty() || move.slowest < kInfinity;
    separated = quiet && (leaving ? move.all_gone : flat);
    converged = quiet && !leaving && !separated && move.live <= kSteady;
    // 5. Otherwise follow the step to about the smallest loss in its direction.
    double fraction = 1.0;
    if (leaving) fraction = std::min({kFar / move.slowest, move.limit, kStill / move.live});
    if (move.live > kSteady) fraction = line_search(move.live);
    if (separated) return;
    if (!(fraction > 0.0)) {
      separated = going;
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
    for (std::int64_t c = 1; c < n_classes_; ++c) {
      for (std::int64_t j = 0; j < q_; ++j) add_scaled(columns[j], theta[c * q_ + j], &out[c * n_padded_ + start]);
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

void PlainFit::sum_gradient() {
  std::fill_n(gradient_.data(), stride_, 0.0);
  alignas(64) double residual[kBlock];
  each_block([&](const double* const* columns, std::int64_t start) {
    const std::int64_t n_here = std::min(kBlock, design_.n_rows - start);
    for (std::int64_t c = 1; c < n_classes_; ++c) {
      const double *chance = &chance_[c * n_padded_ + start], *rest = &rest_[c * n_padded_ + start];
      for (std::int64_t n = 0; n < n_here; ++n) {
        residual[n] = weight_[start + n] * (codes_[start + n] == c ? -rest[n] : chance[n]);
      }
      std::fill(residual + n_here, residual + kBlock, 0.0);
      for (std::int64_t j = 0; j < q_; ++j) gradient_.data()[(c - 1) * q_ + j] += dot(residual, columns[j], kBlock);
    }
  });
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
  std::copy(bend_.begin(), bend_.end(), factor_.data());
  factorise(factor_.data(), n_unknown_, stride_);
  flat_ = unknowns_below(0.0);
  std::copy_n(gradient_.data(), n_unknown_, step_.data() + q_);
  solve_with(factor_.data(), n_unknown_, stride_, gradient_.data());
  decrement_ = dot(gradient_.data(), step_.data() + q_, n_unknown_);
  std::copy_n(gradient_.data(), n_unknown_, step_.data() + q_);
  apply(step_.data(), move_);
}

// Unknowns to which those before them leave no more than this share of their curvature.
std::vector<std::int64_t> PlainFit::unknowns_below(double share) const {
  std::vector<std::int64_t> found;
  for (std::int64_t i = 0; i < n_unknown_; ++i) {
    const double inverse = factor_.data()[i * (stride_ + 1)], own = bend_[i * (stride_ + 1)];
    if (inverse == 0.0 || 1.0 / (inverse * inverse) <= share * own) found.push_back(i);
  }
  return found;
}

// What a step moves two logits of a row by is the same where rounding may have made the difference.
void PlainFit::drop_rounding(const double* step) {
  std::vector<double> size(static_cast<std::size_t>(n_classes_));
  each_block([&](const double* const* columns, std::int64_t start) {
    for (std::int64_t n = 0; n < kBlock; ++n) {
      const auto move = [&](std::int64_t c) -> double& { return move_[c * n_padded_ + start + n]; };
      for (std::int64_t c = 1; c < n_classes_; ++c) {
        size[c] = 0.0;
        for (std::int64_t j = 0; j < q_; ++j) size[c] += std::abs(step[c * q_ + j] * columns[j][n]);
        for (std::int64_t d = 0; d < c; ++d) {
          if (std::abs(move(c) - move(d)) > kNoise * (size[c] + size[d])) continue;
          move(c) = move(d);
          break;
        }
      }
    }
  });
}

// Newton's step within the directions v = e_j - H^-1 H e_j of the flat unknowns j, from what v moves each row by:
// sums over rows of squares, not differences of such sums.
void PlainFit::solve_flat() {
  const auto n_flat = static_cast<std::int64_t>(flat_.size()), stride = whole_steps(n_flat);
  std::vector<std::vector<double>> directions, moved;
  for (const std::int64_t j : flat_) {
    AlignedBuffer<double> v(stride_);
    for (std::int64_t i = 0; i < n_unknown_; ++i) v.data()[i] = -bend_[std::min(i, j) * stride_ + std::max(i, j)];
    solve_with(factor_.data(), n_unknown_, stride_, v.data());
    v.data()[j] = 1.0;
    std::vector<double> direction(theta_.size());
    std::copy_n(v.data(), n_unknown_, direction.data() + q_);
    apply(direction.data(), move_);
    drop_rounding(direction.data());
    directions.push_back(std::move(direction));
    moved.push_back(move_);
  }
  AlignedBuffer<double> H(stride * stride), g(stride);
  std::vector<double> mean(flat_.size());
  for (std::int64_t n = 0; n < design_.n_rows; ++n) {
    const auto at = [&](std::int64_t c) { return static_cast<std::size_t>(c * n_padded_ + n); };
    const std::size_t own = at(codes_[n]);
    for (std::size_t a = 0; a < moved.size(); ++a) {
      // From the row's own class, since the others have next to no probability.
      mean[a] = 0.0;
      for (std::int64_t c = 0; c < n_classes_; ++c) mean[a] += chance_[at(c)] * (moved[a][at(c)] - moved[a][own]);
      g.data()[a] += weight_[n] * mean[a];
    }
    for (std::int64_t c = 0; c < n_classes_; ++c) {
      for (std::size_t a = 0; a < moved.size(); ++a) {
        const double first = weight_[n] * chance_[at(c)] * (moved[a][at(c)] - moved[a][own] - mean[a]);
        for (std::size_t b = a; b < moved.size(); ++b) {
          H.data()[static_cast<std::int64_t>(a) * stride + static_cast<std::int64_t>(b)] +=
              first * (moved[b][at(c)] - moved[b][own] - mean[b]);
        }
      }
    }
  }
  AlignedBuffer<double> along_flat(stride);
  factorise(H.data(), n_flat, stride);
  std::copy_n(g.data(), stride, along_flat.data());
  solve_with(H.data(), n_flat, stride, along_flat.data());
  decrement_ = dot(g.data(), along_flat.data(), n_flat);
  std::fill(step_.begin(), step_.end(), 0.0);
  for (std::size_t a = 0; a < directions.size(); ++a) {
    for (std::size_t i = 0; i < step_.size(); ++i) step_[i] += along_flat.data()[a] * directions[a][i];
  }
  apply(step_.data(), move_);
  drop_rounding(step_.data());
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
