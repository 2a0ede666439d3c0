// Families of losses of the linear predictors eta: the mean loss, its slopes and its curvature.
//
// It has n_outputs predictors a row; arrays are [output][row], padded to whole blocks with rows of weight zero.
// Let a Newton step lower eta by u. If reach(u) <= 1, then slope - W u, with W the second derivative, is a point of the
// dual problem: a slope that the loss takes somewhere. The duality gap there is at most u'Wu. So every family here has
// one bound on the optimality gap (newton.hpp).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>

#include "aligned.hpp"
#include "simd/clones.hpp"

namespace safdr {

struct Target {
  std::int64_t n_rows, n_padded, n_outputs;
  const double* y;       // 0 or 1, a class, a number, or a time (cox.hpp)
  const double* weight;  // of sum one
  bool equal_weights;    // whether all rows have the same
};

class Family {
 public:
  // diagonal: whether W is. by_rows: whether rows count by themselves, so that some may be evaluated before others.
  Family(const Target& target, bool diagonal, bool by_rows)
      : t(target), diagonal(diagonal), by_rows(by_rows), slope(t.n_outputs * t.n_padded),
        curvature(t.n_outputs * t.n_padded) {}
  virtual ~Family() = default;
  Family(const Family&) = delete;
  Family& operator=(const Family&) = delete;

  // Contribution of some rows to the mean loss; fills their slopes, and the diagonal of W.
  virtual double derivatives(const double* eta, std::int64_t first, std::int64_t last) = 0;
  // out = W u of some rows, at the last derivatives.
  virtual void bend(const double* u, double* out, std::int64_t first, std::int64_t last) = 0;
  // Length of a step, in units of the longest that the bound allows.
  virtual double reach(const double* u) const = 0;
  // Returns true if the predictors classify every row correctly.
  virtual bool separates(const double*) const { return false; }

  const Target t;
  const bool diagonal, by_rows;
  AlignedBuffer<double> slope, curvature;
};

// Contribution of rows to the loss, with Row::at for loss, slope and curvature of one.
template <class Row>
SAFDR_INLINE double sum_rows(const Target& t, const double* eta, std::int64_t first, std::int64_t last, double* slope,
                             double* curvature) {
  double loss = 0.0;
#pragma omp simd reduction(+ : loss)
  for (std::int64_t n = first; n < last; ++n) {
    double of_row, s, c;
    Row::at(eta[n], t.y[n], of_row, s, c);
    loss += t.weight[n] * of_row;
    slope[n] = t.weight[n] * s;
    curvature[n] = t.weight[n] * c;
  }
  return loss;
}

// Families of one predictor whose rows count by themselves.
class RowFamily : public Family {
 public:
  typedef double Pass(const Target&, const double*, std::int64_t, std::int64_t, double*, double*);

  // unit: the reach of a step that lowers eta by one. least: the mean loss of a perfect fit, which is subtracted.
  RowFamily(const Target& target, Pass* pass, double unit, double least = 0.0)
      : Family(target, true, true), pass_(pass), unit_(unit), least_(least) {}

  double derivatives(const double* eta, std::int64_t first, std::int64_t last) override {
    return pass_(t, eta, first, last, slope.data(), curvature.data()) - (first == 0 ? least_ : 0.0);
  }
  void bend(const double* u, double* out, std::int64_t first, std::int64_t last) override;
  double reach(const double* u) const override;

 private:
  Pass* pass_;
  double unit_, least_;
};

// Log-loss of 0 or 1.
class Logistic : public RowFamily {
 public:
  explicit Logistic(const Target& target);
  bool separates(const double* eta) const override;
};

// Half the squared error. Its bound holds for every step.
class Squared : public RowFamily {
 public:
  explicit Squared(const Target& target);
};

// Half the deviance of counts or rates; the link is the logarithm.
class Poisson : public RowFamily {
 public:
  explicit Poisson(const Target& target);
};

// Half the deviance of positive amounts, with the same link.
class Gamma : public RowFamily {
 public:
  explicit Gamma(const Target& target);
};

// Log-loss of classes, one predictor each.
class Softmax : public Family {
 public:
  explicit Softmax(const Target& target) : Family(target, false, true), p_(t.n_outputs * t.n_padded) {}

  double derivatives(const double* eta, std::int64_t first, std::int64_t last) override;
  void bend(const double* u, double* out, std::int64_t first, std::int64_t last) override;
  // The range over the classes of a row: no probability p - p (u - mean of u) is negative then.
  double reach(const double* u) const override;
  bool separates(const double* eta) const override;

 private:
  AlignedBuffer<double> p_;
};

enum class FamilyName { kLogistic, kSoftmax, kSquared, kPoisson, kGamma, kCox };

std::unique_ptr<Family> make_family(FamilyName name, const Target& target);

}  // namespace safdr
