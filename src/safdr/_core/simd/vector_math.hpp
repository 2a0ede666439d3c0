// exp and log in plain arithmetic, so that they are vectorised on every machine.
#pragma once

#include <bit>
#include <cstdint>

#include "simd/clones.hpp"

namespace safdr {

// exp(-a) for a >= 0: 2^n times the Taylor polynomial of exp on |r| <= ln(2)/2, whose first term left
// out is r^13/13! < 2e-16. Below exp(-708) the result stays at exp(-708).
SAFDR_INLINE double exp_minus(double a) {
  constexpr double kLog2e = 1.4426950408889634, kLn2High = 0x1.62e42fefa3800p-1, kLn2Low = 0x1.ef35793c76730p-45,
                   kShift = 0x1.8p52;
  const double x = a > 708.0 ? -708.0 : -a;    // not a number stays that
  const double shifted = x * kLog2e + kShift;  // the integer n sits in the low bits
  const double n = shifted - kShift;
  const double r = (x - n * kLn2High) - n * kLn2Low;
  // Pairs of terms, pairs of pairs, and so on: a chain of five steps rather than of thirteen.
  const double r2 = r * r, r4 = r2 * r2, r8 = r4 * r4;
  const double p01 = 1.0 + r, p23 = 0.5 + r * (1.0 / 6), p45 = 1.0 / 24 + r * (1.0 / 120),
               p67 = 1.0 / 720 + r * (1.0 / 5040), p89 = 1.0 / 40320 + r * (1.0 / 362880),
               pab = 1.0 / 3628800 + r * (1.0 / 39916800);
  const double p03 = p01 + r2 * p23, p47 = p45 + r2 * p67, p8b = p89 + r2 * pab;
  const double p = (p03 + r4 * p47) + r8 * (p8b + r4 * (1.0 / 479001600));
  return p * std::bit_cast<double>((std::bit_cast<std::uint64_t>(shifted) + 1023) << 52);
}

// log(x) for x >= 1, to some 1e-16 of 1: x = 2^n m with m in [sqrt(1/2), sqrt(2)), and log(m) = 2 atanh(s) with
// s = (m - 1) / (m + 1), so that s^2 <= 0.0295 and 11 terms leave less than 1e-17. Of a number, or of a vector of them
// (Bits are as many unsigned integers).
template <class Bits = std::uint64_t, class Real>
SAFDR_INLINE Real log_from_one(Real x) {
  constexpr std::uint64_t kHalfRoot = 0x3fe6a09e667f3bcd, kFraction = 0x000fffffffffffff, kTwo52 = 0x4330000000000000;
  const Bits above = std::bit_cast<Bits>(x) - kHalfRoot;
  const Real n = std::bit_cast<Real>((above >> 52) | kTwo52) - 0x1p52;
  const Real m = std::bit_cast<Real>((above & kFraction) + kHalfRoot);
  const Real s = (m - 1.0) / (m + 1.0), z = s * s;
  Real p = Real{} + 1.0 / 21;
  for (int odd = 19; odd >= 1; odd -= 2) p = p * z + 1.0 / odd;
  return n * 0.6931471805599453 + 2.0 * s * p;
}

}  // namespace safdr
