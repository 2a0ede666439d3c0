// The boundary between NumPy and the core: shapes are checked by the Python callers, the GIL is released here.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "aligned.hpp"
#include "chains/signed_value.hpp"
#include "chains/sweep.hpp"
#include "fits/fit.hpp"
#include "interrupt.hpp"
#include "numpy_arrays.hpp"
#include "parallel.hpp"
#include "proof/explore.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using safdr::Matrix, safdr::NewArray, safdr::Stack, safdr::Vector;

namespace {

// Signals are seen by Python's main thread alone; of others Python knows who still waits for them.
void ask_python() {
  nb::gil_scoped_acquire hold;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
  nb::module_::import_("safdr._engine.interrupt").attr("look_up")();
}

safdr::CriterionStack as_stack(const Stack<const double>& A, const Stack<const double>& D) {
  return {A.data(), D.data(), static_cast<std::int64_t>(A.shape(0)), static_cast<std::int64_t>(A.shape(1)),
          static_cast<std::int64_t>(D.shape(2))};
}

safdr::Criterion as_criterion(const Matrix<const double>& A, const Matrix<const double>& D) {
  return {A.data(), D.data(), static_cast<std::int64_t>(A.shape(0)), static_cast<std::int64_t>(D.shape(1))};
}

using Weights = std::optional<Vector<const double>>;
using Conflicts = std::optional<Matrix<const std::uint8_t>>;

void without_gil(auto work) {
  const nb::gil_scoped_release release;
  work();
}

auto data_of(const auto& array) { return array ? array->data() : nullptr; }

// Starts and features of groups, their longest, and the most features of a subset.
using GroupsTuple = std::tuple<Vector<const std::int64_t>, Vector<const std::int32_t>, std::int64_t, std::int64_t>;

safdr::Groups as_groups(const GroupsTuple& groups) {
  const auto& [starts, features, longest, width] = groups;
  return {starts.data(), features.data(), static_cast<std::int64_t>(starts.shape(0)) - 1, longest, width};
}

// Size, number of members that stay, number of members and candidates, sign, conflicts and cost.
using Limits = std::tuple<std::int64_t, std::int64_t, std::int64_t, double, Conflicts, Weights>;

safdr::Replicas as_replicas(const Matrix<std::int32_t>& order, std::uint64_t* streams, const Limits& limits) {
  const auto& [size, n_fixed, n_usable, sign, conflicts, cost] = limits;
  const auto n_replicas = static_cast<std::int64_t>(order.shape(0));
  return {order.data(), streams, n_replicas, size, n_fixed, n_usable, sign, data_of(conflicts), data_of(cost)};
}

auto sweep(Stack<const double> A, Stack<const double> D, Matrix<const double> A_all, Matrix<const double> D_all,
           GroupsTuple groups, Limits limits, Matrix<std::int32_t> order, Matrix<std::uint64_t> streams,
           Matrix<const double> beta, Matrix<const std::int64_t> batch, std::int64_t n_proposals,
           std::int64_t n_threads) {
  const std::size_t n_sweeps = beta.shape(0), n = order.shape(0);
  NewArray<std::int64_t, 2> accepted({n_sweeps, n});
  NewArray<double, 2> values({n_sweeps, n});
  const safdr::Replicas replicas = as_replicas(order, streams.data(), limits);
  const safdr::Sweeps sweeps{beta.data(), batch.data(), static_cast<std::int64_t>(n_sweeps),
                             n_proposals, accepted,     values};
  without_gil([&] {
    safdr::sweep(as_stack(A, D), as_criterion(A_all, D_all), as_groups(groups), replicas, sweeps, n_threads);
  });
  return std::make_tuple(values.release(), accepted.release());
}

void local_search(Matrix<const double> A, Matrix<const double> D, GroupsTuple groups, Limits limits,
                  Matrix<std::int32_t> order, std::int64_t n_threads) {
  without_gil([&] {
    safdr::local_search(as_criterion(A, D), as_groups(groups), as_replicas(order, nullptr, limits), n_threads);
  });
}

auto subset_values(Matrix<const double> A, Matrix<const double> D, Matrix<const std::int32_t> subsets,
                   std::int64_t n_threads) {
  NewArray<double, 1> values({subsets.shape(0)});
  const safdr::Criterion criterion = as_criterion(A, D);
  without_gil(
      [&] { safdr::subset_values(criterion, subsets.data(), subsets.shape(0), subsets.shape(1), n_threads, values); });
  return values.release();
}

auto signed_values(Matrix<const double> A, Matrix<const double> D, Vector<const double> signs,
                   Matrix<const std::int32_t> subsets, std::int64_t n_threads) {
  NewArray<double, 1> values({subsets.shape(0)});
  NewArray<std::int32_t, 1> n_wrong({subsets.shape(0)});
  const safdr::Criterion criterion = as_criterion(A, D);
  without_gil([&] {
    safdr::signed_values(criterion, signs.data(), subsets.data(), subsets.shape(0), subsets.shape(1), n_threads, values,
                         n_wrong);
  });
  return std::make_tuple(values.release(), n_wrong.release());
}

using AnyMatrix = nb::ndarray<const double, nb::numpy, nb::ndim<2>, nb::device::cpu>;

auto standardise(AnyMatrix X, Vector<const double> center, Vector<const double> scale,
                 Vector<const std::int32_t> columns, std::optional<Vector<const std::int64_t>> rows) {
  const std::size_t n_rows = rows ? rows->shape(0) : X.shape(0), n_columns = columns.shape(0), block = safdr::kBlock;
  NewArray<double, 3> Z({(n_rows + block - 1) / block, n_columns + 1, block});
  without_gil([&] {
    safdr::standardise(X.data(), X.stride(0), X.stride(1), rows ? rows->data() : nullptr, n_rows, center.data(),
                       scale.data(), columns.data(), n_columns, Z);
  });
  return Z.release();
}

safdr::FamilyName family_of(const std::string& name) {
  if (name == "logistic") return safdr::FamilyName::kLogistic;
  if (name == "softmax") return safdr::FamilyName::kSoftmax;
  if (name == "squared") return safdr::FamilyName::kSquared;
  if (name == "poisson") return safdr::FamilyName::kPoisson;
  if (name == "gamma") return safdr::FamilyName::kGamma;
  if (name == "cox") return safdr::FamilyName::kCox;
  throw nb::value_error("family must be 'logistic', 'softmax', 'squared', 'poisson', 'gamma' or 'cox'.");
}

// Rows of a fit, padded as the columns are.
struct FitRows {
  FitRows(const Stack<const double>& Z, const Vector<const double>& y, const Vector<const double>& weight,
          std::int64_t n_outputs)
      : columns{Z.data(), static_cast<std::int64_t>(y.shape(0)), static_cast<std::int64_t>(Z.shape(1))},
        y_(columns.n_padded()), weight_(columns.n_padded()) {
    if (reinterpret_cast<std::uintptr_t>(Z.data()) % 64 != 0) throw nb::value_error("Z must come from standardise().");
    std::copy_n(y.data(), columns.n_rows, y_.data());
    std::copy_n(weight.data(), columns.n_rows, weight_.data());
    const double* w = weight.data();
    const bool equal = std::all_of(w, w + columns.n_rows, [&](double each) { return each == *w; });
    target = {columns.n_rows, columns.n_padded(), n_outputs, y_.data(), weight_.data(), equal};
  }
  const safdr::Columns columns;
  safdr::Target target;

