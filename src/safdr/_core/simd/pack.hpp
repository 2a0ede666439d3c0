// Several replicas side by side: a vector holds the same number of each of them, so that every step of the arithmetic
// is a full vector operation, however small the matrices are. Fits hold neighbouring rows in a vector.
#pragma once

#include <cmath>
#include <cstdint>
#include <utility>

#include "simd/clones.hpp"

namespace safdr {

// What a register holds on nearly every machine of its kind: GCC keeps wider vectors in memory, ten times slower.
#if defined(__x86_64__)
constexpr int kPackSize = 4;
#else
constexpr int kPackSize = 2;
#endif

typedef double Doubles __attribute__((vector_size(kPackSize * sizeof(double))));
typedef std::int64_t Flags __attribute__((vector_size(kPackSize * sizeof(double))));  // -1 for true, 0 for false
typedef std::uint64_t Words __attribute__((vector_size(kPackSize * sizeof(double))));

SAFDR_INLINE Doubles constant(double value) { return Doubles{} + value; }
SAFDR_INLINE Flags constant(std::int64_t value) { return Flags{} + value; }

template <class Pack>
SAFDR_INLINE Pack choose(const Flags& flags, const Pack& yes, const Pack& no) {
  return flags ? yes : no;
}

// body(0), …, body(N - 1), written out: what the body keeps in small arrays then stays in registers.
template <int N, class Body>
SAFDR_INLINE void each(Body body) {
  const auto all = [&]<int... i>(std::integer_sequence<int, i...>)
                       SAFDR_INLINE_LAMBDA { (body(std::integral_constant<int, i>{}), ...); };
  all(std::make_integer_sequence<int, N>{});
}

// One number for each place of a pack, fetched from wherever it is.
template <class Get>
SAFDR_INLINE Doubles gather(Get get) {
  const auto all = [&]<int... n>(std::integer_sequence<int, n...>) SAFDR_INLINE_LAMBDA { return Doubles{get(n)...}; };
  return all(std::make_integer_sequence<int, kPackSize>{});
}

SAFDR_INLINE Doubles square_root(Doubles x) {
  for (int n = 0; n < kPackSize; ++n) x[n] = std::sqrt(x[n]);
  return x;
}

SAFDR_INLINE bool any(const Flags& flags) {
  std::int64_t found = 0;
  for (int n = 0; n < kPackSize; ++n) found |= flags[n];
  return found != 0;
}

// The vector at an aligned place, and the sum of its numbers.
SAFDR_INLINE Doubles& at(double* p) { return *reinterpret_cast<Doubles*>(p); }
SAFDR_INLINE const Doubles& at(const double* p) { return *reinterpret_cast<const Doubles*>(p); }

SAFDR_INLINE double sum_of(const Doubles& x) {
  double total = 0.0;
  for (int n = 0; n < kPackSize; ++n) total += x[n];
  return total;
}

}  // namespace safdr
