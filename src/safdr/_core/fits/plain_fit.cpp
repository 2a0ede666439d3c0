#include "fits/plain_fit.hpp"

#include <algorithm>
#include <cmath>

#include "fits/weak_directions.hpp"
#include "interrupt.hpp"
#include "simd/clones.hpp"
#include "simd/vector_math.hpp"

namespace safdr {
namespace {

// Margin at which a row counts again: about -log(kLeaving).
constexpr double kBack = 20.0;

// Rows on their way out are moved so far in one go, which takes them there, as long as the others move no farther than
// the second.
constexpr double kFar = 250.0, kStill = 0.01;

// Whether rows are on their way out can be told once the others move no more than this (or no less than at the step
// before, to no end: then rounding moves them): a row that then moves towards its own class by more than the second,
// and by more than the third of how far it has come, does so since nothing else holds it.
constexpr double kQuiet = 1e-8, kDrift = 0.05, kRounding = 1e-6;

// Of the rows that a direction takes out, Newton's step moves the one with most to lose by about 1. Where none moves by
// the first, no v is 1: but for rounding, the optimum is finite. Where all move by more than the second, it is others
// that move them. Where one does of which anything is left, its v exceeds 1, and the decrement tells nothing.
constexpr double kOwnPace = 0.9, kOthersPace = 2.0;

// Steps after which rows that still move on are taken to do so for ever, gone or not: at an optimum they come to rest
// within a few.
constexpr int kPatience = 20;

// What rounding may add to the loss by a step, and what is no progress.
constexpr double kRise = 1e-10, kProgress = 1e-14;

// A step that promises no progress and takes rows farther out than this is made of rounding.
constexpr double kSenseless = 1e12;

// Where rounding moves rows, a fit is at its optimum if by the decrement no more than this is left.
constexpr double kTold = 1e-8;

// A step is followed to where its slope is this part of what it was at first: less than the 1/e that a row on its way
// to infinity leaves, so that it is sent farther.
constexpr double kFlat = 0.3;

// Halvings that are enough once the slope has changed its sign, and those that must lead down.
constexpr int kBisections = 3, kMaxHalvings = 1100;

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

}  // namespace

PlainFit::PlainFit(const ClassDesign& design, std::int64_t size)
    : rows_(design, size), newton_(rows_), theta_(newton_.step.size()),
      logits_(static_cast<std::size_t>(rows_.n_classes * rows_.n_padded)), move_(logits_.size()),
      now_{logits_, logits_}, margin_(static_cast<std::size_t>(rows_.n_padded)), gain_(margin_.size()) {}

void PlainFit::run(const std::int32_t* subset, const Start& start, std::int64_t max_iter) {
  descend(subset, start, max_iter);
  if (!start || certain_ || stopped()) return;
  // Rounding stopped it on its way from there. There is another way, and the better end counts.
  const std::vector<double> first = theta_;
  const double first_loss = loss;
  const bool first_separated = separated, first_converged = converged;
  const std::int64_t first_steps = n_iter;
  descend(subset, nullptr, max_iter);
  n_iter += first_steps;
  if (certain_ || loss <= first_loss) return;
  theta_ = first;
  loss = first_loss;
  separated = first_separated;
  converged = first_converged;
}

void PlainFit::descend(const std::int32_t* subset, const Start& start, std::int64_t max_iter) {
  begin(subset, start);
  Descent way{theta_};
  for (n_iter = 0; n_iter <= max_iter && !stopped(); ++n_iter) {
    // 1. Where every row is on its own side the classes are separated.
    if (evaluate()) {
      separated = certain_ = true;
      loss = 0.0;
      return;
    }
    // 2. The step before was the last; or it was one too many.
    certain_ = converged;
    if (converged) return;
    if (!(loss <= way.kept_loss + kRise)) {
      if (!turn_back(way)) return;
      continue;
    }
    const bool stuck = way.kept_loss - loss <= kProgress;
    way.kept = theta_;
    way.kept_loss = loss;
    // 3. Newton's step, and what it would move the rows by.
    newton_.find(now_);
    rows_.apply(newton_.step.data(), move_);
    // Columns that others stand for have no coefficients.
    if (n_iter == 0 && start && newton_.any_collinear()) return descend(subset, nullptr, max_iter);
    const Gains gain = gains();
    // 4. What that tells about this place: an optimum, separation, or neither.
    const bool leaving = judge(gain, stuck, way);
    certain_ = separated;
    if (separated) return;
    // 5. The step is followed.
    const double fraction = length_of_step(gain, leaving, way);
    if (!(fraction > 0.0)) return end_by_rounding(way);
    follow(fraction);
  }
  theta_ = way.kept;  // the loss is that of this point
}

void PlainFit::begin(const std::int32_t* subset, const Start& start) {
  rows_.take(subset);
  newton_.forget();
  take_null();
  for (std::int64_t c = 0; start && c < rows_.n_classes; ++c) {
    // Less those of the most common class.
    for (std::int64_t j = 0; j < rows_.q; ++j)
      theta_[rows_.row_of(c) * rows_.q + j] = start(c)[j] - start(rows_.common)[j];
  }
  separated = converged = false;
}

// Back to the place before a step that led up. False if that was made of rounding.
bool PlainFit::turn_back(Descent& way) {
  theta_ = way.kept;
  loss = way.kept_loss;
  if (!way.sent) {
    end_by_rounding(way);
    return false;
  }
  // Something holds the rows that were sent out: the step itself, and no farther.
  way.sent = false;
  way.held = true;
  follow(1.0);
  return true;
}

// Rows that were on their way out would have gone on, if a direction is known that takes them there and no other back.
// One that the rows themselves show holds even where the last steps, made of rounding, don't tell who is on its way.
void PlainFit::end_by_rounding(const Descent& way) {
  separated =
      rows_separate(rows_, now_) ||
      (way.going && (directions_separate(rows_, now_, newton_.flat) || step_separates(rows_, now_, newton_.step)));
  converged = way.told && !way.going && !separated;
}

// Whether the fit is at its optimum (one step more can't harm), or separated. Returns whether rows are on their way out
// while no other moves.
bool PlainFit::judge(const Gains& gain, bool stuck, Descent& way) {
  way.told = gain.live <= kNearby && gain.v <= kOthersPace && newton_.decrement <= kTold;
  const bool moved_by_rounding = gain.live <= kNearby && (stuck || way.told) && gain.live >= 0.5 * way.live_before;
  const bool quiet = gain.live <= kQuiet || moved_by_rounding;
  way.live_before = gain.live;
  const bool flat = directions_separate(rows_, now_, newton_.flat);
  const bool outward = gain.slowest <= kOthersPace, leaving = quiet && outward;
  const bool by_themselves = gain.fastest >= kOwnPace;
  const bool for_ever = leaving && ((gain.all_gone && by_themselves) || way.waited > kPatience);
  // Some go out as others come back: they may hold each other so far out that nothing is left of either.
  const bool at_rest = for_ever && gain.any_back && !rows_separate(rows_, now_);
  way.going = flat || outward;
  separated = quiet && (leaving ? for_ever && !at_rest : flat);
  const bool senseless = way.told && newton_.decrement <= kProgress && gain.fastest > kSenseless;
  separated = separated || (senseless && rows_separate(rows_, now_));
  const bool still = gain.slowest == kInfinity || stuck;
  // A row of which anything is left, and that the others send far out, may have hidden what they have to gain.
  const bool hidden = gain.v > kOthersPace;
  converged = quiet && still && !leaving && !separated && !hidden && (way.told || gain.live <= kSteady);
  converged = converged || (at_rest && way.told);
  // At an optimum those that are gone stay where they are. Rounding may hide that they go on.
  if (converged && gain.any_gone && rows_separate(rows_, now_)) {
    separated = true;
    converged = false;
  }
  return leaving;
}

// The part of a step to about the smallest loss in its direction; 0 where there is none. Rows on their way out are sent
// to infinity, to see whether anything comes up behind them.
double PlainFit::length_of_step(const Gains& gain, bool leaving, Descent& way) {
  way.sent = leaving && !way.held && !gain.all_gone;
  way.waited += leaving;
  if (gain.live > kSteady) return line_search(gain.live);
  return way.sent ? std::max(1.0, std::min({kFar / gain.slowest, gain.limit, kStill / gain.live})) : 1.0;
}

void PlainFit::follow(double fraction) {
  for (std::size_t i = 0; i < theta_.size(); ++i) theta_[i] -= fraction * newton_.step[i];
}

void PlainFit::take_null() {
  std::fill(theta_.begin(), theta_.end(), 0.0);
  const std::vector<double>& shares = rows_.shares;
  for (std::int64_t c = 1; c < rows_.n_classes; ++c) theta_[(c + 1) * rows_.q - 1] = std::log(shares[c] / shares[0]);
}

// Loss and probabilities; whether every row is on its own side.
bool PlainFit::evaluate() {
  rows_.apply(theta_.data(), logits_);
  loss = 0.0;
  bool all_right = true;
  for (std::int64_t n = 0; n < rows_.n_rows; ++n) {
    const auto at = [&](std::int64_t c) { return rows_.at(c, n); };
    const std::int64_t code = rows_.codes[n];
    std::int64_t likely = 0;
    for (std::int64_t c = 1; c < rows_.n_classes; ++c) likely = logits_[at(c)] > logits_[at(likely)] ? c : likely;
    double others = 0.0;  // of all but the likeliest, which has 1
    for (std::int64_t c = 0; c < rows_.n_classes; ++c) {
      now_.p[at(c)] = std::exp(logits_[at(c)] - logits_[at(likely)]);
      if (c != likely) others += now_.p[at(c)];
      all_right = all_right && (c == code || logits_[at(c)] < logits_[at(code)]);
    }
    for (std::int64_t c = 0; c < rows_.n_classes; ++c) {
      now_.p[at(c)] /= 1.0 + others;
      now_.rest[at(c)] = c == likely ? others / (1.0 + others) : 1.0 - now_.p[at(c)];
    }
    loss += rows_.weight[n] * (logits_[at(likely)] - logits_[at(code)] + std::log1p(others));
  }
  return all_right;
}

PlainFit::Gains PlainFit::gains() const {
  Gains found{0.0, kInfinity, 0.0, 0.0, kInfinity, true, false, false};
  double nearest = kInfinity;                         // margin of those on their way out
  double nearest_back = kInfinity, gain_back = -1.0;  // of those that come back
  for (std::int64_t n = 0; n < rows_.n_rows; ++n) {
    const auto at = [&](std::int64_t c) { return rows_.at(c, n); };
    const std::size_t own = at(rows_.codes[n]);
    for (std::int64_t c = 0; c < rows_.n_classes; ++c) {
      if (at(c) == own) continue;
      const double gain = move_[at(c)] - move_[own];
      const double margin = logits_[own] - logits_[at(c)];
      // One that counts no more may come back.
      if (now_.p[at(c)] > kLeaving || margin + gain < kBack) {
        if (!(std::abs(gain) <= found.live)) found.live = std::abs(gain);  // not a number stays that
        continue;
      }
      found.any_gone = true;
      const bool moves = std::abs(gain) > std::max(kDrift, kRounding * margin);
      if (gain < 0.0) {
        found.limit = std::min(found.limit, (kBack - margin) / gain);
        found.any_back = found.any_back || moves;
        // One of which nothing is left at all has no part in the step.
        if (!moves || now_.p[at(c)] == 0.0) continue;
        found.all_gone = false;
        if (margin > nearest_back) continue;
        nearest_back = margin;
        gain_back = gain;
      } else if (moves) {
        nearest = std::min(nearest, margin);
        found.slowest = std::min(found.slowest, gain);
        found.fastest = std::max(found.fastest, gain);
        if (now_.p[at(c)] <= kGone) continue;
        found.v = std::max(found.v, gain);
        found.all_gone = false;
      }
    }
  }
  // Where both have as much to lose, they hold each other.
  if (nearest < kInfinity) found.limit = std::min(found.limit, (nearest_back - nearest) / (found.slowest - gain_back));
  return found;
}

// The loss and its slope along the step, where that has been followed by a fraction.
PlainFit::Place PlainFit::along(double fraction) const {
  Place place{0.0, 0.0};
  if (rows_.n_classes == 2) {
    look_along(margin_.data(), gain_.data(), rows_.weight.data(), rows_.n_rows, fraction, place.loss, place.slope);
    return place;
  }
  for (std::int64_t n = 0; n < rows_.n_rows; ++n) {
    const auto at = [&](std::int64_t c) { return rows_.at(c, n); };
    const auto logit = [&](std::size_t i) { return logits_[i] - fraction * move_[i]; };
    const std::size_t own = at(rows_.codes[n]);
    double largest = -kInfinity, total = 0.0, change = 0.0;
    for (std::int64_t c = 0; c < rows_.n_classes; ++c) largest = std::max(largest, logit(at(c)));
    for (std::int64_t c = 0; c < rows_.n_classes; ++c) {
      const double e = std::exp(logit(at(c)) - largest);
      total += e;
      // No difference of nearly equal numbers: the probability of its own class is not needed.
      change += e * (move_[own] - move_[at(c)]);
    }
    place.loss += rows_.weight[n] * (largest - logit(own) + std::log(total));
    place.slope += rows_.weight[n] * change / total;
  }
  return place;
}

// Where the slope along the step is next to nothing, or still down; 0 where it leads up.
double PlainFit::line_search(double largest) {
  const double first = -newton_.decrement;
  if (!(first < 0.0)) return 0.0;
  for (std::int64_t n = 0; rows_.n_classes == 2 && n < rows_.n_rows; ++n) {
    const double sign = rows_.codes[n] == 0 ? -1.0 : 1.0;
    margin_[n] = sign * logits_[rows_.n_padded + n];
    gain_[n] = -sign * move_[rows_.n_padded + n];
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