 private:
  safdr::AlignedBuffer<double> y_, weight_;
};

auto fit_subsets(const std::string& family, Stack<const double> Z, Vector<const double> y, Vector<const double> weight,
                 Vector<const double> null_model, Matrix<const std::int32_t> subsets, double penalty, double tol,
                 double incumbent, bool best_only, bool separable, std::int64_t n_threads) {
  const safdr::FamilyName name = family_of(family);
  const std::size_t n = subsets.shape(0), size = subsets.shape(1), n_outputs = null_model.shape(0);
  NewArray<double, 3> coefficients({n, n_outputs, size + 1});
  NewArray<double, 1> loss({n}), left({n});
  NewArray<bool, 1> separated({n}), converged({n});
  NewArray<std::int64_t, 1> n_iter({n});
  const FitRows rows(Z, y, weight, n_outputs);
  without_gil([&] {
    safdr::fit_subsets(rows.columns, name, rows.target, null_model.data(), subsets.data(), n, size,
                       {penalty, tol, incumbent, best_only, separable, n_threads},
                       {coefficients, loss, separated, converged, left, n_iter});
  });
  return std::make_tuple(coefficients.release(), loss.release(), separated.release(), converged.release(),
                         left.release(), n_iter.release());
}

auto second_order(const std::string& family, Stack<const double> Z, Vector<const double> y, Vector<const double> weight,
                  Vector<const std::int32_t> columns, Vector<const double> theta, double penalty) {
  const safdr::FamilyName name = family_of(family);
  const std::size_t q = theta.shape(0);
  NewArray<double, 2> hessian({q, q});
  NewArray<double, 1> target({q});
  const FitRows rows(Z, y, weight, 1);
  without_gil([&] {
    const auto model =
        safdr::second_order(rows.columns, name, rows.target, columns.data(), q - 1, theta.data(), penalty);
    std::copy_n(model.target.data(), q, target.data.data());
    for (std::size_t j = 0; j < q; ++j) {
      for (std::size_t i = j; i < q; ++i) hessian[i * q + j] = hessian[j * q + i] = model.hessian[j * model.stride + i];
    }
  });
  return std::make_tuple(hessian.release(), target.release());
}

using Bytes = Matrix<const std::int8_t>;

// What was found, how much in all, steps, and the nodes that are still open with their bounds; in the order of the
// nodes, whoever explored them.
auto as_arrays(const std::vector<safdr::ProofReport>& reports, std::size_t size, std::size_t n_features,
               std::size_t n_free) {
  std::size_t n_kept = 0, n_open = 0;
  std::int64_t n_found = 0, n_steps = 0;
  for (const safdr::ProofReport& report : reports) {
    n_kept += report.found.size();
    n_open += report.open.size();
    n_found += report.n_found;
    n_steps += report.n_steps;
  }
  NewArray<std::int32_t, 2> subsets({n_kept, size});
  NewArray<double, 1> values({n_kept}), bounds({n_open});
  NewArray<std::int8_t, 2> open({n_open, n_free});
  NewArray<std::int64_t, 1> counts({n_features});
  std::fill_n(counts.data.data(), n_features, 0);
  std::int32_t* subset = subsets;
  std::int8_t* node = open;
  double *value = values, *bound = bounds;
  for (const safdr::ProofReport& report : reports) {
    for (const safdr::FoundSubset& found : report.found) {
      subset = std::copy(found.subset.begin(), found.subset.end(), subset);
      *value++ = found.value;
    }
    for (const safdr::Decisions& decisions : report.open) node = std::copy(decisions.begin(), decisions.end(), node);
    bound = std::copy(report.bounds.begin(), report.bounds.end(), bound);
    for (std::size_t j = 0; j < report.counts.size(); ++j) counts[j] += report.counts[j];
  }
  return std::make_tuple(subsets.release(), values.release(), counts.release(), n_found, n_steps, open.release(),
                         bounds.release());
}

auto explore_subsets(Matrix<const double> A, Matrix<const double> D, Vector<const std::int32_t> included,
                     Vector<const std::int32_t> free, Matrix<const double> inverse, Matrix<const double> coefficients,
                     Matrix<const double> schur, Matrix<const double> rest, Vector<const double> delta,
                     Vector<const double> cost, Conflicts conflicts, Bytes nodes, Vector<const double> bounds,
                     double all, double value, std::int64_t size, double threshold, double slack, bool improve,
                     std::int64_t at_most, std::int64_t n_steps, double seconds, std::int64_t n_threads) {
  const safdr::ProofRoot root{as_criterion(A, D),
                              included.data(),
                              free.data(),
                              static_cast<std::int64_t>(included.shape(0)),
                              static_cast<std::int64_t>(free.shape(0)),
                              inverse.data(),
                              coefficients.data(),
                              schur.data(),
                              rest.data(),
                              all,
                              value,
                              delta.data(),
                              cost.data(),
                              std::any_of(cost.data(), cost.data() + cost.shape(0), [](double c) { return c != 0.0; }),
                              data_of(conflicts)};
  const safdr::ProofOptions options{size, threshold, slack, improve, at_most, n_steps, seconds, n_threads};
  std::vector<safdr::ProofReport> reports;
  without_gil([&] { reports = safdr::explore(root, nodes.data(), bounds.data(), nodes.shape(0), options); });
  return as_arrays(reports, size, A.shape(0), free.shape(0));
}

}  // namespace

