// The boundary between NumPy and the core: shapes are checked by the Python callers, the GIL is released here.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

#include "aligned.hpp"
#include "chains/signed_value.hpp"
#include "chains/sweep.hpp"
#include "fits/logistic.hpp"
#include "fits/multinomial.hpp"
#include "interrupt.hpp"
#include "numpy_arrays.hpp"
#include "parallel.hpp"
#include "proof/explore.hpp"
#include "swaps/local_search.hpp"

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

auto data_of(const auto& array) { return array ? array->data() : nullptr; }

// Starts and features of groups, their longest, and the most features of a subset.
using GroupsTuple = std::tuple<Vector<const std::int64_t>, Vector<const std::int32_t>, std::int64_t, std::int64_t>;

safdr::Groups as_groups(const GroupsTuple& groups) {
  const auto& [starts, features, longest, width] = groups;
  return {starts.data(), features.data(), static_cast<std::int64_t>(starts.shape(0)) - 1, longest, width};
}

// Size, number of members that stay, number of members and candidates, conflicts and cost.
using Limits = std::tuple<std::int64_t, std::int64_t, std::int64_t, Conflicts, Weights>;

safdr::Replicas as_replicas(const Matrix<std::int32_t>& order, std::uint64_t* streams, const Limits& limits) {
  const auto& [size, n_fixed, n_usable, conflicts, cost] = limits;
  const auto n_replicas = static_cast<std::int64_t>(order.shape(0));
  return {order.data(), streams, n_replicas, size, n_fixed, n_usable, data_of(conflicts), data_of(cost)};
}

auto sweep(Stack<const double> A, Stack<const double> D, Matrix<const double> A_all, Matrix<const double> D_all,
           GroupsTuple groups, Limits limits, Matrix<std::int32_t> order, Matrix<std::uint64_t> streams,
           Matrix<const double> beta, Matrix<const std::int64_t> batch, std::int64_t n_proposals,
           std::int64_t n_threads) {
  const std::size_t n_sweeps = beta.shape(0), n = order.shape(0);
  NewArray<std::int64_t, 2> accepted({n_sweeps, n});
  NewArray<double, 2> values({n_sweeps, n});
  const safdr::Replicas replicas = as_replicas(order, streams.data(), limits);
  const safdr::Sweeps sweeps{beta.data(), batch.data(),         static_cast<std::int64_t>(n_sweeps),
                             n_proposals, accepted.data.data(), values.data.data()};
  {
    nb::gil_scoped_release release;
    safdr::sweep(as_stack(A, D), as_criterion(A_all, D_all), as_groups(groups), replicas, sweeps, n_threads);
  }
  return std::make_tuple(values.release(), accepted.release());
}

auto local_search(Matrix<const double> A, Matrix<const double> D, GroupsTuple groups, Limits limits,
                  Matrix<std::int32_t> order, std::int64_t n_threads) {
  NewArray<double, 1> values({order.shape(0)});
  const safdr::Replicas replicas = as_replicas(order, nullptr, limits);
  {
    nb::gil_scoped_release release;
    safdr::local_search(as_criterion(A, D), as_groups(groups), replicas, n_threads, values.data.data());
  }
  return values.release();
}

auto subset_values(Matrix<const double> A, Matrix<const double> D, Matrix<const std::int32_t> subsets,
                   std::int64_t n_threads) {
  NewArray<double, 1> values({subsets.shape(0)});
  const safdr::Criterion criterion = as_criterion(A, D);
  {
    nb::gil_scoped_release release;
    safdr::subset_values(criterion, subsets.data(), static_cast<std::int64_t>(subsets.shape(0)),
                         static_cast<std::int64_t>(subsets.shape(1)), n_threads, values.data.data());
  }
  return values.release();
}

auto signed_values(Matrix<const double> A, Matrix<const double> D, Vector<const double> signs,
                   Matrix<const std::int32_t> subsets, std::int64_t n_threads) {
  NewArray<double, 1> values({subsets.shape(0)});
  NewArray<std::int32_t, 1> n_wrong({subsets.shape(0)});
  const safdr::Criterion criterion = as_criterion(A, D);
  {
    nb::gil_scoped_release release;
    safdr::signed_values(criterion, signs.data(), subsets.data(), static_cast<std::int64_t>(subsets.shape(0)),
                         static_cast<std::int64_t>(subsets.shape(1)), n_threads, values.data.data(),
                         n_wrong.data.data());
  }
  return std::make_tuple(values.release(), n_wrong.release());
}

