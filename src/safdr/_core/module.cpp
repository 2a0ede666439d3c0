// The boundary between NumPy and the core: shapes are checked by the Python callers, the GIL is released here.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <memory>
#include <optional>
#include <vector>

#include "chains.hpp"
#include "logistic.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

template <class T, class... Shape>
using Array = nb::ndarray<T, nb::numpy, nb::c_contig, nb::device::cpu, Shape...>;
template <class T>
using Vector = Array<T, nb::ndim<1>>;
template <class T>
using Matrix = Array<T, nb::ndim<2>>;
template <class T>
using Stack = Array<T, nb::ndim<3>>;

// A new NumPy array that owns its memory.
template <class T>
struct NewArray {
  std::unique_ptr<T[]> data;
  std::vector<std::size_t> shape;

  explicit NewArray(std::vector<std::size_t> dimensions) : shape(std::move(dimensions)) {
    std::size_t n = 1;
    for (const std::size_t dimension : shape) n *= dimension;
    data = std::make_unique<T[]>(n);
  }
  auto release() {
    T* raw = data.release();
    nb::capsule owner(raw, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return nb::ndarray<nb::numpy, T>(raw, shape.size(), shape.data(), owner);
  }
};

safdr::CriterionStack as_stack(const Stack<const double>& A, const Stack<const double>& D) {
  return {A.data(), D.data(), static_cast<std::int64_t>(A.shape(0)),
          static_cast<std::int64_t>(A.shape(1)), static_cast<std::int64_t>(D.shape(2))};
}

safdr::Criterion as_criterion(const Matrix<const double>& A, const Matrix<const double>& D) {
  return {A.data(), D.data(), static_cast<std::int64_t>(A.shape(0)), static_cast<std::int64_t>(D.shape(1))};
}

auto sweep(Stack<const double> A, Stack<const double> D, Matrix<const double> A_all,
           Matrix<const double> D_all, Matrix<std::int32_t> order, Matrix<std::uint64_t> streams,
           Matrix<const double> beta, std::optional<Matrix<const std::int64_t>> which, std::int64_t size,
           std::int64_t n_fixed, std::int64_t n_usable, std::int64_t n_proposals, double collinear_tol,
           std::int64_t n_threads) {
  const std::size_t n_sweeps = beta.shape(0), n = order.shape(0);
  NewArray<std::int64_t> accepted({n_sweeps, n});
  NewArray<double> values({n_sweeps, n}), drift({n});
  const safdr::Replicas replicas{order.data(), streams.data(), static_cast<std::int64_t>(n), size, n_fixed,
                                 n_usable};
  {
    nb::gil_scoped_release release;
    safdr::sweep(as_stack(A, D), as_criterion(A_all, D_all), replicas, beta.data(),
                 which ? which->data() : nullptr, static_cast<std::int64_t>(n_sweeps), {n_proposals, collinear_tol, n_threads},
                 {accepted.data.get(), values.data.get(), drift.data.get()});
  }
  return nb::make_tuple(accepted.release(), values.release(), drift.release());
}

auto climb(Matrix<const double> A, Matrix<const double> D, Matrix<std::int32_t> order, std::int64_t size,
           std::int64_t n_fixed, std::int64_t n_usable, double collinear_tol, std::int64_t n_threads) {
  const std::size_t n = order.shape(0);
  NewArray<double> values({n});
  const safdr::Replicas replicas{order.data(), nullptr, static_cast<std::int64_t>(n), size, n_fixed, n_usable};
  {
    nb::gil_scoped_release release;
    safdr::climb(as_criterion(A, D), replicas, collinear_tol, n_threads, values.data.get());
  }
  return values.release();
}

auto subset_values(Matrix<const double> A, Matrix<const double> D, Matrix<const std::int32_t> subsets,
                   std::int64_t n_threads) {
  NewArray<double> values({subsets.shape(0)});
  const safdr::Criterion criterion = as_criterion(A, D);
  {
    nb::gil_scoped_release release;
    safdr::subset_values(criterion, subsets.data(), static_cast<std::int64_t>(subsets.shape(0)),
                         static_cast<std::int64_t>(subsets.shape(1)), n_threads, values.data.get());
  }
  return values.release();
}

auto walk(Matrix<const double> A, Matrix<const double> D, Vector<const std::int32_t> subset,
          Vector<const std::int64_t> positions, Vector<const std::int64_t> candidates,
          double collinear_tol) {
  NewArray<double> gains({positions.shape(0)});
  const safdr::Criterion criterion = as_criterion(A, D);
  const std::vector<std::int32_t> members(subset.data(), subset.data() + subset.shape(0));
  const double drift =
      safdr::walk(criterion, members, positions.data(), candidates.data(),
                  static_cast<std::int64_t>(positions.shape(0)), collinear_tol, gains.data.get());
  return nb::make_tuple(gains.release(), drift);
}

auto fit_logistic(nb::ndarray<const double, nb::numpy, nb::ndim<2>, nb::device::cpu> X,
                  Vector<const double> mean, Vector<const double> scale, Vector<const double> y,
                  Vector<const double> weight, Matrix<const std::int32_t> subsets,
                  Matrix<const double> start, std::int64_t max_iter, double tol, std::int64_t n_threads) {
  const std::size_t n = subsets.shape(0), size = subsets.shape(1);
  NewArray<double> coefficients({n, size + 1}), cross_entropy({n});
  NewArray<bool> separated({n}), converged({n});
  NewArray<std::int64_t> n_iter({n});
  const safdr::Design design{X.data(),
                             static_cast<std::int64_t>(X.stride(0)),
                             static_cast<std::int64_t>(X.stride(1)),
                             static_cast<std::int64_t>(X.shape(0)),
                             mean.data(),
                             scale.data(),
                             y.data(),
                             weight.data()};
  {
    nb::gil_scoped_release release;
    safdr::fit_logistic(design, subsets.data(), start.data(), static_cast<std::int64_t>(n),
                        static_cast<std::int64_t>(size), {max_iter, tol, n_threads},
                        {coefficients.data.get(), cross_entropy.data.get(), separated.data.get(),
                         converged.data.get(), n_iter.data.get()});
  }
  return nb::make_tuple(coefficients.release(), cross_entropy.release(), separated.release(),
                        converged.release(), n_iter.release());
}

}  // namespace

NB_MODULE(_core, m) {
  m.doc() = "Compiled core of safdr: sweeps over subsets and logistic fits. Private; may change at any time.";
  m.def("sweep", &sweep, "A"_a, "D"_a, "A_all"_a, "D_all"_a, "order"_a, "streams"_a, "beta"_a,
        "which"_a.none(), nb::kw_only(), "size"_a, "n_fixed"_a, "n_usable"_a, "n_proposals"_a, "collinear_tol"_a, "n_threads"_a);
  m.def("climb", &climb, "A"_a, "D"_a, "order"_a, nb::kw_only(), "size"_a, "n_fixed"_a, "n_usable"_a,
        "collinear_tol"_a, "n_threads"_a);
  m.def("subset_values", &subset_values, "A"_a, "D"_a, "subsets"_a, nb::kw_only(), "n_threads"_a);
  m.def("walk", &walk, "A"_a, "D"_a, "subset"_a, "positions"_a, "candidates"_a, nb::kw_only(),
        "collinear_tol"_a);
  m.def("fit_logistic", &fit_logistic, "X"_a, "mean"_a, "scale"_a, "y"_a, "weight"_a, "subsets"_a,
        "start"_a, nb::kw_only(), "max_iter"_a, "tol"_a, "n_threads"_a);
}
