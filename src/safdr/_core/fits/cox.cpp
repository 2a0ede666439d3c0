#include "fits/cox.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "simd/vector_math.hpp"

namespace safdr {

Cox::Cox(const Target& target)
    : Family(target, false, false), order_(static_cast<std::size_t>(t.n_rows)),
      risk_(static_cast<std::size_t>(t.n_rows)), hazard_(risk_) {
  const auto time = [&](std::int64_t n) { return std::abs(t.y[n]); };
  std::iota(order_.begin(), order_.end(), 0);
  std::stable_sort(order_.begin(), order_.end(), [&](auto a, auto b) { return time(a) > time(b); });
  for (std::size_t i = 0; i < order_.size(); ++i) {
    const std::int64_t n = order_[i];
    if (i == 0 || time(n) != time(order_[i - 1])) {
      ends_.push_back(0);
      events_.push_back(0.0);
    }
    ends_.back() = static_cast<std::int64_t>(i) + 1;
    events_.back() += t.y[n] > 0.0 ? t.weight[n] : 0.0;
  }
  risks_.resize(ends_.size());
  moments_.resize(ends_.size());
}

double Cox::derivatives(const double* eta, std::int64_t, std::int64_t) {
  const double top = *std::max_element(eta, eta + t.n_rows);
  double total = std::numeric_limits<double>::min(), loss = 0.0, rate = 0.0, squares = 0.0;
  std::size_t i = 0;
  for (std::size_t g = 0; g < ends_.size(); ++g) {
    for (; i < static_cast<std::size_t>(ends_[g]); ++i) {
      const std::int64_t n = order_[i];
      total += risk_[i] = t.weight[n] * exp_minus(top - eta[n]);
      if (t.y[n] > 0.0) loss += t.weight[n] * (top - eta[n]);
    }
    risks_[g] = total;
    if (events_[g] > 0.0) loss += events_[g] * std::log(total / events_[g]);
  }
  for (std::size_t g = ends_.size(); g-- > 0;) {
    rate += events_[g] / risks_[g];
    squares += events_[g] / (risks_[g] * risks_[g]);
    for (; i > static_cast<std::size_t>(g > 0 ? ends_[g - 1] : 0); --i) {
      const std::int64_t n = order_[i - 1];
      const double risk = risk_[i - 1];
      hazard_[i - 1] = risk * rate;
      slope.data()[n] = risk * rate - (t.y[n] > 0.0 ? t.weight[n] : 0.0);
      curvature.data()[n] = std::max(0.0, risk * rate - risk * risk * squares);
    }
  }
  return loss;
}

// W u = hazard u - risk * (sum over the events of the row's risk sets of the mean of u, over the set's risk).
void Cox::bend(const double* u, double* out, std::int64_t, std::int64_t) {
  double total = 0.0, mean = 0.0;
  std::size_t i = 0;
  for (std::size_t g = 0; g < ends_.size(); ++g) {
    for (; i < static_cast<std::size_t>(ends_[g]); ++i) total += risk_[i] * u[order_[i]];
    moments_[g] = total;
  }
  for (std::size_t g = ends_.size(); g-- > 0;) {
    mean += events_[g] * moments_[g] / (risks_[g] * risks_[g]);
    for (; i > static_cast<std::size_t>(g > 0 ? ends_[g - 1] : 0); --i) {
      const std::int64_t n = order_[i - 1];
      out[n] = hazard_[i - 1] * u[n] - risk_[i - 1] * mean;
    }
  }
}

double Cox::reach(const double* u) const {
  const auto [least, most] = std::minmax_element(u, u + t.n_rows);
  return *most - *least;
}

}  // namespace safdr