using AnyMatrix = nb::ndarray<const double, nb::numpy, nb::ndim<2>, nb::device::cpu>;

auto standardise(AnyMatrix X, Vector<const double> center, Vector<const double> scale,
                 Vector<const std::int32_t> columns, std::optional<Vector<const std::int64_t>> rows) {
  const std::size_t n_rows = rows ? rows->shape(0) : X.shape(0), n_columns = columns.shape(0), block = safdr::kBlock;
  NewArray<double, 3> Z({(n_rows + block - 1) / block, n_columns + 1, block});
  {
    nb::gil_scoped_release release;
    safdr::standardise(X.data(), X.stride(0), X.stride(1), rows ? rows->data() : nullptr,
                       static_cast<std::int64_t>(n_rows), center.data(), scale.data(), columns.data(),
                       static_cast<std::int64_t>(n_columns), Z.data.data());
  }
  return Z.release();
}

// Squares of it can still be summed up. Rows of next to no weight may lie farther off.
constexpr double kLargest = 1e15;

auto to_single(Stack<const double> Z) {
  NewArray<float, 3> single({Z.shape(0), Z.shape(1), Z.shape(2)});
  {
    nb::gil_scoped_release release;
    std::transform(Z.data(), Z.data() + Z.size(), single.data.data(),
                   [](double z) { return static_cast<float>(std::clamp(z, -kLargest, kLargest)); });
  }
  return single.release();
}

template <class Real>
void check_design(const Stack<const Real>& Z) {
  if (reinterpret_cast<std::uintptr_t>(Z.data()) % 64 != 0) {
    throw nb::value_error("Z must come from standardise() or to_single().");
  }
}

safdr::Design as_design(const Stack<const double>& Z, const Stack<const float>& single,
                        const Vector<const std::uint8_t>& wild, const Vector<const double>& y, const Weights& weight,
                        double penalty) {
  check_design(Z);
  check_design(single);
  const auto n_rows = static_cast<std::int64_t>(y.shape(0)), n_columns = static_cast<std::int64_t>(Z.shape(1));
  return {Z.data(), single.data(), wild.data(), n_rows, n_columns, y.data(), data_of(weight), penalty};
}

auto local_model(Stack<const double> Z, Stack<const float> single, Vector<const std::uint8_t> wild,
                 Vector<const double> y, Weights weight, Vector<const std::int32_t> columns,
                 Vector<const double> coefficients, double penalty) {
  const std::size_t n = columns.shape(0) + 1;
  NewArray<double, 1> gradient({n});
  NewArray<double, 2> hessian({n, n});
  {
    nb::gil_scoped_release release;
    const safdr::Design design = as_design(Z, single, wild, y, weight, penalty);
    safdr::run_task([&] {
      safdr::local_model(design, columns.data(), static_cast<std::int64_t>(n), coefficients.data(),
                         gradient.data.data(), hessian.data.data());
    });
  }
  return std::make_tuple(gradient.release(), hessian.release());
}

// Coefficients, gradient, Hessian, and the places of each subset.
using Model = std::tuple<Vector<const double>, Vector<const double>, Matrix<const double>, Matrix<const std::int32_t>>;

