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

// Rows handled at a time: 128 rows of 31 columns are 32 KB, the first-level cache.
constexpr std::int64_t kBlock = 128;

// Newton's method converges quadratically towards a finite optimum; on the way to infinity, where a
// direction separates the classes in part, each step only divides what is left by e = 2.7. A decrement
// that is small already and yet shrinks by less than this factor, so many times, means separation.
constexpr double kSlowShrink = 0.2, kSmallDecrement = 1e-3;
constexpr int kSlowSteps = 4;

// Once the classes are known to be separated the fit goes on until little is left, for its direction.
constexpr double kSeparatedEnough = 1e-3;

constexpr int kMaxHalvings = 30;

struct Workspace {
  std::int64_t n_rows, n_padded, q;  // q columns, the constant one last
  AlignedBuffer Z, U, H, gradient, step, beta, trial, eta;

  Workspace(std::int64_t n_rows, std::int64_t q)
      : n_rows(n_rows), n_padded((n_rows + kBlock - 1) / kBlock * kBlock), q(q),
        Z(n_padded * q), U(kBlock * q), H(q * q), gradient(q), step(q), beta(q), trial(q), eta(kBlock) {}
};

struct Evaluation {
  double loss;        // mean cross-entropy
  double min_margin;  // smallest (2y - 1) * eta
};

// The columns of a subset, block by block: Z[block][column][row in block]. Padding rows are zero.
void gather(const Design& d, const std::int32_t* subset, Workspace& ws) {
  const std::int64_t q = ws.q;
  double* Z = ws.Z.data();
  std::fill_n(Z, ws.n_padded * q, 0.0);
  for (std::int64_t row = 0; row < d.n_rows; ++row) {
    double* out = Z + row / kBlock * (kBlock * q) + row % kBlock;
    const double* in = d.X + row * d.row_stride;
    for (std::int64_t j = 0; j + 1 < q; ++j) {
      const std::int32_t feature = subset[j];
      out[j * kBlock] = (in[feature * d.column_stride] - d.mean[feature]) / d.scale[feature];
    }
    out[(q - 1) * kBlock] = 1.0;
  }
}

// H += U'Z over one block, lower triangle, four by two columns at a time to reuse what is loaded.
SAFDR_INLINE void add_cross_products(const double* U, const double* Z, std::int64_t q, double* H) {
  constexpr int kRows = 4, kCols = 2;
  std::int64_t i = 0;
  for (; i + kRows <= q; i += kRows) {
    for (std::int64_t j = 0; j < i + kRows; j += kCols) {
      double s00 = 0, s01 = 0, s10 = 0, s11 = 0, s20 = 0, s21 = 0, s30 = 0, s31 = 0;
      const double *u0 = U + i * kBlock, *u1 = u0 + kBlock, *u2 = u1 + kBlock, *u3 = u2 + kBlock;
      const double *z0 = Z + j * kBlock, *z1 = z0 + kBlock;
#pragma omp simd reduction(+ : s00, s01, s10, s11, s20, s21, s30, s31)
      for (std::int64_t n = 0; n < kBlock; ++n) {
        s00 += u0[n] * z0[n];
        s01 += u0[n] * z1[n];
        s10 += u1[n] * z0[n];
        s11 += u1[n] * z1[n];
        s20 += u2[n] * z0[n];
        s21 += u2[n] * z1[n];
        s30 += u3[n] * z0[n];
        s31 += u3[n] * z1[n];
      }
      double* out = H + i * q + j;
      out[0] += s00;
      out[1] += s01;
      out[q] += s10;
      out[q + 1] += s11;
      out[2 * q] += s20;
      out[2 * q + 1] += s21;
      out[3 * q] += s30;
      out[3 * q + 1] += s31;
    }
  }
  for (; i < q; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      double sum = 0;
      const double *u = U + i * kBlock, *z = Z + j * kBlock;
#pragma omp simd reduction(+ : sum)
      for (std::int64_t n = 0; n < kBlock; ++n) sum += u[n] * z[n];
      H[i * q + j] += sum;
    }
  }
}

