// Who need not be fitted to the end, where only the best subset is wanted. Python keeps the shortlist
// (_engine/fits/fits.py): one candidate, the incumbent, is fitted roughly, then the others, then to the end those that
// may still be the best. Two rules can only be followed within the fits, and stand here: a candidate that
// can't reach the incumbent is given up, and those after the first that separates the classes are not fitted.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

namespace safdr {

// What a fit has left can be told once it is this small against the loss without features, ...
constexpr double kLittleLeft = 1e-4;
// ... the last step divided it by five or more, as Newton's does near an optimum, ...
constexpr double kQuickShrink = 0.2;
// ... and gained about what it promised. One that gains more has met less curvature than it was made for: so do those
// on the plateaus of heavy-tailed data, where a row of huge values hides what is left until the steps have freed the
// others of it.
constexpr double kPromisedGain = 1.2;
// Even then it is an estimate, hence the wide margin: who is given up never comes back.
constexpr double kHopeless = 1e3;

// A fit after a step: its loss, what it has left, the loss without features; what the step multiplied that by, and what
// it gained, in units of what it promised.
struct Progress {
  double loss, left, null_loss, shrink, gain;
};

inline bool hopeless(const Progress& now, double incumbent) {
  const bool told = now.left <= kLittleLeft * now.null_loss && now.shrink < kQuickShrink && now.gain < kPromisedGain;
  return told && now.loss - kHopeless * now.left > incumbent;
}

// Of a fit whose optimum is known to be no smaller than `least`: it can't be the best, nor is its loss off by more than
// a tenth of its distance. Who has more left is fitted to the end (CONTENDER in Python).
constexpr double kContender = 10.0;

inline bool beaten(double loss, double least, double incumbent) {
  return loss - kContender * (loss - least) > incumbent;
}

// Of subsets that are taken in order by several threads, the first one that separates the classes completely.
class FirstSeparated {
 public:
  bool before(std::int64_t subset) const { return subset > first_.load(std::memory_order_relaxed); }

  void found(std::int64_t subset) {
    std::int64_t first = first_.load(std::memory_order_relaxed);
    while (subset < first && !first_.compare_exchange_weak(first, subset, std::memory_order_relaxed)) {
    }
  }

 private:
  std::atomic<std::int64_t> first_{std::numeric_limits<std::int64_t>::max()};
};

}  // namespace safdr