auto fit_logistic(Stack<const double> Z, Stack<const float> single, Vector<const std::uint8_t> wild,
                  Vector<const double> y, Weights weight, Matrix<const std::int32_t> subsets,
                  std::optional<Matrix<const double>> start, std::optional<Model> model, std::int64_t max_iter,
                  double tol, double penalty, bool exact, double incumbent, bool best_only, std::int64_t n_threads) {
  const std::size_t n = subsets.shape(0), size = subsets.shape(1);
  NewArray<double, 2> coefficients({n, size + 1});
  NewArray<double, 1> cross_entropy({n}), left({n});
  NewArray<bool, 1> separated({n}), converged({n});
  NewArray<std::int64_t, 1> n_iter({n});
  safdr::LocalModel local{};
  const std::int32_t* places = nullptr;
  if (model) {
    const auto& [at, gradient, hessian, its_places] = *model;
    local = {static_cast<std::int64_t>(at.shape(0)), at.data(), gradient.data(), hessian.data()};
    places = its_places.data();
  }
  {
    nb::gil_scoped_release release;
    safdr::fit_logistic(as_design(Z, single, wild, y, weight, penalty), subsets.data(), static_cast<std::int64_t>(n),
                        static_cast<std::int64_t>(size), data_of(start), model ? &local : nullptr, places,
                        {max_iter, tol, exact, incumbent, best_only, n_threads},
                        {coefficients.data.data(), cross_entropy.data.data(), separated.data.data(),
                         converged.data.data(), left.data.data(), n_iter.data.data()});
  }
  return std::make_tuple(coefficients.release(), cross_entropy.release(), separated.release(), converged.release(),
                         left.release(), n_iter.release());
}

auto fit_multinomial(Stack<const double> Z, Vector<const std::uint8_t> wild, Vector<const std::int32_t> codes,
                     Weights weight, Matrix<const std::int32_t> subsets, Stack<const double> start,
                     std::int64_t max_iter, double tol, double penalty, bool exact, double incumbent, bool best_only,
                     std::int64_t n_threads) {
  check_design(Z);
  const std::size_t n = subsets.shape(0);
  NewArray<double, 3> coefficients({n, start.shape(1), start.shape(2)});
  NewArray<double, 1> cross_entropy({n}), left({n});
  NewArray<bool, 1> separated({n}), converged({n});
  NewArray<std::int64_t, 1> n_iter({n});
  const auto n_rows = static_cast<std::int64_t>(codes.shape(0)), n_columns = static_cast<std::int64_t>(Z.shape(1));
  const auto n_classes = static_cast<std::int64_t>(start.shape(1));
  const safdr::ClassDesign design{Z.data(),     n_rows,          n_columns,   n_classes,
                                  codes.data(), data_of(weight), wild.data(), penalty};
  {
    nb::gil_scoped_release release;
    std::copy_n(start.data(), start.size(), coefficients.data.data());
    safdr::fit_multinomial(design, subsets.data(), static_cast<std::int64_t>(n),
                           static_cast<std::int64_t>(subsets.shape(1)),
                           {max_iter, tol, exact, incumbent, best_only, n_threads},
                           {coefficients.data.data(), cross_entropy.data.data(), separated.data.data(),
                            converged.data.data(), left.data.data(), n_iter.data.data()});
  }
  return std::make_tuple(coefficients.release(), cross_entropy.release(), separated.release(), converged.release(),
                         left.release(), n_iter.release());
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
  std::int32_t* subset = subsets.data.data();
  std::int8_t* node = open.data.data();
  double *value = values.data.data(), *bound = bounds.data.data();
  for (const safdr::ProofReport& report : reports) {
    for (const safdr::FoundSubset& found : report.found) {
      subset = std::copy(found.subset.begin(), found.subset.end(), subset);
      *value++ = found.value;
    }
    for (const safdr::Decisions& decisions : report.open) node = std::copy(decisions.begin(), decisions.end(), node);
    bound = std::copy(report.bounds.begin(), report.bounds.end(), bound);
    for (std::size_t j = 0; j < report.counts.size(); ++j) counts.data.data()[j] += report.counts[j];
  }
  return std::make_tuple(subsets.release(), values.release(), counts.release(), n_found, n_steps, open.release(),
                         bounds.release());
}

auto explore_subsets(Matrix<const double> A, Matrix<const double> D, Vector<const std::int32_t> included,
                     Vector<const std::int32_t> free, Matrix<const double> inverse, Matrix<const double> coefficients,
                     Matrix<const double> schur, Matrix<const double> rest, Vector<const double> delta,
                     Vector<const double> cost, Conflicts conflicts, Bytes nodes, Vector<const double> bounds,
                     double all, double value, std::int64_t size, double threshold, double slack, double collinear_tol,
                     bool improve, std::int64_t at_most, std::int64_t n_steps, double seconds, std::int64_t n_threads) {
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
  const safdr::ProofOptions options{size,    threshold, slack,   collinear_tol, improve,
                                    at_most, n_steps,   seconds, n_threads};
  std::vector<safdr::ProofReport> reports;
  {
    nb::gil_scoped_release release;
    reports = safdr::explore(root, nodes.data(), bounds.data(), static_cast<std::int64_t>(nodes.shape(0)), options);
  }
  return as_arrays(reports, static_cast<std::size_t>(size), A.shape(0), free.shape(0));
}

}  // namespace

