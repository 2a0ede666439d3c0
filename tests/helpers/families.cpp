// Families that only tests have, for the compiled solver: counts, amounts and survival.
#include <cmath>
#include <utility>
#include <vector>

#include "fits/newton.hpp"
#include "simd/vector_math.hpp"

namespace {

using safdr::Target;

double exp_any(double x) {
  const double e = safdr::exp_minus(std::abs(x));
  return x < 0.0 ? e : 1.0 / e;
}

struct PoissonRow {
  static void at(double eta, double y, double& loss, double& slope, double& curvature) {
    const double mean = exp_any(eta);
    loss = mean - y * eta, slope = mean - y, curvature = mean;
  }
};

struct GammaRow {  // with the logarithm as link
  static void at(double eta, double y, double& loss, double& slope, double& curvature) {
    const double ratio = y * exp_any(-eta);
    loss = eta + ratio, slope = 1.0 - ratio, curvature = ratio;
  }
};

// Proportional hazards with Breslow's ties: rows come by time, the latest first; y is 1 for an event.
class Cox : public safdr::Family {
 public:
  Cox(const Target& target, const double* time) : Family(target, false, false), risk_(t.n_padded), hazard_(t.n_padded) {
    for (std::int64_t first = 0, n = 1; n <= t.n_rows; ++n) {
      if (n < t.n_rows && time[n] == time[first]) continue;
      ties_.emplace_back(first, n);
      first = n;
    }
    events_.resize(ties_.size());
    sums_.resize(ties_.size());
  }

  double derivatives(const double* eta, std::int64_t, std::int64_t) override {
    double top = eta[0], total = 0.0, loss = 0.0, rate = 0.0, squares = 0.0;
    for (std::int64_t n = 1; n < t.n_rows; ++n) top = std::max(top, eta[n]);
    for (std::size_t g = 0; g < ties_.size(); ++g) {
      events_[g] = 0.0;
      for (std::int64_t n = ties_[g].first; n < ties_[g].second; ++n) {
        total += risk_.data()[n] = t.weight[n] * safdr::exp_minus(top - eta[n]);
        events_[g] += t.weight[n] * t.y[n];
        loss -= t.weight[n] * t.y[n] * eta[n];
      }
      sums_[g] = total;
      loss += events_[g] * (top + std::log(total));
    }
    for (std::size_t g = ties_.size(); g-- > 0;) {
      rate += events_[g] / sums_[g];
      squares += events_[g] / (sums_[g] * sums_[g]);
      for (std::int64_t n = ties_[g].first; n < ties_[g].second; ++n) {
        hazard_.data()[n] = risk_.data()[n] * rate;
        slope.data()[n] = hazard_.data()[n] - t.weight[n] * t.y[n];
        curvature.data()[n] = std::max(0.0, hazard_.data()[n] - risk_.data()[n] * risk_.data()[n] * squares);
      }
    }
    return loss;
  }

  void bend(const double* u, double* out, std::int64_t, std::int64_t) override {
    std::vector<double> moments(ties_.size());
    double total = 0.0;
    for (std::size_t g = 0; g < ties_.size(); ++g) {
      for (std::int64_t n = ties_[g].first; n < ties_[g].second; ++n) total += risk_.data()[n] * u[n];
      moments[g] = total;
    }
    double mean = 0.0;
    for (std::size_t g = ties_.size(); g-- > 0;) {
      mean += events_[g] * moments[g] / (sums_[g] * sums_[g]);
      for (std::int64_t n = ties_[g].first; n < ties_[g].second; ++n) {
        out[n] = hazard_.data()[n] * u[n] - risk_.data()[n] * mean;
      }
    }
  }

  double reach(const double* u) const override {
    double least = u[0], most = u[0];
    for (std::int64_t n = 1; n < t.n_rows; ++n) least = std::min(least, u[n]), most = std::max(most, u[n]);
    return most - least;
  }

 private:
  std::vector<std::pair<std::int64_t, std::int64_t>> ties_;  // rows of the same time
  std::vector<double> events_, sums_;                        // of the ties; the risk of all rows up to them
  safdr::AlignedBuffer<double> risk_, hazard_;
};

template <class Row>
double pass(const Target& t, const double* eta, std::int64_t first, std::int64_t last, double* slope,
            double* curvature) {
  return safdr::sum_rows<Row>(t, eta, first, last, slope, curvature);
}

}  // namespace

// Fits all columns: 0 is Poisson, 1 is Gamma, 2 is Cox. y, weight and time are padded to whole blocks.
extern "C" void fit(int name, const double* Z, std::int64_t n_rows, std::int64_t n_columns, const double* y,
                    const double* weight, const double* time, double intercept, double penalty, double* theta,
                    double* loss, double* left) {
  const safdr::Columns columns{Z, n_rows, n_columns};
  const Target target{n_rows, columns.n_padded(), 1, y, weight, false};
  std::unique_ptr<safdr::Family> family;
  if (name == 0) family = std::make_unique<safdr::RowFamily>(target, pass<PoissonRow>, 1.0);
  if (name == 1) family = std::make_unique<safdr::RowFamily>(target, pass<GammaRow>, 1.0);
  if (name == 2) family = std::make_unique<Cox>(target, time);
  std::vector<std::int32_t> subset(static_cast<std::size_t>(n_columns - 1));
  for (std::size_t j = 0; j < subset.size(); ++j) subset[j] = static_cast<std::int32_t>(j);
  safdr::Newton newton(columns, *family, n_columns - 1, {penalty, 1e-13, 100, false});
  newton.start(subset.data(), &intercept);
  const safdr::NewtonResult result = newton.run(1.0, INFINITY);
  std::copy_n(newton.theta(), n_columns, theta);
  *loss = result.loss;
  *left = result.left;
}
