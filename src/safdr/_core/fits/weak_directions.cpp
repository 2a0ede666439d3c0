#include "fits/weak_directions.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "fits/graded_rows.hpp"
#include "simd/clones.hpp"

namespace safdr {
namespace {

// Share of its size up to which a column counts as collinear with others.
constexpr double kCollinear = 1e-6;

// Part of a sum's terms that rounding may make of it.
constexpr double kNoise = 4e-15;

// A probability that is no less than nothing.
constexpr double kLeast = 1e-290;

// Part of what directions are made of that they must move a row by, to be no rounding.
constexpr double kMoved = 1e-4;

// The same that they may move a row by that stays.
constexpr double kStays = 1e-8;

// The same of what the class that is moved most is: the others follow it, as far as rounding lets them.
constexpr double kFollowed = 1e-7;

// The same of the row that is moved most: what is left of those that are gone bends a direction by that little. Values
// over 16 digits still count.
constexpr double kUnmoved = 1e-18;

// How long a mixture is looked for, and what is zero of sums of vectors of length 1.
constexpr int kSweeps = 1000;
constexpr double kZero = 1e-9;

SAFDR_CLONES void fold(GradedRows& rows, const double* noise, bool by_number) { rows.fold(noise, by_number); }

// Geometric means of the numbers that are not zero.
std::vector<double> column_sizes(const SubsetRows& rows) {
  std::vector<double> size(static_cast<std::size_t>(rows.q)), count(size);
  rows.each_row([&](const double* const* columns, std::int64_t, std::int64_t n) {
    for (std::int64_t j = 0; j < rows.q; ++j) {
      if (columns[j][n] == 0.0) continue;
      size[j] += std::log(std::abs(columns[j][n]));
      count[j] += 1.0;
    }
  });
  for (std::int64_t j = 0; j < rows.q; ++j) size[j] = std::exp(size[j] / std::max(count[j], 1.0));
  return size;
}

// Newton's step along directions as least squares: the Hessian of a row is the sum of squares of C - 1 numbers, by how
// much a class moves more than the mean of those after it, the likeliest being the last. What rows want is the
// right-hand side, less what a step of the other unknowns, the last direction, gives them.
class WeakSquares {
 public:
  WeakSquares(const SubsetRows& rows, const Probabilities& now, const std::vector<Direction>& directions)
      : rows_(rows), now_(now), directions_(directions), n_all_(directions.size()),
        found_(static_cast<std::int64_t>(n_all_) - 1, rows.n_rows * (rows.n_classes - 1)),
        moved_(n_all_ * static_cast<std::size_t>(rows.n_classes)), mean_(n_all_), size_(n_all_), squares_(n_all_),
        noise_(n_all_) {
    rows.each_row([&](const double* const* columns, std::int64_t start, std::int64_t n) {
      move_row(columns, n, rows_.codes[start + n]);
      add_row(start + n);
    });
    fold_rows();
  }

  const GradedRows& found() const { return found_; }

 private:
  // What the directions move the logits of a row by, each less that of its own class, and what that is a sum of.
  void move_row(const double* const* columns, std::int64_t n, std::int64_t own) {
    std::fill(size_.begin(), size_.end(), 0.0);
    for (std::size_t a = 0; a < n_all_; ++a) {
      for (std::int64_t c = 0; c < rows_.n_classes; ++c) {
        const double *of_class = &directions_[a][c * rows_.q], *of_own = &directions_[a][own * rows_.q];
        double sum = 0.0, terms = 0.0;
        for (std::int64_t j = 0; j < rows_.q; ++j) {
          sum += (of_class[j] - of_own[j]) * columns[j][n];
          terms += std::abs(of_class[j] * columns[j][n]);
        }
        moved_[c * n_all_ + a] = sum;
        size_[a] = std::max(size_[a], terms);
      }
    }
  }

  void add_row(std::int64_t n) {
    const auto chance = [&](std::int64_t c) { return now_.p[rows_.at(c, n)]; };
    const std::int64_t own = rows_.codes[n];
    std::int64_t likely = 0;
    for (std::int64_t c = 1; c < rows_.n_classes; ++c) likely = chance(c) > chance(likely) ? c : likely;
    std::copy_n(&moved_[likely * n_all_], n_all_, mean_.begin());
    double after = chance(likely);  // of the classes that come after
    bool before_own = likely == own;
    for (std::int64_t c = 0; c < rows_.n_classes; ++c) {
      if (c == likely) continue;
      // Nothing is left of the own class of a row that is on the wrong side, but what it wants.
      const double p = c == own ? std::max(chance(c), kLeast) : chance(c), both = p + after;
      if (p < kLeast) {
        add_noise(kLeast * rows_.weight[n]);
        continue;
      }
      const double wanted = c == own ? -after / both : before_own ? p / both : 0.0;
      add_class(c, p / both, std::sqrt(rows_.weight[n] * p * after / both), rows_.weight[n] * wanted);
      before_own = before_own || c == own;
      after = both;
    }
  }

