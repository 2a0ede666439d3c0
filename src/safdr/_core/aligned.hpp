// Zeroed scratch memory on cache-line boundaries, so that a vector load never straddles two lines.
#pragma once

#include <algorithm>
#include <cstdint>
#include <new>

namespace safdr {

class AlignedBuffer {
 public:
  explicit AlignedBuffer(std::int64_t n_doubles)
      : data_(static_cast<double*>(
            ::operator new(static_cast<std::size_t>(n_doubles) * sizeof(double), kLine))) {
    std::fill_n(data_, n_doubles, 0.0);
  }
  ~AlignedBuffer() { ::operator delete(data_, kLine); }
  AlignedBuffer(const AlignedBuffer&) = delete;
  AlignedBuffer& operator=(const AlignedBuffer&) = delete;

  double* data() { return data_; }
  const double* data() const { return data_; }

 private:
  static constexpr std::align_val_t kLine{64};
  double* data_;
};

}  // namespace safdr
