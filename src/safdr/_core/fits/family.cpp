#include "fits/family.hpp"

#include "fits/columns.hpp"
#include "fits/cox.hpp"
#include "simd/vector_math.hpp"

namespace safdr {

namespace {

// log(1 + r) from the rounded sum: what rounding took counts where r is small, as of a rare class.
SAFDR_INLINE double log_of_sum(double r, double sum) { return log_from_one(sum) + (r - (sum - 1.0)) / sum; }

// The loss of a row is log(sum) + linear.
SAFDR_INLINE void logistic_row(double eta, double y, double& e, double& sum, double& linear, double& slope,
                               double& curvature) {
  e = exp_minus(std::abs(eta));
  sum = 1.0 + e;
  linear = (eta > 0.0 ? eta : 0.0) - y * eta;
  const double larger = 1.0 / sum, smaller = e * larger;
  slope = y > 0.5 ? -(eta < 0.0 ? larger : smaller) : eta < 0.0 ? smaller : larger;
  curvature = larger * smaller;
}

struct LogisticRow {
  static SAFDR_INLINE void at(double eta, double y, double& loss, double& slope, double& curvature) {
    double e, sum, linear;
    logistic_row(eta, y, e, sum, linear, slope, curvature);
    loss = log_of_sum(e, sum) + linear;
  }
};

// Rows of one block with equal weights: the sum of their logarithms is that of a product below 2^64.
SAFDR_INLINE double equal_rows(const Target& t, const double* eta, std::int64_t first, double* slope,
                               double* curvature) {
  double product = 1.0, linear = 0.0;
  const double weight = t.weight[first];
#pragma omp simd reduction(* : product) reduction(+ : linear)
  for (std::int64_t n = first; n < first + kBlock; ++n) {
    double e, sum, more, s, c;
    logistic_row(eta[n], t.y[n], e, sum, more, s, c);
    product *= sum;
    linear += more;
    slope[n] = weight * s;
    curvature[n] = weight * c;
  }
  return weight * (std::log(product) + linear);
}

struct SquaredRow {
  static SAFDR_INLINE void at(double eta, double y, double& loss, double& slope, double& curvature) {
    loss = 0.5 * (eta - y) * (eta - y);
    slope = eta - y;
    curvature = 1.0;
  }
};

SAFDR_CLONES double logistic_pass(const Target& t, const double* eta, std::int64_t first, std::int64_t last,
                                  double* slope, double* curvature) {
  const std::int64_t n_equal = t.equal_weights ? t.n_rows / kBlock * kBlock : 0;
  double loss = 0.0;
  for (; first < std::min(last, n_equal); first += kBlock) loss += equal_rows(t, eta, first, slope, curvature);
  return first < last ? loss + sum_rows<LogisticRow>(t, eta, first, last, slope, curvature) : loss;
}

SAFDR_CLONES double squared_pass(const Target& t, const double* eta, std::int64_t first, std::int64_t last,
                                 double* slope, double* curvature) {
  return sum_rows<SquaredRow>(t, eta, first, last, slope, curvature);
}

// exp(x), within exp(-708) and exp(708).
SAFDR_INLINE double exp_any(double x) {
  const double e = exp_minus(std::abs(x));
  return x < 0.0 ? e : 1.0 / e;
}

struct PoissonRow {
  static SAFDR_INLINE void at(double eta, double y, double& loss, double& slope, double& curvature) {
    curvature = exp_any(eta);
    loss = curvature - y * eta;
    slope = curvature - y;
  }
};

struct GammaRow {
  static SAFDR_INLINE void at(double eta, double y, double& loss, double& slope, double& curvature) {
    curvature = y * exp_any(-eta);
    loss = curvature + eta;
    slope = 1.0 - curvature;
  }
};

SAFDR_CLONES double poisson_pass(const Target& t, const double* eta, std::int64_t first, std::int64_t last,
                                 double* slope, double* curvature) {
  return sum_rows<PoissonRow>(t, eta, first, last, slope, curvature);
}

SAFDR_CLONES double gamma_pass(const Target& t, const double* eta, std::int64_t first, std::int64_t last, double* slope,
                               double* curvature) {
  return sum_rows<GammaRow>(t, eta, first, last, slope, curvature);
}

template <class Function>
double mean_of(const Target& t, Function of_y) {
  double sum = 0.0;
  for (std::int64_t n = 0; n < t.n_rows; ++n) sum += t.weight[n] * of_y(t.y[n]);
  return sum;
}

SAFDR_CLONES double largest(const double* u, std::int64_t n) {
  double found = 0.0;
#pragma omp simd reduction(max : found)
  for (std::int64_t i = 0; i < n; ++i) found = std::max(found, std::abs(u[i]));
  return found;
}

SAFDR_CLONES void multiply(const double* a, const double* b, double* out, std::int64_t first, std::int64_t last) {
#pragma omp simd
  for (std::int64_t n = first; n < last; ++n) out[n] = a[n] * b[n];
}

// The rows of one block: probabilities, slopes, curvature and the sum of the losses.
SAFDR_CLONES double softmax_block(const Target& t, const double* eta, std::int64_t start, double* p, double* slope,
                                  double* curvature) {
  const std::int64_t N = t.n_padded, n_classes = t.n_outputs;
  const double* weight = t.weight + start;
  // The sum over the classes is one more than that over the others than the top one.
  alignas(64) double top[kBlock], others[kBlock], sum[kBlock], inverse[kBlock];
  std::copy_n(eta + start, kBlock, top);
  std::fill_n(others, kBlock, 0.0);
  std::fill_n(sum, kBlock, -1.0);
  for (std::int64_t c = 1; c < n_classes; ++c) {
    const double* e = eta + c * N + start;
    for (std::int64_t n = 0; n < kBlock; ++n) top[n] = e[n] > top[n] ? e[n] : top[n];
  }
  for (std::int64_t c = 0; c < n_classes; ++c) {
    const double* e = eta + c * N + start;
    double* pc = p + c * N + start;
    for (std::int64_t n = 0; n < kBlock; ++n) {
      pc[n] = exp_minus(top[n] - e[n]);
      others[n] += e[n] < top[n] ? pc[n] : 0.0;
      sum[n] += e[n] < top[n] ? 0.0 : 1.0;
    }
  }
  double loss = 0.0;
#pragma omp simd reduction(+ : loss)
  for (std::int64_t n = 0; n < kBlock; ++n) {
    others[n] += sum[n];
    sum[n] = 1.0 + others[n];
    inverse[n] = 1.0 / sum[n];
    loss += weight[n] * log_of_sum(others[n], sum[n]);
  }
  for (std::int64_t c = 0; c < n_classes; ++c) {
    double *pc = p + c * N + start, *s = slope + c * N + start, *b = curvature + c * N + start;
    for (std::int64_t n = 0; n < kBlock; ++n) {
      pc[n] *= inverse[n];
      s[n] = weight[n] * pc[n];
      b[n] = s[n] * (1.0 - pc[n]);
    }
  }
  for (std::int64_t n = start; n < std::min(start + kBlock, t.n_rows); ++n) {
    const std::int64_t own = static_cast<std::int64_t>(t.y[n]) * N + n;
    const std::int64_t i = n - start;
    const bool is_top = eta[own] == top[i];
    loss += t.weight[n] * (top[i] - eta[own]);
    slope[own] = -t.weight[n] * (is_top ? others[i] * inverse[i] : 1.0 - p[own]);
  }
  return loss;
}

SAFDR_CLONES void softmax_bend(const Target& t, const double* p, const double* u, double* out, std::int64_t start) {
  const std::int64_t N = t.n_padded;
  alignas(64) double mean[kBlock] = {};
  for (std::int64_t c = 0; c < t.n_outputs; ++c) {
    const double *pc = p + c * N + start, *uc = u + c * N + start;
    for (std::int64_t n = 0; n < kBlock; ++n) mean[n] += pc[n] * uc[n];
  }
  for (std::int64_t c = 0; c < t.n_outputs; ++c) {
    const double *pc = p + c * N + start, *uc = u + c * N + start;
    double* to = out + c * N + start;
    for (std::int64_t n = 0; n < kBlock; ++n) to[n] = t.weight[start + n] * pc[n] * (uc[n] - mean[n]);
  }
}

}  // namespace

void RowFamily::bend(const double* u, double* out, std::int64_t first, std::int64_t last) {
  multiply(curvature.data(), u, out, first, last);
}

double RowFamily::reach(const double* u) const { return unit_ * largest(u, t.n_rows); }

Logistic::Logistic(const Target& target) : RowFamily(target, logistic_pass, 1.0) {}

bool Logistic::separates(const double* eta) const {
  for (std::int64_t n = 0; n < t.n_rows; ++n) {
    if (!(t.y[n] > 0.5 ? eta[n] > 0.0 : eta[n] < 0.0)) return false;
  }
  return true;
}

Squared::Squared(const Target& target) : RowFamily(target, squared_pass, 0.0) {}

Poisson::Poisson(const Target& target)
    : RowFamily(target, poisson_pass, 1.0,
                mean_of(target, [](double y) { return y > 0.0 ? y - y * std::log(y) : 0.0; })) {}

Gamma::Gamma(const Target& target)
    : RowFamily(target, gamma_pass, 1.0, mean_of(target, [](double y) { return 1.0 + std::log(y); })) {}

double Softmax::derivatives(const double* eta, std::int64_t first, std::int64_t last) {
  double loss = 0.0;
  for (std::int64_t start = first; start < last; start += kBlock) {
    loss += softmax_block(t, eta, start, p_.data(), slope.data(), curvature.data());
  }
  return loss;
}

void Softmax::bend(const double* u, double* out, std::int64_t first, std::int64_t last) {
  for (std::int64_t start = first; start < last; start += kBlock) softmax_bend(t, p_.data(), u, out, start);
}

double Softmax::reach(const double* u) const {
  double found = 0.0;
  for (std::int64_t n = 0; n < t.n_rows; ++n) {
    double least = u[n], most = u[n];
    for (std::int64_t c = 1; c < t.n_outputs; ++c) {
      least = std::min(least, u[c * t.n_padded + n]);
      most = std::max(most, u[c * t.n_padded + n]);
    }
    found = std::max(found, most - least);
  }
  return found;
}

bool Softmax::separates(const double* eta) const {
  for (std::int64_t n = 0; n < t.n_rows; ++n) {
    const auto own = static_cast<std::int64_t>(t.y[n]);
    for (std::int64_t c = 0; c < t.n_outputs; ++c) {
      if (c != own && !(eta[own * t.n_padded + n] > eta[c * t.n_padded + n])) return false;
    }
  }
  return true;
}

std::unique_ptr<Family> make_family(FamilyName name, const Target& target) {
  if (name == FamilyName::kLogistic) return std::make_unique<Logistic>(target);
  if (name == FamilyName::kSoftmax) return std::make_unique<Softmax>(target);
  if (name == FamilyName::kPoisson) return std::make_unique<Poisson>(target);
  if (name == FamilyName::kGamma) return std::make_unique<Gamma>(target);
  if (name == FamilyName::kCox) return std::make_unique<Cox>(target);
  return std::make_unique<Squared>(target);
}

}  // namespace safdr
