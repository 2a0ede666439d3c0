// Partial likelihood of proportional hazards, with Breslow's ties.
//
// y is the time of an event, or minus the time at which a row is censored; times are positive. At each event a row of
// its risk set has the event: the loss is the log-loss of softmax over the risk sets.
#pragma once

#include <cstdint>
#include <vector>

#include "fits/family.hpp"

namespace safdr {

class Cox : public Family {
 public:
  explicit Cox(const Target& target);

  double derivatives(const double* eta, std::int64_t first, std::int64_t last) override;
  void bend(const double* u, double* out, std::int64_t first, std::int64_t last) override;
  // The range over the rows: no probability p - p (u - mean of u) of a risk set is negative then.
  double reach(const double* u) const override;

 private:
  std::vector<std::int64_t> order_, ends_;  // rows, the latest first; the end of each time in that order
  std::vector<double> events_, risks_;      // of each time: weight of its events, risk of all rows up to its end
  std::vector<double> risk_, hazard_, moments_;
};

}  // namespace safdr