  // By how much a class moves more than the mean, of which it then has a share.
  void add_class(std::int64_t c, double share, double root, double wanted) {
    if (found_.full()) fold_rows();
    double* row = found_.next();
    add_noise(root * root);
    for (std::size_t a = 0; a < n_all_; ++a) {
      const double more = moved_[c * n_all_ + a] - mean_[a];
      row[a] = root * more;
      mean_[a] += share * more;
    }
    // What is left of what the row wants, where the other unknowns have made their step.
    row[n_all_ - 1] = wanted / root - row[n_all_ - 1];
  }

  // Rows of which nothing is left have theirs too: what others make of a direction that moves these alone is rounding.
  void add_noise(double square) {
    for (std::size_t a = 0; a < n_all_; ++a) squares_[a] += square * size_[a] * size_[a];
  }

  void fold_rows() {
    for (std::size_t a = 0; a < n_all_; ++a) noise_[a] = kNoise * std::sqrt(squares_[a]);
    fold(found_, noise_.data(), false);
  }

  const SubsetRows& rows_;
  const Probabilities& now_;
  const std::vector<Direction>& directions_;
  const std::size_t n_all_;
  GradedRows found_;
  std::vector<double> moved_, mean_, size_;  // [class][direction]; of directions in a row
  std::vector<double> squares_, noise_;
};

// Directions without what rounding has left of columns that have no part in them: where the others are zero, nothing
// else would move a row.
std::vector<Direction> without_noise(const SubsetRows& rows, std::vector<Direction> directions) {
  if (directions.empty()) return directions;
  const std::vector<double> size = column_sizes(rows);
  for (Direction& direction : directions) {
    const auto part = [&](std::size_t i) { return std::abs(direction[i]) * size[i % size.size()]; };
    double largest = 0.0;
    for (std::size_t i = 0; i < direction.size(); ++i) largest = std::max(largest, part(i));
    for (std::size_t i = 0; i < direction.size(); ++i) direction[i] = part(i) > kNoise * largest ? direction[i] : 0.0;
  }
  return directions;
}

// What the logits that a direction makes are sums of.
std::vector<double> sizes_of_terms(const SubsetRows& rows, const Direction& direction, std::size_t n_logits) {
  std::vector<double> size(n_logits);
  rows.each_block([&](const double* const* columns, std::int64_t start) {
    for (std::int64_t i = 0; i < rows.n_classes * rows.q; ++i) {
      double* here = &size[rows.at(i / rows.q, start)];
      for (std::int64_t n = 0; n < kBlock; ++n) here[n] += std::abs(direction[i] * columns[i % rows.q][n]);
    }
  });
  return size;
}

// What directions add to the logit of a row's own class more than to that of another on its way out: a vector of length
// 1 for each such pair that they move.
std::vector<std::vector<double>> gains_of(const SubsetRows& rows, const Probabilities& now,
                                          const std::vector<Direction>& flat) {
  const std::size_t n_flat = flat.size();
  std::vector<std::vector<double>> moved(n_flat, std::vector<double>(now.p.size())), size(n_flat);
  for (std::size_t a = 0; a < n_flat; ++a) {
    rows.apply(flat[a].data(), moved[a]);
    size[a] = sizes_of_terms(rows, flat[a], now.p.size());
  }
  std::vector<double> most(n_flat);
  for (std::size_t a = 0; a < n_flat; ++a) {
    for (const double move : moved[a]) most[a] = std::max(most[a], std::abs(move));
  }
  std::vector<std::vector<double>> gains;
  std::vector<double> gain(n_flat);
  for (std::int64_t n = 0; n < rows.n_rows; ++n) {
    const std::size_t own = rows.at(rows.codes[n], n);
    for (std::int64_t c = 0; c < rows.n_classes; ++c) {
      const std::size_t i = rows.at(c, n);
      if (i == own || now.p[i] > kLeaving) continue;
      double squares = 0.0;
      for (std::size_t a = 0; a < n_flat; ++a) {
        double largest = 0.0;
        for (std::int64_t d = 0; d < rows.n_classes; ++d) largest = std::max(largest, size[a][rows.at(d, n)]);
        gain[a] = moved[a][own] - moved[a][i];
        const double rounding =
            std::max({kMoved * (size[a][own] + size[a][i]), kFollowed * largest, kUnmoved * most[a]});
        if (std::abs(gain[a]) <= rounding) gain[a] = 0.0;
        squares += gain[a] * gain[a];
      }
      if (squares == 0.0) continue;
      for (double& of_direction : gain) of_direction /= std::sqrt(squares);
      gains.push_back(gain);
    }
  }
  return gains;
}

}  // namespace

// The constant one, which is the last, comes first: made up of others it would leave them to cancel.
std::vector<std::int64_t> collinear_columns(const SubsetRows& rows) {
  const std::int64_t q = rows.q;
  const auto place = [&](std::int64_t j) { return (j + 1) % q; };
  const std::vector<double> size = column_sizes(rows);
  std::vector<double> squares(size.size()), noise(size.size());
  GradedRows graded(q, rows.n_rows);
  const auto fold_rows = [&] {
    for (std::int64_t i = 0; i < q; ++i) noise[i] = kCollinear * std::sqrt(squares[i]);
    fold(graded, noise.data(), true);
  };
  rows.each_row([&](const double* const* columns, std::int64_t, std::int64_t n) {
    if (graded.full()) fold_rows();
    double *row = graded.next(), largest = 0.0;
    for (std::int64_t j = 0; j < q; ++j) {
      row[place(j)] = columns[j][n] / size[j];
      largest = std::max(largest, std::abs(row[place(j)]));
    }
    for (std::int64_t i = 0; i < q; ++i) {
      row[i] /= largest;
      squares[i] += row[i] * row[i];
    }
    row[q] = 0.0;
  });
  fold_rows();
  std::vector<std::int64_t> found(graded.order().begin() + graded.rank(), graded.order().end());
  for (std::int64_t& i : found) i = (i + q - 1) % q;
  return found;
}

WeakStep weak_step(const SubsetRows& rows, const Probabilities& now, const std::vector<Direction>& directions,
                   const Direction& of_others) {
  std::vector<Direction> all(directions);
  all.push_back(of_others);
  const WeakSquares squares(rows, now, all);
  const GradedRows& found = squares.found();
  const auto follow = [&](std::int64_t of, double factor, Direction& out) {
    const std::vector<double> along = found.solution(of);
    for (std::size_t a = 0; a < along.size(); ++a) {
      for (std::size_t i = 0; i < out.size(); ++i) out[i] += factor * along[a] * directions[a][i];
    }
  };
  WeakStep more{of_others, found.explained(), {}};
  const auto n_weak = static_cast<std::int64_t>(directions.size());
  follow(n_weak, 1.0, more.step);
  for (std::int64_t i = found.rank(); i < n_weak; ++i) {
    more.flat.push_back(directions[found.order()[i]]);
    follow(found.order()[i], -1.0, more.flat.back());
  }
  return more;
}

// If a sum of all gains, each at least once, is zero, no mixture has them all on its side; else the smallest sum is one
// itself.
bool directions_separate(const SubsetRows& rows, const Probabilities& now, const std::vector<Direction>& flat) {
  const std::vector<std::vector<double>> gains = gains_of(rows, now, without_noise(rows, flat));
  if (gains.empty()) return false;
  std::vector<double> sum(flat.size()), extra(gains.size());
  for (const std::vector<double>& gain : gains) {
    for (std::size_t a = 0; a < sum.size(); ++a) sum[a] += gain[a];
  }
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    double worst = 0.0;
    for (std::size_t i = 0; i < gains.size(); ++i) {
      const double along = std::inner_product(sum.begin(), sum.end(), gains[i].begin(), 0.0);
      const double more = std::max(-extra[i], -along);
      worst = std::min(worst, along);
      extra[i] += more;
      for (std::size_t a = 0; a < sum.size(); ++a) sum[a] += more * gains[i][a];
    }
    const double length = std::sqrt(std::inner_product(sum.begin(), sum.end(), sum.begin(), 0.0));
    if (length <= kZero) return false;
    if (worst >= -kZero * length) return true;
  }
  return true;
}