NB_MODULE(_core, m) {
  safdr::ask_whether_to_go_on = &ask_python;
  m.doc() = "Compiled core of safdr: sweeps over subsets, fits, and proofs. Private; may change at any time.";
  m.def("sweep", &sweep, "A"_a, "D"_a, "A_all"_a, "D_all"_a, "groups"_a, "limits"_a, "order"_a.noconvert(),
        "streams"_a.noconvert(), "beta"_a, "batch"_a, nb::kw_only(), "n_proposals"_a, "n_threads"_a,
        "Sweep replicas, in place. Returns criterion values on all rows, and accepted swaps.");
  m.def("local_search", &local_search, "A"_a, "D"_a, "groups"_a, "limits"_a, "order"_a.noconvert(), nb::kw_only(),
        "n_threads"_a, "Move replicas, in place, until no swap raises the criterion. Returns its values.");
  m.def("subset_values", &subset_values, "A"_a, "D"_a, "subsets"_a, nb::kw_only(), "n_threads"_a,
        "Criterion value of each subset. Rows may be filled up with -1.");
  m.def("signed_values", &signed_values, "A"_a, "D"_a, "signs"_a, "subsets"_a, nb::kw_only(), "n_threads"_a,
        "Criterion value of each subset where coefficients must have signs (0 asks for none), and how many of its\n"
        "members have another without that. Rows may be filled up with -1.");
  m.def("standardise", &standardise, "X"_a, "center"_a, "scale"_a, "columns"_a, "rows"_a.none() = nb::none(),
        "Standardised columns of all rows, or of those with the given numbers, and a column of ones, in blocks of "
        "rows, as the fits read them.");
  m.def("to_single", &to_single, "Z"_a, "Standardised columns in single precision.");
  m.def("local_model", &local_model, "Z"_a, "single"_a, "wild"_a, "y"_a, "weight"_a.none(), "columns"_a,
        "coefficients"_a, "penalty"_a, "Gradient and Hessian of the mean cross-entropy at some coefficients.");
  m.def("fit_logistic", &fit_logistic, "Z"_a, "single"_a, "wild"_a, "y"_a, "weight"_a.none(), "subsets"_a,
        nb::kw_only(), "start"_a.none() = nb::none(), "model"_a.none() = nb::none(), "max_iter"_a, "tol"_a, "penalty"_a,
        "exact"_a, "incumbent"_a, "best_only"_a, "n_threads"_a,
        "Fit a logistic model to each subset.\n\n"
        "Returns coefficients, cross-entropies, whether separated, whether converged, what is left, steps.");
  m.def("fit_multinomial", &fit_multinomial, "Z"_a, "wild"_a, "codes"_a, "weight"_a.none(), "subsets"_a, "start"_a,
        nb::kw_only(), "max_iter"_a, "tol"_a, "penalty"_a, "exact"_a, "incumbent"_a, "best_only"_a, "n_threads"_a,
        "Fit a softmax model to each subset. Returns the same as fit_logistic.");
  m.def("explore_subsets", &explore_subsets, "A"_a, "D"_a, "included"_a, "free"_a, "inverse"_a, "coefficients"_a,
        "schur"_a, "rest"_a, "delta"_a, "cost"_a, "conflicts"_a.none(), "nodes"_a, "bounds"_a, nb::kw_only(), "all"_a,
        "value"_a, "size"_a, "threshold"_a, "slack"_a, "collinear_tol"_a, "improve"_a, "at_most"_a, "n_steps"_a,
        "seconds"_a, "n_threads"_a,
        "Branch and bound from each of some nodes: a row of 1 (in), -1 (out), 0 (free) over the free features.\n\n"
        "Returns subsets above the threshold and their values (the best of each node, unsorted), in how many each\n"
        "feature is, how many there were, steps, the nodes left open, and their bounds.");
}
