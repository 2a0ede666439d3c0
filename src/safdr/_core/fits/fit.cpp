#include "fits/fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "parallel.hpp"

namespace safdr {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

constexpr std::int64_t kMaxSteps = 100;
// Starting near another model saves steps that cost as much as Hessians of so many more columns.
constexpr std::int64_t kSaved = 8;
// More than the penalty's part of a loss that has none, as a share of the loss without features.
constexpr double kClose = 1e-6;
// Subsets that are fitted before the best of them becomes the incumbent: the same for any number of threads.
constexpr std::int64_t kRound = 16;

// A family with its solver: the work space of one thread.
struct Worker {
  Worker(const Columns& columns, FamilyName name, const Target& target, std::int64_t size, const FitOptions& options)
      : family(make_family(name, target)),
        newton(columns, *family, size, {options.penalty, options.tol, kMaxSteps, options.separable}) {}

  const std::unique_ptr<Family> family;
  Newton newton;
};

// The columns that occur, and the places of each subset's columns among them.
struct Union {
  Union(const std::int32_t* subsets, std::int64_t n, std::int64_t n_columns) : places(subsets, subsets + n) {
    std::vector<std::int32_t> place(static_cast<std::size_t>(n_columns), -1);
    for (const std::int32_t j : places) place[static_cast<std::size_t>(j)] = 0;
    for (std::int32_t j = 0; j < n_columns; ++j) {
      if (place[static_cast<std::size_t>(j)] < 0) continue;
      place[static_cast<std::size_t>(j)] = static_cast<std::int32_t>(columns.size());
      columns.push_back(j);
    }
    for (std::int32_t& j : places) j = place[static_cast<std::size_t>(j)];
  }
  std::vector<std::int32_t> columns, places;
};

class Shortlist {
 public:
  Shortlist(const Columns& columns, FamilyName name, const Target& target, const double* null_model,
            const std::int32_t* subsets, std::int64_t n, std::int64_t size, const FitOptions& options, const Fits& fits)
      : columns_(columns), name_(name), target_(target), null_model_(null_model), subsets_(subsets), n_(n), size_(size),
        options_(options), fits_(fits), null_loss_(loss_of_null()), penalised_(static_cast<std::size_t>(n)),
        incumbent_(options.separable ? kInfinity : options.incumbent) {}

  void fit() {
    fit_some(0, 1, nullptr, nullptr);
    if (n_ == 1 || stopped()) return;
    const Union all(subsets_, n_ * size_, columns_.n_columns - 1);
    std::optional<LocalModel> model;
    const auto n_columns = static_cast<std::int64_t>(all.columns.size());
    if (n_columns * n_columns < n_ * (size_ + kSaved) * (size_ + kSaved)) model = local_model(all);
    // The others have the best of some as the incumbent.
    const std::int64_t some = options_.best_only ? std::min(n_, kRound) : n_;
    const LocalModel* near = model ? &*model : nullptr;
    fit_some(1, some, near, all.places.data());
    if (some < n_) fit_some(some, n_, near, all.places.data());
  }

 private:
  double loss_of_null() const {
    const std::unique_ptr<Family> family = make_family(name_, target_);
    AlignedBuffer<double> eta(target_.n_outputs * target_.n_padded);
    for (std::int64_t c = 0; c < target_.n_outputs; ++c) {
      std::fill_n(eta.data() + c * target_.n_padded, target_.n_rows, null_model_[c]);
    }
    return family->derivatives(eta.data(), 0, target_.n_padded);
  }

  void fit_some(std::int64_t first, std::int64_t last, const LocalModel* model, const std::int32_t* places) {
    // Losses without the penalty may be in another order.
    const double close = options_.separable ? kClose * null_loss_ : 0.0;
    const double incumbent = options_.best_only ? incumbent_ + close : kInfinity;
    run_tasks(last - first, options_.n_threads, [&](auto next) {
      std::optional<Worker> worker;
      for (std::int64_t i = next(); i >= 0; i = next()) {
        if (!worker) worker.emplace(columns_, name_, target_, size_, options_);
        Newton& newton = worker->newton;
        const std::int32_t* subset = subsets_ + (first + i) * size_;
        if (model == nullptr) {
          newton.start(subset, null_model_);
        } else {
          newton.start_near(subset, null_model_, *model, places + (first + i) * size_);
        }
        report(newton, newton.run(null_loss_, incumbent), first + i);
      }
    });
    incumbent_ = std::min(incumbent_, *std::min_element(penalised_.begin() + first, penalised_.begin() + last));
  }

  LocalModel local_model(const Union& all) const {
    const auto n_columns = static_cast<std::int64_t>(all.columns.size());
    Worker worker(columns_, name_, target_, n_columns, options_);
    Newton& newton = worker.newton;
    const std::int64_t stride = newton.stride(), q = size_ + 1;
    AlignedBuffer<double> theta(target_.n_outputs * stride);
    for (std::int64_t c = 0; c < target_.n_outputs; ++c) {
      const double* of_first = fits_.coefficients + c * q;
      for (std::int64_t j = 0; j < size_; ++j) {
        theta.data()[c * stride + all.places[static_cast<std::size_t>(j)]] = of_first[j];
      }
      theta.data()[c * stride + n_columns] = of_first[size_];
    }
    newton.take(all.columns.data());
    return newton.local_model(theta.data());
  }

  void report(Newton& newton, const NewtonResult& result, std::int64_t i) {
    penalised_[static_cast<std::size_t>(i)] = result.separated ? 0.0 : result.loss;
    const std::int64_t q = size_ + 1;
    for (std::int64_t c = 0; c < target_.n_outputs; ++c) {
      std::copy_n(newton.theta() + c * newton.stride(), q, fits_.coefficients + (i * target_.n_outputs + c) * q);
    }
    const bool of_optimum = options_.separable && result.converged && newton.loses_direction();
    fits_.loss[i] = result.separated ? 0.0 : result.loss - (options_.separable ? result.of_penalty : 0.0);
    fits_.separated[i] = result.separated || of_optimum;
    fits_.converged[i] = result.converged && !of_optimum;
    fits_.left[i] = result.separated ? 0.0 : result.left;
    fits_.n_iter[i] = result.n_steps;
  }

  const Columns& columns_;
  const FamilyName name_;
  const Target& target_;
  const double* null_model_;
  const std::int32_t* subsets_;
  const std::int64_t n_, size_;
  const FitOptions& options_;
  const Fits& fits_;
  const double null_loss_;
  std::vector<double> penalised_;  // the loss of each with its penalty
  double incumbent_;
};

}  // namespace

void fit_subsets(const Columns& columns, FamilyName family, const Target& target, const double* null_model,
                 const std::int32_t* subsets, std::int64_t n_subsets, std::int64_t size, const FitOptions& options,
                 const Fits& fits) {
  if (n_subsets > 0) Shortlist(columns, family, target, null_model, subsets, n_subsets, size, options, fits).fit();
}

LocalModel second_order(const Columns& columns, FamilyName name, const Target& target, const std::int32_t* members,
                        std::int64_t n_members, const double* theta, double penalty) {
  const std::unique_ptr<Family> family = make_family(name, target);
  Newton newton(columns, *family, n_members, {penalty, 0.0, 0, false});
  newton.take(members);
  AlignedBuffer<double> padded(newton.stride());
  std::copy_n(theta, n_members + 1, padded.data());
  return newton.local_model(padded.data());
}

}  // namespace safdr