bool rows_separate(const SubsetRows& rows, const Probabilities& now) {
  // Nothing of the others bends a direction. Rows that are on the wrong side stay where they are too.
  Probabilities staying{now};
  for (double& p : staying.p) p = p > kLeaving ? p : 0.0;
  for (std::int64_t n = 0; n < rows.n_rows; ++n) {
    double& own = staying.p[rows.at(rows.codes[n], n)];
    own = std::max(own, kLeaving);
  }
  const std::vector<std::int64_t> collinear = collinear_columns(rows);
  std::vector<Direction> units;
  for (std::int64_t i = rows.q; i < rows.n_classes * rows.q; ++i) {
    if (std::ranges::count(collinear, i % rows.q)) continue;
    units.emplace_back(static_cast<std::size_t>(rows.n_classes * rows.q));
    units.back()[i] = 1.0;
  }
  const Direction nothing(static_cast<std::size_t>(rows.n_classes * rows.q));
  return directions_separate(rows, now, weak_step(rows, staying, units, nothing).flat);
}

bool step_separates(const SubsetRows& rows, const Probabilities& now, const Direction& step) {
  std::vector<double> taken(now.p.size());
  rows.apply(step.data(), taken);
  const std::vector<double> size = sizes_of_terms(rows, step, now.p.size());
  bool any_leaves = false;
  for (std::int64_t n = 0; n < rows.n_rows; ++n) {
    const std::size_t own = rows.at(rows.codes[n], n);
    for (std::int64_t c = 0; c < rows.n_classes; ++c) {
      const std::size_t i = rows.at(c, n);
      if (i == own) continue;
      const double gain = taken[i] - taken[own], terms = size[i] + size[own];
      const bool stays = now.p[i] > kLeaving;
      if (stays ? !(std::abs(gain) <= kStays * terms) : !(gain >= -kMoved * terms)) return false;
      any_leaves = any_leaves || (!stays && gain > kMoved * terms);
    }
  }
  return any_leaves;
}

}  // namespace safdr
