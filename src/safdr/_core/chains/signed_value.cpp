#include "chains/signed_value.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "fits/passes.hpp"
#include "parallel.hpp"

namespace safdr {
namespace {

// Exchanges of all wrong members at once that may pass without fewer of them (Kim and Park's three); then one at a
// time, the last first, which can't go round in circles (Murty).
constexpr int kPatience = 3;
// Rounds before a subset is given up, for each member: rounding alone keeps one busy for so long.
constexpr std::int64_t kMostRounds = 20;
// A gradient below this share of its parts is rounding.
constexpr double kFlat = 1e-12;

// Non-negative least squares by principal pivoting: members are free, or held at zero.
class SignedSubset {
 public:
  SignedSubset(const Criterion& criterion, const double* signs, std::int64_t width)
      : criterion_(criterion), signs_(signs), free_(width), wrong_(width), w_(width), solution_(width + 3),
        L_((width + 3) * (width + 3)) {}

  // The value; counts in n_wrong the members that the free solution gives the wrong sign.
  double value(const std::int32_t* members, std::int64_t size, std::int32_t* n_wrong) {
    members_ = members;
    size_ = size;
    std::fill_n(free_.begin(), size, 1);
    std::int64_t fewest = size + 1;
    int patience = kPatience;
    for (std::int64_t round = 0; round < kMostRounds * (size + 1); ++round) {
      if (!solve()) break;
      const std::int64_t n = find_wrong();
      if (round == 0) *n_wrong = static_cast<std::int32_t>(n);
      if (n == 0) return explained();
      const bool all = n < fewest || patience > 0;
      patience = n < fewest ? kPatience : patience - 1;
      fewest = std::min(fewest, n);
      exchange(all);
    }
    return -std::numeric_limits<double>::infinity();
  }

 private:
  double A(std::int64_t i, std::int64_t j) const {
    return criterion_.A[members_[i] * criterion_.n_features + members_[j]];
  }
  double d(std::int64_t i) const { return criterion_.D[members_[i]]; }

  // w of the free members, zero for the others; false where rounding leaves no pivot.
  bool solve() {
    place_.clear();
    for (std::int64_t i = 0; i < size_; ++i) {
      w_[i] = 0.0;
      if (free_[i]) place_.push_back(i);
    }
    const auto n = static_cast<std::int64_t>(place_.size()), stride = (n + 3) / 4 * 4;
    std::fill(L_.begin(), L_.end(), 0.0);
    for (std::int64_t j = 0; j < n; ++j) {
      solution_[j] = d(place_[j]);
      for (std::int64_t i = j; i < n; ++i) L_[j * stride + i] = A(place_[i], place_[j]);
    }
    if (!(factorise(L_.data(), n, stride) > 0.0)) return false;
    safdr::solve(L_.data(), n, stride, solution_.data(), solution_.data());
    for (std::int64_t i = 0; i < n; ++i) w_[place_[i]] = solution_[i];
    return true;
  }

  // Free members of the wrong sign, and others that would rise with the right one.
  std::int64_t find_wrong() {
    std::int64_t n = 0;
    for (std::int64_t i = 0; i < size_; ++i) {
      const double sign = signs_[members_[i]];
      wrong_[i] = free_[i] ? sign * w_[i] < 0.0 : rises(i, sign);
      n += wrong_[i];
    }
    return n;
  }

  bool rises(std::int64_t i, double sign) const {
    double gradient = d(i), parts = std::abs(gradient);
    for (const std::int64_t j : place_) {
      const double part = A(i, j) * w_[j];
      gradient -= part;
      parts += std::abs(part);
    }
    return sign * gradient > kFlat * parts;
  }

  void exchange(bool all) {
    for (std::int64_t i = size_ - 1; i >= 0; --i) {
      if (!wrong_[i]) continue;
      free_[i] = !free_[i];
      if (!all) return;
    }
  }

  double explained() const {
    double sum = 0.0;
    for (const std::int64_t i : place_) sum += d(i) * w_[i];
    return sum;
  }

  const Criterion& criterion_;
  const double* signs_;
  const std::int32_t* members_ = nullptr;
  std::int64_t size_ = 0;
  std::vector<char> free_, wrong_;
  std::vector<double> w_, solution_, L_;
  std::vector<std::int64_t> place_;  // of the free members
};

}  // namespace

void signed_values(const Criterion& criterion, const double* signs, const std::int32_t* subsets, std::int64_t n_subsets,
                   std::int64_t width, std::int64_t n_threads, double* values, std::int32_t* n_wrong) {
  run_tasks(n_subsets, n_threads, [&](auto next) {
    SignedSubset subset(criterion, signs, width);
    for (std::int64_t i = next(); i >= 0; i = next()) {
      const std::int32_t* members = subsets + i * width;
      n_wrong[i] = 0;
      values[i] = subset.value(members, std::find(members, members + width, -1) - members, n_wrong + i);
    }
  });
}

}  // namespace safdr
