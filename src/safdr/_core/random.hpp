// One random stream a replica: xoshiro256++ (Blackman and Vigna), whose four words of state live in a
// NumPy array, so that a set of replicas can be copied, pickled and resumed.
#pragma once

#include <cstdint>

#include "clones.hpp"

namespace safdr {

class Random {
 public:
  explicit Random(std::uint64_t* state) : s_(state) {}

  SAFDR_INLINE std::uint64_t bits() {
    const std::uint64_t result = rotl(s_[0] + s_[3], 23) + s_[0];
    const std::uint64_t t = s_[1] << 17;
    s_[2] ^= s_[0];
    s_[3] ^= s_[1];
    s_[1] ^= s_[2];
    s_[0] ^= s_[3];
    s_[2] ^= t;
    s_[3] = rotl(s_[3], 45);
    return result;
  }

  // Uniform on [0, 1), 53 bits.
  SAFDR_INLINE double uniform() { return static_cast<double>(bits() >> 11) * 0x1.0p-53; }

  // Uniform on {0, ..., n-1} from 32 random bits: the bias, n / 2^32, is below what a run can see.
  static SAFDR_INLINE std::int64_t below(std::uint64_t bits32, std::int64_t n) {
    return static_cast<std::int64_t>((bits32 * static_cast<std::uint64_t>(n)) >> 32);
  }

 private:
  static SAFDR_INLINE std::uint64_t rotl(std::uint64_t x, int by) {
    return (x << by) | (x >> (64 - by));
  }
  std::uint64_t* s_;
};

}  // namespace safdr
