import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from fitting import criterion_of
from safdr._engine.fits.columns import renumbered
from safdr._engine.fits.fits import distinct_rows
from safdr._engine.fits.logistic import MAX_ITER, LogisticFitter

N_FEATURES = 7


def problem(seed, n_rows=300, strength=0.6, shift=0.0):
    """Correlated rows whose classes overlap."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, N_FEATURES)) @ rng.normal(size=(N_FEATURES, N_FEATURES))
    eta = strength * X @ rng.normal(size=N_FEATURES) / np.sqrt(N_FEATURES) + shift
    return X, (rng.random(n_rows) < 1 / (1 + np.exp(-eta))).astype(float)


def fit(X, y, subsets, weight=None, **options):
    codes = y.astype(np.int64)
    data = LogisticFitter(X, codes, weight, criterion_of(X, codes, 2, weight))
    return data.fit(np.asarray(subsets), **options)


def sklearn_fit(X, y, weight=None):
    """scikit-learn's unpenalised model, on standardised columns so that it converges fully."""
    center, scale = X.mean(axis=0), X.std(axis=0)
    model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12, max_iter=1000)
    model.fit((X - center) / scale, y, sample_weight=weight)
    slopes = model.coef_[0] / scale
    # From the log-odds: log_loss works with 1 - p, which has lost its digits where p is near 1.
    margin = np.where(y == 1, 1, -1) * model.decision_function((X - center) / scale)
    entropy = np.average(np.logaddexp(0, -margin), weights=weight)
    return slopes, model.intercept_[0] - slopes @ center, entropy


def assert_fits_like_sklearn(X, y, subsets, weight=None):
    fits = fit(X, y, subsets, weight)
    for i, subset in enumerate(subsets):
        slopes, intercept, entropy = sklearn_fit(X[:, subset], y, weight)
        spread = X[:, subset].std(axis=0)
        np.testing.assert_allclose(
            fits.coefficients[i] * spread, slopes * spread, rtol=1e-6, atol=1e-6
        )
        assert fits.intercepts[i] == pytest.approx(intercept, rel=1e-6, abs=1e-6)
        assert fits.losses[i] == pytest.approx(entropy, rel=1e-9)
        assert not fits.separated[i]


# ---- Equal to scikit-learn ----------------------------------------------------------------------

SUBSETS = [[0, 1, 2], [1, 4, 6], [2, 3, 5]]


@given(st.integers(0, 10_000), st.integers(1, N_FEATURES))
def test_coefficients_and_cross_entropy_are_those_of_sklearn(seed, size):
    X, y = problem(seed)
    subset = np.random.default_rng(seed).choice(N_FEATURES, size, replace=False)
    assert_fits_like_sklearn(X, y, [np.sort(subset)])


@given(st.integers(0, 10_000))
def test_weighted_fits_are_those_of_sklearn(seed):
    X, y = problem(seed)
    weight = np.random.default_rng(seed + 1).uniform(0.1, 5.0, len(X))
    assert_fits_like_sklearn(X, y, SUBSETS, weight)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_cross_entropy_is_the_log_loss(weighted):
    X, y = problem(0)
    weight = np.random.default_rng(1).uniform(0.1, 5.0, len(X)) if weighted else None
    fits = fit(X, y, SUBSETS, weight)
    for subset, slopes, intercept, entropy in zip(
        SUBSETS, fits.coefficients, fits.intercepts, fits.losses, strict=True
    ):
        probability = 1 / (1 + np.exp(-(X[:, subset] @ slopes + intercept)))
        assert entropy == pytest.approx(log_loss(y, probability, sample_weight=weight), rel=1e-9)


def test_badly_scaled_features_fit_as_well():
    X, y = problem(0)
    scale = 10.0 ** np.arange(-9, 12, 3)
    assert_fits_like_sklearn(X * scale + 1000 * scale, y, SUBSETS)


