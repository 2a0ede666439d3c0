// Four replicas side by side: one pack holds the same number of each of them, so that every step of the
// arithmetic is a full vector operation, however small the matrices are.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "simd/clones.hpp"

namespace safdr {

constexpr int kPackSize = 4;

// What a register holds on nearly every machine of its kind. GCC keeps wider vectors in memory where the
// instruction set lacks them (ten times slower), so a pack is made of one or two of this width.
#if defined(__x86_64__)
constexpr int kRegisterBytes = 32;
#else
constexpr int kRegisterBytes = 16;
#endif

template <class T>
struct alignas(kPackSize * sizeof(T)) Pack {
  static constexpr int kParts = kPackSize * sizeof(T) / kRegisterBytes;
  static constexpr int kPerPart = kPackSize / kParts;
  typedef T Part __attribute__((vector_size(kRegisterBytes)));
  Part part[kParts];

  SAFDR_INLINE T operator[](int slot) const { return part[slot / kPerPart][slot % kPerPart]; }
  SAFDR_INLINE void set(int slot, T value) { part[slot / kPerPart][slot % kPerPart] = value; }
};

typedef Pack<double> Doubles;
typedef Pack<std::int64_t> Flags;  // -1 for true, 0 for false
typedef Pack<std::uint64_t> Words;

template <class T>
SAFDR_INLINE Pack<T> broadcast(T value) {
  Pack<T> result;
  for (int i = 0; i < result.kParts; ++i) result.part[i] = typename Pack<T>::Part{} + value;
  return result;
}

SAFDR_INLINE Doubles constant(double value) { return broadcast(value); }

#define SAFDR_OPERATOR(op)                                                 \
  template <class T>                                                       \
  SAFDR_INLINE Pack<T> operator op(Pack<T> a, const Pack<T>& b) {          \
    for (int i = 0; i < a.kParts; ++i) a.part[i] = a.part[i] op b.part[i]; \
    return a;                                                              \
  }                                                                        \
  template <class T>                                                       \
  SAFDR_INLINE Pack<T> operator op(const Pack<T>& a, T b) {                \
    return a op broadcast<T>(b);                                           \
  }                                                                        \
  template <class T>                                                       \
  SAFDR_INLINE Pack<T> operator op(T a, const Pack<T>& b) {                \
    return broadcast<T>(a) op b;                                           \
  }                                                                        \
  template <class T>                                                       \
  SAFDR_INLINE Pack<T>& operator op## = (Pack<T> & a, const Pack<T>& b) {  \
    return a = a op b;                                                     \
  }
SAFDR_OPERATOR(+)
SAFDR_OPERATOR(-)
SAFDR_OPERATOR(*)
SAFDR_OPERATOR(/)
SAFDR_OPERATOR(&)
SAFDR_OPERATOR(|)
SAFDR_OPERATOR(^)
#undef SAFDR_OPERATOR

#define SAFDR_COMPARISON(op)                                                    \
  template <class T>                                                            \
  SAFDR_INLINE Flags operator op(const Pack<T>& a, const Pack<T>& b) {          \
    Flags result;                                                               \
    for (int i = 0; i < a.kParts; ++i) result.part[i] = a.part[i] op b.part[i]; \
    return result;                                                              \
  }                                                                             \
  template <class T>                                                            \
  SAFDR_INLINE Flags operator op(const Pack<T>& a, T b) {                       \
    return a op broadcast<T>(b);                                                \
  }
SAFDR_COMPARISON(<)
SAFDR_COMPARISON(<=)
SAFDR_COMPARISON(>)
SAFDR_COMPARISON(>=)
SAFDR_COMPARISON(==)
#undef SAFDR_COMPARISON

SAFDR_INLINE Flags operator~(Flags a) {
  for (int i = 0; i < a.kParts; ++i) a.part[i] = ~a.part[i];
  return a;
}

SAFDR_INLINE Words operator<<(Words a, int by) {
  for (int i = 0; i < a.kParts; ++i) a.part[i] = a.part[i] << by;
  return a;
}

SAFDR_INLINE Words operator>>(Words a, int by) {
  for (int i = 0; i < a.kParts; ++i) a.part[i] = a.part[i] >> by;
  return a;
}

template <class T>
SAFDR_INLINE Pack<T> choose(const Flags& flags, Pack<T> yes, const Pack<T>& no) {
  for (int i = 0; i < yes.kParts; ++i) yes.part[i] = flags.part[i] ? yes.part[i] : no.part[i];
  return yes;
}

// One number for each place of a pack, fetched from wherever it is.
template <class Get>
SAFDR_INLINE Doubles gather(Get get) {
  Doubles result;
  for (int i = 0; i < result.kParts; ++i) {
    const int n = i * result.kPerPart;
    // Written out: set one by one, the numbers would go through memory.
    if constexpr (Doubles::kPerPart == 4) {
      result.part[i] = Doubles::Part{get(n), get(n + 1), get(n + 2), get(n + 3)};
    } else {
      result.part[i] = Doubles::Part{get(n), get(n + 1)};
    }
  }
  return result;
}

SAFDR_INLINE Doubles absolute(const Doubles& x) { return choose(x < 0.0, constant(0.0) - x, x); }

SAFDR_INLINE Doubles square_root(Doubles x) {
  for (int i = 0; i < x.kParts; ++i) {
    for (int n = 0; n < x.kPerPart; ++n) x.part[i][n] = std::sqrt(x.part[i][n]);
  }
  return x;
}

SAFDR_INLINE bool any(const Flags& flags) {
  Flags::Part found = flags.part[0];
  for (int i = 1; i < flags.kParts; ++i) found |= flags.part[i];
  std::int64_t one = found[0];
  for (int n = 1; n < flags.kPerPart; ++n) one |= found[n];
  return one != 0;
}

// body(0), …, body(N - 1), written out: what the body keeps in small arrays then stays in registers.
template <int N, class Body>
SAFDR_INLINE void each(Body body) {
  const auto all = [&]<int... i>(std::integer_sequence<int, i...>)
                       SAFDR_INLINE_LAMBDA { (body(std::integral_constant<int, i>{}), ...); };
  all(std::make_integer_sequence<int, N>{});
}

// As many numbers as a register holds.
template <class Real>
struct Register {
  typedef Real Part __attribute__((vector_size(kRegisterBytes)));
  static constexpr std::int64_t kWidth = kRegisterBytes / sizeof(Real);
};

// The vector at an aligned place, and the sum of its numbers.
template <class Real>
SAFDR_INLINE typename Register<Real>::Part& at(Real* p) {
  return *reinterpret_cast<typename Register<Real>::Part*>(p);
}

template <class Real>
SAFDR_INLINE const typename Register<Real>::Part& at(const Real* p) {
  return *reinterpret_cast<const typename Register<Real>::Part*>(p);
}

template <class Part>
SAFDR_INLINE auto sum_of(const Part& part) {
  std::remove_cvref_t<decltype(part[0])> total = 0;
  for (std::size_t n = 0; n < sizeof(part) / sizeof(total); ++n) total += part[n];
  return total;
}

}  // namespace safdr
