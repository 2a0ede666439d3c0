// One random stream a replica: xoshiro256++ (Blackman and Vigna), whose four words of state live in a
// NumPy array, so that a set of replicas can be copied, pickled and resumed. Four streams advance together.
#pragma once

#include <cstdint>

#include "simd/pack.hpp"
#include "simd/vector_math.hpp"

namespace safdr {

class RandomPack {
 public:
  // streams[n] points to the four words of replica n.
  SAFDR_INLINE explicit RandomPack(std::uint64_t* const* streams) {
    for (int word = 0; word < 4; ++word) {
      for (int n = 0; n < kPackSize; ++n) s_[word][n] = streams[n][word];
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

  // Exponential with mean one, from the lower 32 bits: from 1e-10 to 23.
  static SAFDR_INLINE Doubles exponential(const Words& bits) {
    const Flags low = std::bit_cast<Flags>(bits & std::uint64_t{0xffffffff});
    return log_from_one<Words>(0x1.0p32 / (__builtin_convertvector(low, Doubles) + 0.5));
  }

  // Uniform on {0, ..., n-1} from the upper 32 bits: the bias, n / 2^32, is too small to affect a run.
  static SAFDR_INLINE Flags below(const Words& bits, std::int64_t n) {
    const Words result = ((bits >> 32) * static_cast<std::uint64_t>(n)) >> 32;
    return std::bit_cast<Flags>(result);
  }

 private:
  static SAFDR_INLINE Words rotl(Words x, int by) { return (x << by) | (x >> (64 - by)); }
  Words s_[4];
};

}  // namespace safdr
