// What all fast fits share: how they end, and how a pace of steps towards infinity looks.
#pragma once

namespace safdr {

// What a look at a fit under way says: go on; it is done; or the plain path must judge, from here, or, where this place
// tells nothing, from the model without features.
enum class Verdict { kGoOn, kDone, kPlainFromHere, kPlainFromNothing };

// Newton's method converges quadratically towards a finite optimum; on the way to infinity, where a direction separates
// the classes in part, each step divides what is left by e. A decrement that is small already and yet shrinks by about
// 1/e = 0.37, so many times in a row, is a sign of separation, and the plain path judges. Larger ratios, and rising
// decrements, are the way of fits that outliers make hard.
constexpr double kLeastSlow = 0.3, kMostSlow = 0.45;
constexpr int kSlowSteps = 4;

}  // namespace safdr
