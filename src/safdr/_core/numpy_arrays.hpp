// NumPy arrays at the boundary to Python.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>

#include "aligned.hpp"

namespace safdr {

namespace nb = nanobind;

template <class T, class... Shape>
using Array = nb::ndarray<T, nb::numpy, nb::c_contig, nb::device::cpu, Shape...>;
template <class T>
using Vector = Array<T, nb::ndim<1>>;
template <class T>
using Matrix = Array<T, nb::ndim<2>>;
template <class T>
using Stack = Array<T, nb::ndim<3>>;

template <class T, int N>
using Result = nb::ndarray<nb::numpy, T, nb::ndim<N>>;

// A new NumPy array that owns its memory, on a cache-line boundary.
template <class T, int N>
struct NewArray {
  std::array<std::size_t, N> shape;
  AlignedBuffer<T> data;

  explicit NewArray(const std::array<std::size_t, N>& shape) : shape(shape), data(length()) {
#if defined(SAFDR_SANITIZED)
    // Makes unwritten values visible: not a number, the smallest integer, true.
    using Limits = std::numeric_limits<T>;
    const T odd = Limits::has_quiet_NaN ? Limits::quiet_NaN() : Limits::is_signed ? Limits::lowest() : Limits::max();
    std::fill_n(data.data(), length(), odd);
#endif
  }
  operator T*() { return data.data(); }
  std::int64_t length() const {
    return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  }
  Result<T, N> release() {
    T* raw = data.release();
    nb::capsule owner(raw, [](void* p) noexcept { AlignedBuffer<T>::free(static_cast<T*>(p)); });
    return Result<T, N>(raw, N, shape.data(), owner);
  }
};

}  // namespace safdr
