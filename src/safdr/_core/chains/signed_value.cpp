#include "chains/signed_value.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "parallel.hpp"

namespace safdr {
namespace {

// Subsets that a thread takes at a time: some 100 us.
constexpr std::int64_t kAtOnce = 32;
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
      : criterion_(criterion), signs_(signs), free_(width), wrong_(width), w_(width), L_(width * width) {}

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

  // w of the free members by Cholesky, zero for the others; false where rounding leaves no pivot.
  bool solve() {
    place_.clear();
    for (std::int64_t i = 0; i < size_; ++i) {
      w_[i] = 0.0;
      if (free_[i]) place_.push_back(i);
    }
    const auto n = static_cast<std::int64_t>(place_.size());
    for (std::int64_t i = 0; i < n; ++i) {
      double rest = d(place_[i]);
      for (std::int64_t j = 0; j <= i; ++j) {
        double sum = A(place_[i], place_[j]);
        for (std::int64_t l = 0; l < j; ++l) sum -= L_[i * n + l] * L_[j * n + l];
        if (j < i) {
          L_[i * n + j] = sum / L_[j * n + j];
        } else if (!(sum > 0.0)) {
          return false;
        } else {
          L_[i * n + i] = std::sqrt(sum);
        }
      }
      for (std::int64_t l = 0; l < i; ++l) rest -= L_[i * n + l] * w_[place_[l]];
      w_[place_[i]] = rest / L_[i * n + i];
    }
    for (std::int64_t i = n - 1; i >= 0; --i) {
      double rest = w_[place_[i]];
      for (std::int64_t l = i + 1; l < n; ++l) rest -= L_[l * n + i] * w_[place_[l]];
      w_[place_[i]] = rest / L_[i * n + i];
    }
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
  std::vector<double> w_, L_;
  std::vector<std::int64_t> place_;  // of the free members
};

}  // namespace

void signed_values(const Criterion& criterion, const double* signs, const std::int32_t* subsets, std::int64_t n_subsets,
                   std::int64_t width, std::int64_t n_threads, double* values, std::int32_t* n_wrong) {
  run_tasks((n_subsets + kAtOnce - 1) / kAtOnce, n_threads, [&](auto next) {
    SignedSubset subset(criterion, signs, width);
    for (std::int64_t task = next(); task >= 0; task = next()) {
      for (std::int64_t i = task * kAtOnce; i < std::min(n_subsets, (task + 1) * kAtOnce); ++i) {
        const std::int32_t* members = subsets + i * width;
        std::int64_t size = width;
        while (size > 0 && members[size - 1] < 0) --size;
        n_wrong[i] = 0;
        values[i] = subset.value(members, size, n_wrong + i);
      }
    }
  });
}

}  // namespace safdr