@pytest.mark.parametrize("n_rows", [40, 63, 64, 65, 129, 1000])
def test_any_number_of_rows_fits(n_rows):
    X, y = problem(3, n_rows, strength=0.3)
    assert_fits_like_sklearn(X, y, SUBSETS)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7, 8, 15, 30])
def test_any_size_fits(size):
    rng = np.random.default_rng(size)
    X = rng.normal(size=(800, 30))
    y = (rng.random(800) < 1 / (1 + np.exp(-0.3 * X[:, :3].sum(axis=1)))).astype(float)
    assert_fits_like_sklearn(X, y, [np.arange(size)])


def test_breast_cancer_fits():
    X, y = load_breast_cancer(return_X_y=True)
    assert_fits_like_sklearn(X, y.astype(float), [[0, 1, 2], [7, 22, 27], [4, 9, 21]])


@pytest.mark.parametrize("order", ["C", "F"])
def test_memory_order_does_not_matter(order):
    X, y = problem(1)
    fits, plain = fit(np.asarray(X, order=order), y, SUBSETS), fit(X, y, SUBSETS)
    np.testing.assert_array_equal(fits.coefficients, plain.coefficients)


def test_a_view_with_strides_fits():
    X, y = problem(1)
    wide = np.zeros((2 * len(X), 3 * N_FEATURES))
    wide[::2, ::3] = X
    np.testing.assert_array_equal(
        fit(wide[::2, ::3], y, SUBSETS).coefficients, fit(X, y, SUBSETS).coefficients
    )


def test_a_weight_counts_as_that_many_rows():
    X, y = problem(2)
    repeats = np.random.default_rng(0).integers(1, 4, len(X))
    weighted = fit(X, y, SUBSETS, repeats.astype(float))
    repeated = fit(np.repeat(X, repeats, axis=0), np.repeat(y, repeats), SUBSETS)
    np.testing.assert_allclose(weighted.coefficients, repeated.coefficients, rtol=1e-6)
    np.testing.assert_allclose(weighted.losses, repeated.losses, rtol=1e-9)


def test_swapping_the_labels_changes_the_sign():
    X, y = problem(2)
    fits, swapped = fit(X, y, SUBSETS), fit(X, 1 - y, SUBSETS)
    np.testing.assert_allclose(swapped.coefficients, -fits.coefficients, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(swapped.losses, fits.losses, rtol=1e-9)


# ---- Separation ---------------------------------------------------------------------------------


@pytest.mark.parametrize("gap", [1e-3, 0.1, 10.0])
@pytest.mark.parametrize("n_rows", [20, 500])
def test_complete_separation_is_flagged_and_has_cross_entropy_zero(gap, n_rows):
    rng = np.random.default_rng(n_rows)
    y = (np.arange(n_rows) % 2).astype(float)
    X = rng.normal(size=(n_rows, 3))
    X[:, 0] = np.where(y == 1, 1, -1) * (gap + np.abs(X[:, 0]))
    fits = fit(X, y, [[0], [0], [0]])
    assert fits.separated.all()
    assert (fits.losses == 0).all()
    assert np.isfinite(fits.coefficients).all()
    assert (fits.n_iter < MAX_ITER / 2).all()


def test_separation_by_several_features_together_is_flagged():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 5))
    y = (X @ [1.0, -1.0, 0.5, 0.0, 0.0] > 0).astype(float)
    fits = fit(X, y, [[0, 1, 2], [0, 1, 3]])
    assert fits.separated.tolist() == [True, False]
    assert fits.losses[0] == 0 < fits.losses[1]


def test_a_separated_fit_classifies_every_row():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 3))
    y = (X @ [1.0, -1.0, 0.5] > 0.2).astype(float)
    fits = fit(X, y, [[0, 1, 2]])
    eta = X @ fits.coefficients[0] + fits.intercepts[0]
    np.testing.assert_array_equal(eta > 0, y == 1)