// Loss, gradient and Hessian of the mean cross-entropy at beta, in one pass over the rows.
SAFDR_CLONES Evaluation evaluate(const Design& d, Workspace& ws, const double* beta, double total) {
  const std::int64_t q = ws.q;
  double *H = ws.H.data(), *gradient = ws.gradient.data(), *U = ws.U.data(), *eta = ws.eta.data();
  std::fill_n(H, q * q, 0.0);
  std::fill_n(gradient, q, 0.0);
  double loss = 0.0, min_margin = std::numeric_limits<double>::infinity();
  alignas(64) double residual[kBlock], curvature[kBlock], y[kBlock], weight[kBlock];
  for (std::int64_t start = 0; start < d.n_rows; start += kBlock) {
    const std::int64_t n_here = std::min(kBlock, d.n_rows - start);
    const double* Z = ws.Z.data() + start * q;
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
#pragma omp simd reduction(+ : loss)
    for (std::int64_t n = 0; n < kBlock; ++n) {
      const double size = std::abs(eta[n]), t = exp_minus(size);
      const double larger = 1.0 / (1.0 + t), smaller = t * larger;
      const double p = eta[n] >= 0.0 ? larger : smaller;
      const double margin = (2.0 * y[n] - 1.0) * eta[n];
      loss += weight[n] * (log1p_unit(t) + (margin < 0.0 ? -margin : 0.0));
      residual[n] = weight[n] * (p - y[n]);
      curvature[n] = weight[n] * larger * smaller;
    }
    for (std::int64_t n = 0; n < n_here; ++n) {
      min_margin = std::min(min_margin, (2.0 * y[n] - 1.0) * eta[n]);
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
    add_cross_products(U, Z, q, H);
  }
  for (std::int64_t i = 0; i < q * q; ++i) H[i] /= total;
  for (std::int64_t i = 0; i < q; ++i) gradient[i] /= total;
  return {loss / total, min_margin};
}

// step = H^-1 gradient by Cholesky in place; returns gradient'step. A column without curvature of its own
// (collinear, or all rows fitted) gets no step.
double newton_step(Workspace& ws) {
  const std::int64_t q = ws.q;
  double *H = ws.H.data(), *step = ws.step.data();
  const double* gradient = ws.gradient.data();
  for (std::int64_t i = 0; i < q; ++i) {
    double* row = H + i * q;
    const double diagonal = row[i];
    for (std::int64_t j = 0; j < i; ++j) {
      const double* other = H + j * q;
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
    for (std::int64_t l = i + 1; l < q; ++l) sum -= H[l * q + i] * step[l];
    step[i] = H[i * q + i] > 0.0 ? sum / H[i * q + i] : 0.0;
  }
  return decrement;
}

void fit_one(const Design& d, const std::int32_t* subset, const FitOptions& options, double total,
             double share, Workspace& ws, const Fits& fits, std::int64_t index) {
  const std::int64_t q = ws.q;
  double *beta = ws.beta.data(), *trial = ws.trial.data(), *step = ws.step.data();
  gather(d, subset, ws);
  std::fill_n(beta, q, 0.0);
  beta[q - 1] = std::log(share / (1.0 - share));

  Evaluation now = evaluate(d, ws, beta, total);
  bool converged = false, certain = false, drifting = false;
  double previous = std::numeric_limits<double>::infinity();
  int slow_steps = 0;
  std::int64_t iteration = 0;
  while (iteration < options.max_iter && !converged) {
    certain = now.min_margin > 0.0;  // every row on its own side: proof of separation
    if (certain && now.loss < kSeparatedEnough) break;
    const double decrement = newton_step(ws);
    slow_steps += decrement < kSmallDecrement && decrement > kSlowShrink * previous;
    drifting = slow_steps >= kSlowSteps;
    if (drifting && !certain) break;
    converged = 0.5 * decrement <= options.tol;  // and the step below squares what is left
    previous = decrement;

    double fraction = 1.0;
    Evaluation next = now;
    for (int halving = 0; halving <= kMaxHalvings; ++halving, fraction *= 0.5) {
      for (std::int64_t i = 0; i < q; ++i) trial[i] = beta[i] - fraction * step[i];
      next = evaluate(d, ws, trial, total);
      if (next.loss <= now.loss || converged) break;
    }
    if (!(next.loss <= now.loss || converged)) break;
    std::copy_n(trial, q, beta);
    now = next;
    ++iteration;
  }
  certain = now.min_margin > 0.0;
  std::copy_n(beta, q, fits.coefficients + index * q);
  fits.cross_entropy[index] = certain ? 0.0 : now.loss;
  fits.separated[index] = certain || drifting;
  fits.converged[index] = converged;
  fits.n_iter[index] = iteration;
}

}  // namespace

void fit_logistic(const Design& design, const std::int32_t* subsets, std::int64_t n_subsets,
                  std::int64_t size, const FitOptions& options, const Fits& fits) {
  double total = 0.0, positive = 0.0;
  for (std::int64_t n = 0; n < design.n_rows; ++n) {
    total += design.weight[n];
    positive += design.weight[n] * design.y[n];
  }
  run_tasks(n_subsets, options.n_threads, [&](auto next) {
    Workspace ws(design.n_rows, size + 1);
    for (std::int64_t i = next(); i >= 0; i = next()) {
      fit_one(design, subsets + i * size, options, total, positive / total, ws, fits, i);
    }
  });
}

}  // namespace safdr
