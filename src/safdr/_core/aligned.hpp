// Zeroed memory on cache-line boundaries, so that a vector load never straddles two lines.
#pragma once

#include <algorithm>
#include <cstdint>
#include <new>
#include <utility>

namespace safdr {

template <class T>
class AlignedBuffer {
 public:
  explicit AlignedBuffer(std::int64_t n)
      : data_(static_cast<T*>(::operator new(static_cast<std::size_t>(n) * sizeof(T), kLine))) {
    std::fill_n(data_, n, T{});
  }
  ~AlignedBuffer() { free(data_); }
  AlignedBuffer(const AlignedBuffer&) = delete;
  AlignedBuffer& operator=(const AlignedBuffer&) = delete;

  void swap(AlignedBuffer& other) noexcept { std::swap(data_, other.data_); }

  T* data() { return data_; }
  const T* data() const { return data_; }

  // Releases the memory to a caller that will free() it.
  T* release() { return std::exchange(data_, nullptr); }
  static void free(T* data) noexcept { ::operator delete(data, kLine); }

 private:
  static constexpr std::align_val_t kLine{64};
  T* data_;
};

}  // namespace safdr