NB_MODULE(_core, m) {
  safdr::ask_whether_to_go_on = &ask_python;
  m.doc() = "Compiled core of safdr: sweeps over subsets, fits, and proofs. Private; may change at any time.";
  m.def("sweep", &sweep, "A"_a, "D"_a, "A_all"_a, "D_all"_a, "groups"_a, "limits"_a, "order"_a.noconvert(),
        "streams"_a.noconvert(), "beta"_a, "batch"_a, nb::kw_only(), "n_proposals"_a, "n_threads"_a,
        "Sweep replicas, in place. Returns criterion values on all rows, and accepted swaps.");
  m.def("local_search", &local_search, "A"_a, "D"_a, "groups"_a, "limits"_a, "order"_a.noconvert(), nb::kw_only(),
        "n_threads"_a, "Move replicas, in place, until no swap raises the criterion.");
  m.def("subset_values", &subset_values, "A"_a, "D"_a, "subsets"_a, nb::kw_only(), "n_threads"_a,
        "Criterion value of each subset. Rows may be filled up with -1.");
  m.def("signed_values", &signed_values, "A"_a, "D"_a, "signs"_a, "subsets"_a, nb::kw_only(), "n_threads"_a,
        "Criterion value of each subset where coefficients must have signs (0 asks for none), and how many of its\n"
        "members have another without that. Rows may be filled up with -1.");
  m.def("standardise", &standardise, "X"_a, "center"_a, "scale"_a, "columns"_a, "rows"_a.none() = nb::none(),
        "Standardised columns of all rows, or of those with the given numbers, and a column of ones, in blocks of "
        "rows, as the fits read them.");
  m.def("fit_subsets", &fit_subsets, "family"_a, "Z"_a, "y"_a, "weight"_a, "null_model"_a, "subsets"_a, nb::kw_only(),
        "penalty"_a, "tol"_a, "incumbent"_a, "best_only"_a, "separable"_a, "n_threads"_a,
        "Fit a penalised model to each subset.\n\n"
        "Returns coefficients, losses, whether separated, whether converged, what is left at most, Newton steps.");
  m.def("second_order", &second_order, "family"_a, "Z"_a, "y"_a, "weight"_a, "columns"_a, "theta"_a, nb::kw_only(),
        "penalty"_a,
        "Hessian of the penalised loss at a model of some columns, times its coefficients less the gradient.");
  m.def("explore_subsets", &explore_subsets, "A"_a, "D"_a, "included"_a, "free"_a, "inverse"_a, "coefficients"_a,
        "schur"_a, "rest"_a, "delta"_a, "cost"_a, "conflicts"_a.none(), "nodes"_a, "bounds"_a, nb::kw_only(), "all"_a,
        "value"_a, "size"_a, "threshold"_a, "slack"_a, "improve"_a, "at_most"_a, "n_steps"_a, "seconds"_a,
        "n_threads"_a,
        "Branch and bound from each of some nodes: a row of 1 (in), -1 (out), 0 (free) over the free features.\n\n"
        "Returns subsets above the threshold and their values (the best of each node, unsorted), in how many each\n"
        "feature is, how many there were, steps, the nodes left open, and their bounds.");
}