@pytest.mark.parametrize("n_ones", [1, 3, 20, 60])
@pytest.mark.parametrize("seed", range(3))
def test_a_dummy_that_is_one_in_one_class_only_is_flagged(n_ones, seed):
    X, y = problem(seed)
    dummy = np.zeros(len(X))
    dummy[np.flatnonzero(y == 1)[:n_ones]] = 1.0
    X = np.column_stack([X[:, :3], dummy])
    fits = fit(X, y, [[0, 1, 3], [0, 1, 2]])
    assert fits.separated.tolist() == [True, False]
    assert fits.n_iter[0] < MAX_ITER / 2


def test_under_quasi_separation_the_cross_entropy_is_that_of_the_other_rows():
    X, y = problem(0)
    dummy = (np.cumsum(y) <= 40) * y
    with_dummy = np.column_stack([X[:, :2], dummy])
    fits = fit(with_dummy, y, [[0, 1, 2]])
    rest = dummy == 0
    left = fit(X[rest], y[rest], [[0, 1]]).losses[0] * rest.mean()
    assert fits.losses[0] == pytest.approx(left, rel=1e-2)
    assert fits.losses[0] >= left * (1 - 1e-15)


def test_rows_that_touch_at_one_point_are_flagged():
    x = np.r_[-np.arange(5.0), 0.0, np.arange(5.0)]
    y = np.r_[np.zeros(5), 1.0, np.ones(5)]
    fits = fit(x[:, None] * [1.0, 2.0], y, [[0]])
    assert fits.separated[0]


# ---- Hard, but not separated --------------------------------------------------------------------


def far_out(rng, n_rows):
    """Features with outliers of any size."""
    return rng.standard_cauchy(size=(n_rows, N_FEATURES))


def skewed(rng, n_rows):
    return np.exp(3 * rng.normal(size=(n_rows, N_FEATURES)))


def counts(rng, n_rows):
    """Mostly zero."""
    return rng.poisson(0.05, size=(n_rows, N_FEATURES)).astype(float)


@pytest.mark.parametrize("features", [far_out, skewed, counts])
@pytest.mark.parametrize("positives", [0.01, 0.5])
@pytest.mark.parametrize("seed", range(4))
def test_hard_data_are_not_taken_for_separable(features, positives, seed):
    rng = np.random.default_rng([seed, 9])
    X = features(rng, 3000)
    # Each row once in either class and then some: no direction can separate them.
    y = np.r_[np.zeros(3000), np.ones(3000)]
    weight = np.r_[rng.uniform(0.5, 1.5, 3000), positives * rng.uniform(0.2, 5.0, 3000)]
    fits = fit(np.r_[X, X], y, SUBSETS, weight)
    assert not fits.separated.any()
    assert (fits.n_iter < MAX_ITER).all()


@pytest.mark.parametrize("features", [far_out, skewed])
@pytest.mark.parametrize("seed", range(4))
def test_hard_data_are_fitted_to_the_optimum(features, seed):
    rng = np.random.default_rng([seed, 10])
    X = features(rng, 1500)
    y = np.r_[np.zeros(1500), np.ones(1500)]
    weight = np.r_[np.ones(1500), rng.uniform(0.02, 0.5, 1500)]
    both = np.r_[X, X]
    fits = fit(both, y, SUBSETS, weight)
    for i, subset in enumerate(SUBSETS):
        design = np.column_stack([both[:, subset], np.ones(len(both))])
        found = np.r_[fits.coefficients[i], fits.intercepts[i]]
        spread = np.r_[both[:, subset].std(axis=0), 1.0]
        optimum = newton(design, y, weight, found)
        np.testing.assert_allclose(found * spread, optimum * spread, rtol=1e-6, atol=1e-6)


def newton(design, y, weight, coefficients, n_steps=5):
    """The optimum, from a point near it."""
    for _ in range(n_steps):
        p = 1 / (1 + np.exp(-design @ coefficients))
        hessian = (design * (weight * p * (1 - p))[:, None]).T @ design
        scale = np.sqrt(np.diag(hessian))
        gradient = design.T @ (weight * (p - y)) / scale
        coefficients = (
            coefficients - np.linalg.solve(hessian / np.outer(scale, scale), gradient) / scale
        )
    return coefficients


