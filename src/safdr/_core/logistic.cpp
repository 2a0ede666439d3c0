#include "logistic.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "aligned.hpp"
#include "clones.hpp"
#include "parallel.hpp"
#include "vector_math.hpp"

namespace safdr {
namespace {

// Rows handled at a time: 256 rows of 31 columns are 64 KB, well within the second-level cache.
constexpr std::int64_t kBlock = 256;

// Newton's method converges quadratically towards a finite optimum; on the way to infinity, where a
// direction separates the classes in part, each step only divides what is left by e = 2.7. A decrement
// that is small already and yet shrinks by less than this factor, so many times, means separation.
// (Relative to the loss without features.)
constexpr double kSlowShrink = 0.2, kSmallDecrement = 1.5e-3;
constexpr int kSlowSteps = 4;

// Once the classes are known to be separated the fit goes on until little is left, for its direction.
constexpr double kSeparatedEnough = 1e-3;

constexpr int kMaxHalvings = 30;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Columns are padded to whole tiles, and rows to whole blocks, with zeros.
constexpr std::int64_t kTile = 4;

struct Workspace {
  std::int64_t n_padded, q, q_padded;  // q columns, the constant one last
  AlignedBuffer<double> Z, U, H, gradient, step, beta, trial;

  Workspace(std::int64_t n_rows, std::int64_t q)
      : n_padded((n_rows + kBlock - 1) / kBlock * kBlock), q(q),
        q_padded((q + kTile - 1) / kTile * kTile), Z(n_padded * q_padded), U(kBlock * q_padded),
        H(q_padded * q_padded), gradient(q), step(q), beta(q), trial(q) {}
};

struct Evaluation {
  double loss;        // mean cross-entropy
  double min_margin;  // smallest (2y - 1) * eta
};

// The columns of a subset, block by block: Z[block][column][row in block].
void gather(const Design& d, const std::int32_t* subset, Workspace& ws) {
  const std::int64_t q = ws.q;
  std::vector<double> mean(q), factor(q);
  for (std::int64_t j = 0; j + 1 < q; ++j) {
    mean[j] = d.mean[subset[j]];
    factor[j] = 1.0 / d.scale[subset[j]];
  }
  for (std::int64_t row = 0; row < d.n_rows; ++row) {
    double* out = ws.Z.data() + row / kBlock * (kBlock * ws.q_padded) + row % kBlock;
    const double* in = d.X + row * d.row_stride;
    for (std::int64_t j = 0; j + 1 < q; ++j) {
      out[j * kBlock] = (in[subset[j] * d.column_stride] - mean[j]) * factor[j];
    }
    out[(q - 1) * kBlock] = 1.0;
  }
}

// H += U'Z over one block for the tile of columns from (i, j) on: each value loaded serves four times.
SAFDR_INLINE void add_tile(const double* U, const double* Z, std::int64_t stride, std::int64_t i,
                           std::int64_t j, double* H) {
  // Eight partial sums each, whatever the width of the machine's vectors.
  constexpr int kLanes = 8;
  typedef double Lanes __attribute__((vector_size(kLanes * sizeof(double))));
  Lanes sum[kTile][kTile] = {};
  for (std::int64_t n = 0; n < kBlock; n += kLanes) {
    Lanes z[kTile];
    for (std::int64_t c = 0; c < kTile; ++c) {
      z[c] = *reinterpret_cast<const Lanes*>(Z + (j + c) * kBlock + n);
    }
    for (std::int64_t r = 0; r < kTile; ++r) {
      const Lanes u = *reinterpret_cast<const Lanes*>(U + (i + r) * kBlock + n);
      for (std::int64_t c = 0; c < kTile; ++c) sum[r][c] += u * z[c];
    }
  }
  for (std::int64_t r = 0; r < kTile; ++r) {
    for (std::int64_t c = 0; c < kTile; ++c) {
      double total = 0.0;
      for (int lane = 0; lane < kLanes; ++lane) total += sum[r][c][lane];
      H[(i + r) * stride + j + c] += total;
    }
  }
}

// Loss, gradient and Hessian (lower triangle) of the mean cross-entropy at beta, in one pass.
SAFDR_CLONES Evaluation evaluate(const Design& d, Workspace& ws, const double* beta, double total) {
  const std::int64_t q = ws.q, stride = ws.q_padded;
  double *H = ws.H.data(), *gradient = ws.gradient.data(), *U = ws.U.data();
  std::fill_n(H, stride * stride, 0.0);
  std::fill_n(gradient, q, 0.0);
  double loss = 0.0, min_margin = kInfinity;
  alignas(64) double eta[kBlock], residual[kBlock], curvature[kBlock], y[kBlock], weight[kBlock];
  for (std::int64_t start = 0; start < d.n_rows; start += kBlock) {
    const std::int64_t n_here = std::min(kBlock, d.n_rows - start);
    const double* Z = ws.Z.data() + start * stride;
    std::copy_n(d.y + start, n_here, y);
    std::copy_n(d.weight + start, n_here, weight);
    std::fill(y + n_here, y + kBlock, 0.0);
    std::fill(weight + n_here, weight + kBlock, 0.0);
    std::fill_n(eta, kBlock, 0.0);
    for (std::int64_t j = 0; j < q; ++j) {
      const double b = beta[j];
      const double* z = Z + j * kBlock;
#pragma omp simd
      for (std::int64_t n = 0; n < kBlock; ++n) eta[n] += b * z[n];
    }
#pragma omp simd reduction(+ : loss) reduction(min : min_margin)
    for (std::int64_t n = 0; n < kBlock; ++n) {
      const double size = std::abs(eta[n]), t = exp_minus(size);
      const double larger = 1.0 / (1.0 + t), smaller = t * larger;
      const double p = eta[n] >= 0.0 ? larger : smaller;
      const double margin = (2.0 * y[n] - 1.0) * eta[n];
      loss += weight[n] * (log1p_unit(t) + (margin < 0.0 ? -margin : 0.0));
      residual[n] = weight[n] * (p - y[n]);
      curvature[n] = weight[n] * larger * smaller;
      const double counted = weight[n] > 0.0 ? margin : kInfinity;  // padding has no weight
      min_margin = counted < min_margin ? counted : min_margin;
    }
    for (std::int64_t j = 0; j < q; ++j) {
      const double* z = Z + j * kBlock;
      double* u = U + j * kBlock;
      double sum = 0.0;
#pragma omp simd reduction(+ : sum)
      for (std::int64_t n = 0; n < kBlock; ++n) {
        sum += residual[n] * z[n];
        u[n] = curvature[n] * z[n];
      }
      gradient[j] += sum;
    }
    for (std::int64_t i = 0; i < stride; i += kTile) {
      for (std::int64_t j = 0; j <= i; j += kTile) add_tile(U, Z, stride, i, j, H);
    }
  }
  for (std::int64_t i = 0; i < stride * stride; ++i) H[i] /= total;
  for (std::int64_t i = 0; i < q; ++i) gradient[i] /= total;
  return {loss / total, min_margin};
}

// step = H^-1 gradient by Cholesky in place; returns gradient'step. A column without curvature of its own
// (collinear, or all rows fitted) gets no step.
double newton_step(Workspace& ws) {
  const std::int64_t q = ws.q, stride = ws.q_padded;
  double *H = ws.H.data(), *step = ws.step.data();
  const double* gradient = ws.gradient.data();
  for (std::int64_t i = 0; i < q; ++i) {
    double* row = H + i * stride;
    const double diagonal = row[i];
    for (std::int64_t j = 0; j < i; ++j) {
      const double* other = H + j * stride;
      double sum = row[j];
      for (std::int64_t l = 0; l < j; ++l) sum -= row[l] * other[l];
      row[j] = other[j] > 0.0 ? sum / other[j] : 0.0;
    }
    double pivot = diagonal;
    for (std::int64_t l = 0; l < i; ++l) pivot -= row[l] * row[l];
    row[i] = pivot > 1e-12 * diagonal ? std::sqrt(pivot) : 0.0;
    double sum = gradient[i];
    for (std::int64_t l = 0; l < i; ++l) sum -= row[l] * step[l];
    step[i] = row[i] > 0.0 ? sum / row[i] : 0.0;
  }
  double decrement = 0.0;
  for (std::int64_t i = 0; i < q; ++i) decrement += step[i] * step[i];
  for (std::int64_t i = q - 1; i >= 0; --i) {
    double sum = step[i];
    for (std::int64_t l = i + 1; l < q; ++l) sum -= H[l * stride + i] * step[l];
    const double pivot = H[i * stride + i];
    step[i] = pivot > 0.0 ? sum / pivot : 0.0;
  }
  return decrement;
}

// Follows Newton's direction, halving the step until the loss does not rise. False where it can't.
bool descend(const Design& d, Workspace& ws, double total, Evaluation& now) {
  const std::int64_t q = ws.q;
  double *beta = ws.beta.data(), *trial = ws.trial.data();
  const double* step = ws.step.data();
  double fraction = 1.0;
  for (int halving = 0; halving <= kMaxHalvings; ++halving, fraction *= 0.5) {
    for (std::int64_t i = 0; i < q; ++i) trial[i] = beta[i] - fraction * step[i];
    const Evaluation next = evaluate(d, ws, trial, total);
    if (next.loss <= now.loss) {
      std::copy_n(trial, q, beta);
      now = next;
      return true;
    }
  }
  return false;
}

void fit_one(const Design& d, const std::int32_t* subset, const double* start, const FitOptions& options,
             double total, double share, Workspace& ws, const Fits& fits, std::int64_t index) {
  const std::int64_t q = ws.q;
  double *beta = ws.beta.data(), *step = ws.step.data();
  gather(d, subset, ws);
  std::copy_n(start, q, beta);
  Evaluation now = evaluate(d, ws, beta, total);
  const double null_loss = -share * std::log(share) - (1.0 - share) * std::log(1.0 - share);
  if (!(now.loss <= null_loss)) {
    // Worse than no features at all: not a start.
    std::fill_n(beta, q, 0.0);
    beta[q - 1] = std::log(share / (1.0 - share));
    now = evaluate(d, ws, beta, total);
  }

  bool converged = false, drifting = false;
  double previous = kInfinity;
  int slow_steps = 0;
  std::int64_t iteration = 0;
  for (;; ++iteration) {
    // Every row on its own side proves separation.
    if (now.min_margin > 0.0 && now.loss < kSeparatedEnough) break;
    const double decrement = newton_step(ws);
    slow_steps += decrement < kSmallDecrement * null_loss && decrement > kSlowShrink * previous;
    previous = decrement;
    drifting = slow_steps >= kSlowSteps;
    converged = 0.5 * decrement <= options.tol * null_loss;
    if (converged) {
      // One more step squares what is left; the loss after it is known well enough without a pass.
      for (std::int64_t i = 0; i < q; ++i) beta[i] -= step[i];
      now.loss -= 0.5 * decrement;
      break;
    }
    if ((drifting && !(now.min_margin > 0.0)) || iteration == options.max_iter) break;
    if (!descend(d, ws, total, now)) break;
  }
  const bool certain = now.min_margin > 0.0;
  std::copy_n(beta, q, fits.coefficients + index * q);
  fits.cross_entropy[index] = certain ? 0.0 : now.loss;
  fits.separated[index] = certain || drifting;
  fits.converged[index] = converged;
  fits.n_iter[index] = iteration;
}

}  // namespace

void fit_logistic(const Design& design, const std::int32_t* subsets, const double* start,
                  std::int64_t n_subsets, std::int64_t size, const FitOptions& options,
                  const Fits& fits) {
  double total = 0.0, positive = 0.0;
  for (std::int64_t n = 0; n < design.n_rows; ++n) {
    total += design.weight[n];
    positive += design.weight[n] * design.y[n];
  }
  run_tasks(n_subsets, options.n_threads, [&](auto next) {
    Workspace ws(design.n_rows, size + 1);
    for (std::int64_t i = next(); i >= 0; i = next()) {
      fit_one(design, subsets + i * size, start + i * (size + 1), options, total, positive / total, ws,
              fits, i);
    }
  });
}

}  // namespace safdr
