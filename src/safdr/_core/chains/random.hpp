// One random stream a replica: xoshiro256++ (Blackman and Vigna), whose four words of state live in a
// NumPy array, so that a set of replicas can be copied, pickled and resumed. Four streams advance together.
#pragma once

#include <cstdint>

#include "simd/pack.hpp"

namespace safdr {

class RandomPack {
 public:
  // streams[n] points to the four words of replica n.
  SAFDR_INLINE explicit RandomPack(std::uint64_t* const* streams) {
    for (int word = 0; word < 4; ++word) {
      for (int n = 0; n < kPackSize; ++n) s_[word].set(n, streams[n][word]);
    }
  }

  SAFDR_INLINE void store(std::uint64_t* const* streams, int n_alive) const {
    for (int word = 0; word < 4; ++word) {
      for (int n = 0; n < n_alive; ++n) streams[n][word] = s_[word][n];
    }
  }

  SAFDR_INLINE Words bits() {
    const Words result = rotl(s_[0] + s_[3], 23) + s_[0];
    const Words t = s_[1] << 17;
    s_[2] ^= s_[0];
    s_[3] ^= s_[1];
    s_[1] ^= s_[2];
    s_[0] ^= s_[3];
    s_[2] ^= t;
    s_[3] = rotl(s_[3], 45);
    return result;
  }

  // Uniform on [0, 1), 53 bits.
  SAFDR_INLINE Doubles uniform() {
    const Words whole = bits() >> 11;
    Doubles result;
    for (int i = 0; i < result.kParts; ++i) {
      result.part[i] = __builtin_convertvector(std::bit_cast<Flags::Part>(whole.part[i]), Doubles::Part);
    }
    return result * 0x1.0p-53;
  }

  // Uniform on {0, ..., n-1} from 32 random bits: the bias, n / 2^32, is below what a run can see.
  template <class Integer>
  static SAFDR_INLINE Integer below(Integer bits32, std::int64_t n) {
    return (bits32 * static_cast<std::uint64_t>(n)) >> 32;
  }

 private:
  static SAFDR_INLINE Words rotl(Words x, int by) { return (x << by) | (x >> (64 - by)); }
  Words s_[4];
};

}  // namespace safdr