def test_a_rare_class_is_fitted():
    X, y = problem(8, n_rows=20_000, strength=0.5, shift=-6.0)
    assert 20 < y.sum() < 200
    assert_fits_like_sklearn(X, y, SUBSETS)


def test_a_strong_signal_without_separation_is_not_flagged():
    X, y = problem(8, n_rows=5000, strength=20.0)
    y[:20] = 1 - y[:20]
    assert_fits_like_sklearn(X, y, [[0, 1, 2, 3, 4, 5, 6]])


# ---- Many at once -------------------------------------------------------------------------------


def test_equal_subsets_give_identical_rows():
    X, y = problem(4)
    fits = fit(X, y, [[0, 1], [2, 3], [0, 1], [5, 6], [2, 3]])
    for name in ("coefficients", "intercepts", "losses", "separated", "n_iter"):
        values = getattr(fits, name)
        np.testing.assert_array_equal(values[0], values[2])
        np.testing.assert_array_equal(values[1], values[4])
    assert fits.losses[0] != fits.losses[1]


def test_results_come_in_the_order_of_the_subsets():
    X, y = problem(4)
    together = fit(X, y, [[5, 6], [0, 1], [2, 3]])
    for i, subset in enumerate([[5, 6], [0, 1], [2, 3]]):
        alone = fit(X, y, [subset])
        np.testing.assert_array_equal(together.coefficients[i], alone.coefficients[0])


@pytest.mark.parametrize("n_threads", [2, 3, 16])
def test_the_number_of_threads_does_not_change_a_bit(n_threads):
    X, y = problem(5)
    subsets = np.array([[i, j] for i in range(N_FEATURES) for j in range(i)])
    one, many = fit(X, y, subsets), fit(X, y, subsets, n_threads=n_threads)
    np.testing.assert_array_equal(one.coefficients, many.coefficients)
    np.testing.assert_array_equal(one.losses, many.losses)


# ---- Collinear columns --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "extra",
    [lambda X: X[:, 0], lambda X: 2 * X[:, 0] - 3 * X[:, 1] + 1, lambda X: np.full(len(X), 4.0)],
    ids=["copy", "combination", "constant"],
)
def test_a_redundant_column_changes_no_prediction(extra):
    X, y = problem(6)
    wide = np.column_stack([X[:, :2], extra(X)])
    fits = fit(wide, y, [[0, 1, 2]])
    plain = fit(X, y, [[0, 1]])
    assert np.isfinite(fits.coefficients).all()
    assert fits.losses[0] == pytest.approx(plain.losses[0], rel=1e-9)
    assert not fits.separated[0]
    eta = wide @ fits.coefficients[0] + fits.intercepts[0]
    expected = X[:, :2] @ plain.coefficients[0] + plain.intercepts[0]
    np.testing.assert_allclose(eta, expected, rtol=1e-4, atol=1e-4)


def test_more_columns_than_rows_do_not_crash():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 40)), (np.arange(20) % 2).astype(float)
    fits = fit(X, y, [np.arange(40)])
    assert fits.separated[0]
    assert fits.losses[0] == 0


@given(st.integers(0, 10_000), st.integers(1, 5), st.integers(1, 40))
def test_rows_come_once_in_their_order_and_columns_as_numpy_numbers_them(seed, size, n_subsets):
    # Numbers on both sides of a byte.
    subsets = np.random.default_rng(seed).integers(250, 260, size=(n_subsets, size))
    distinct, inverse = distinct_rows(subsets)
    rows = [tuple(subset) for subset in subsets.tolist()]
    assert [tuple(subset) for subset in distinct.tolist()] == list(dict.fromkeys(rows))
    np.testing.assert_array_equal(distinct[inverse], subsets)
    columns, local = renumbered(subsets, 300)
    np.testing.assert_array_equal(columns, np.unique(subsets))
    np.testing.assert_array_equal(columns[local], subsets)
