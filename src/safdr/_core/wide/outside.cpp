#include "wide/outside.hpp"

#include <algorithm>
#include <limits>

#include "aligned.hpp"
#include "simd/clones.hpp"

namespace safdr {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Columns that are worked on together: their numbers stay in registers, and of a subset in the nearest cache.
constexpr int kTile = 16;

// The kernel's rule: next to nothing is its own, and most of what it has is others'.
SAFDR_INLINE bool is_refused(double own, double variance, double tol) {
  return (own <= 0.0) | ((own <= tol) & (own < 0.5 * variance));
}

// Some columns beside a subset, filled up with zeros: their products a with its members, g = P·a, what the subset
// leaves of their variance and of what is to be explained.
struct Tile {
  double *a, *g, *residual;
  double left[kTile], variance[kTile];

  Tile(double* memory, std::int64_t size) : a(memory), g(a + size * kTile), residual(g + size * kTile) {}
  static std::int64_t size(std::int64_t size, std::int64_t n_outputs) { return (2 * size + n_outputs) * kTile; }
};

SAFDR_INLINE void read(Tile& tile, const double* rows, const Inside& inside, const Outside& outside,
                       std::int64_t first) {
  const std::int64_t width = std::min<std::int64_t>(kTile, outside.n - first);
  std::fill_n(tile.a, inside.size * kTile, 0.0);
  std::fill_n(tile.residual, outside.n_outputs * kTile, 0.0);
  std::fill_n(tile.variance, kTile, 1.0);
  std::copy_n(outside.variance + first, width, tile.variance);
  for (std::int64_t l = 0; l < inside.size; ++l) {
    std::copy_n(rows + inside.at[l] * outside.n + first, width, tile.a + l * kTile);
  }
  for (std::int64_t o = 0; o < outside.n_outputs; ++o) {
    std::copy_n(outside.D + o * outside.n + first, width, tile.residual + o * kTile);
  }
}

SAFDR_INLINE void project(Tile& tile, const Inside& inside, const Outside& outside) {
  const std::int64_t k = inside.size, m = outside.n_outputs;
  std::copy_n(tile.variance, kTile, tile.left);
  for (std::int64_t i = 0; i < k; ++i) {
    double sum[kTile] = {};
    const double* a = tile.a + i * kTile;
    for (std::int64_t l = 0; l < k; ++l) {
#pragma omp simd
      for (int n = 0; n < kTile; ++n) sum[n] += inside.P[i * k + l] * tile.a[l * kTile + n];
    }
#pragma omp simd
    for (int n = 0; n < kTile; ++n) {
      tile.g[i * kTile + n] = sum[n];
      tile.left[n] -= a[n] * sum[n];
    }
    for (std::int64_t o = 0; o < m; ++o) {
#pragma omp simd
      for (int n = 0; n < kTile; ++n) tile.residual[o * kTile + n] -= inside.w[i * m + o] * a[n];
    }
  }
}

// What it gains to take each column in for one member.
SAFDR_INLINE void gains_for(const Tile& tile, const Inside& inside, std::int64_t n_outputs, std::int64_t member,
                            double tol, double* gains) {
  const double inverse_p = 1.0 / inside.P[member * inside.size + member];
  const double* g = tile.g + member * kTile;
  double squares[kTile] = {};
  for (std::int64_t o = 0; o < n_outputs; ++o) {
    const double w = inside.w[member * n_outputs + o] * inverse_p;
#pragma omp simd
    for (int n = 0; n < kTile; ++n) {
      const double r = tile.residual[o * kTile + n] + g[n] * w;
      squares[n] += r * r;
    }
  }
#pragma omp simd
  for (int n = 0; n < kTile; ++n) {
    const double own = tile.left[n] + g[n] * g[n] * inverse_p;
    const bool refused = is_refused(own, tile.variance[n], tol);
    gains[n] = refused ? -kInfinity : squares[n] / own - inside.loss[member];
  }
}

SAFDR_INLINE void less_cost(const Outside& outside, std::int64_t first, std::int64_t width, double* gains) {
  if (outside.cost == nullptr) return;
  for (std::int64_t n = 0; n < width; ++n) gains[n] -= outside.cost[first + n];
}

// consume(member, first, width, gains) for each member and tile.
template <class Consume>
SAFDR_INLINE void over_swaps(const double* rows, const Inside& inside, const Outside& outside, double tol,
                             double* memory, Consume consume) {
  Tile tile(memory, inside.size);
  double gains[kTile];
  for (std::int64_t first = 0; first < outside.n; first += kTile) {
    const std::int64_t width = std::min<std::int64_t>(kTile, outside.n - first);
    read(tile, rows, inside, outside, first);
    project(tile, inside, outside);
    for (std::int64_t member = 0; member < inside.size; ++member) {
      gains_for(tile, inside, outside.n_outputs, member, tol, gains);
      less_cost(outside, first, width, gains);
      consume(member, first, width, gains);
    }
  }
}

SAFDR_CLONES void all_of(const double* rows, const Inside& inside, const Outside& outside, double tol, double* memory,
                         double* gains) {
  over_swaps(rows, inside, outside, tol, memory,
             [&](std::int64_t member, std::int64_t first, std::int64_t width, const double* some)
                 SAFDR_INLINE_LAMBDA { std::copy_n(some, width, gains + member * outside.n + first); });
}

SAFDR_CLONES void best_of(const double* rows, const Inside& inside, const Outside& outside, double tol, double* memory,
                          double* best) {
  std::fill_n(best, outside.n, -kInfinity);
  over_swaps(rows, inside, outside, tol, memory,
             [&](std::int64_t, std::int64_t first, std::int64_t width, const double* some) SAFDR_INLINE_LAMBDA {
               for (std::int64_t n = 0; n < width; ++n) best[first + n] = std::max(best[first + n], some[n]);
             });
}

// How much more two columns have together than alone, for a tile of partners, and what the partner gains.
SAFDR_INLINE void together(const double* row, double variance, const double* D, const double* left, const double* own,
                           const Outside& outside, double tol, std::int64_t first, std::int64_t width, double* gain,
                           double* more) {
  double squares[kTile] = {};
  const double inverse = 1.0 / variance;
  for (std::int64_t o = 0; o < outside.n_outputs; ++o) {
    const double *theirs = outside.D + o * outside.n + first, slope = D[o] * inverse;
    for (std::int64_t n = 0; n < width; ++n) {
      const double r = theirs[n] - row[n] * slope;
      squares[n] += r * r;
    }
  }
  for (std::int64_t n = 0; n < width; ++n) {
    const double rest = left[n] - row[n] * row[n] * inverse;
    const bool refused = is_refused(rest, outside.variance[first + n], tol);
    gain[n] = refused ? -kInfinity : squares[n] / rest;
    more[n] = gain[n] - own[n];
  }
}

SAFDR_CLONES void partners_of(const double* row, double variance, const double* D, const double* left,
                              const double* own, const Outside& outside, double tol, std::int64_t start, double* best,
                              double* its_gain, std::int64_t* place) {
  double gain[kTile], more[kTile];
  for (std::int64_t first = 0; first < outside.n; first += kTile) {
    const std::int64_t width = std::min<std::int64_t>(kTile, outside.n - first);
    if (width == kTile) {  // of a length that is known, so that vectors are full
      together(row + first, variance, D, left + first, own + first, outside, tol, first, kTile, gain, more);
    } else {
      together(row + first, variance, D, left + first, own + first, outside, tol, first, width, gain, more);
    }
    for (std::int64_t n = 0; n < width; ++n) {
      if (!(more[n] > *best)) continue;
      *best = more[n];
      *its_gain = gain[n];
      *place = start + first + n;
    }
  }
}

}  // namespace

void swap_gains(const double* rows, const Inside& inside, const Outside& outside, double collinear_tol, bool best_only,
                double* gains) {
  AlignedBuffer<double> memory(Tile::size(inside.size, outside.n_outputs));
  const auto run = best_only ? best_of : all_of;
  run(rows, inside, outside, collinear_tol, memory.data(), gains);
}

void best_partners(const double* rows, const double* variance, const double* D, std::int64_t n_columns,
                   const double* left, const double* own, const Outside& outside, double collinear_tol,
                   std::int64_t first, const Partners& partners) {
  for (std::int64_t i = 0; i < n_columns; ++i) {
    partners_of(rows + i * outside.n, variance[i], D + i * outside.n_outputs, left, own, outside, collinear_tol, first,
                partners.more + i, partners.gain + i, partners.place + i);
  }
}

}  // namespace safdr
