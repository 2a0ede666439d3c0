"""Softmax fits against plain NumPy, scikit-learn and the two-class fits."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris, load_wine
from sklearn.linear_model import LogisticRegression

from fitting import criterion_of
from safdr._engine.fits.logistic import LogisticFitter
from safdr._engine.fits.multinomial import MultinomialFitter

N_FEATURES = 6
SUBSETS = [[0, 1, 2], [1, 3, 5], [2, 3, 4]]


def problem(seed, n_rows=300, n_classes=3, strength=1.0):
    """Correlated rows whose classes overlap; each class has some."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, N_FEATURES)) @ rng.normal(size=(N_FEATURES, N_FEATURES))
    eta = strength * X @ rng.normal(size=(N_FEATURES, n_classes)) / N_FEATURES
    codes = np.argmax(eta + rng.gumbel(size=eta.shape), axis=1)
    codes[: 2 * n_classes] = np.arange(2 * n_classes) % n_classes
    return X, codes


def data_of(X, codes, n_classes, weight=None, given_X=None):
    rows = X if given_X is None else given_X
    return MultinomialFitter(rows, codes, weight, criterion_of(X, codes, n_classes, weight))


def fit(X, codes, subsets, weight=None, **options):
    data = data_of(X, codes, codes.max() + 1, weight)
    return data.fit(np.asarray(subsets), **options)


# ---- References ---------------------------------------------------------------------------------


def cross_entropy(X, codes, slopes, intercepts, weight=None):
    """Mean cross-entropy of a softmax model: slopes (C, k), intercepts (C,)."""
    logits = X @ slopes.T + intercepts
    logits -= logits.max(axis=1, keepdims=True)
    own = logits[np.arange(len(X)), codes]
    return np.average(np.log(np.exp(logits).sum(axis=1)) - own, weights=weight)


def newton(X, codes, n_classes, weight, n_steps=30):
    """Damped Newton steps with the whole Hessian, row by row as the textbook has it."""
    center, scale = X.mean(axis=0), X.std(axis=0)
    Z = np.column_stack([(X - center) / scale, np.ones(len(X))])
    weight = np.ones(len(X)) if weight is None else weight
    theta, size = np.zeros((n_classes, Z.shape[1])), n_classes * Z.shape[1]

    def loss(theta):
        return cross_entropy(Z, codes, theta, 0.0, weight)

    for _ in range(n_steps):
        p = np.exp(Z @ theta.T)
        p /= p.sum(axis=1, keepdims=True)
        curvature = np.einsum("nc,cd->ncd", p, np.eye(n_classes)) - np.einsum("nc,nd->ncd", p, p)
        gradient = np.einsum("n,nc,nj->cj", weight, p - np.eye(n_classes)[codes], Z)
        hessian = np.einsum("n,ncd,ni,nj->cidj", weight, curvature, Z, Z, optimize=True)
        step = np.linalg.lstsq(hessian.reshape(size, size), gradient.ravel(), rcond=1e-12)[0]
        fraction = 1.0
        while loss(theta - fraction * step.reshape(theta.shape)) > loss(theta) and fraction > 1e-6:
            fraction /= 2
        theta = theta - fraction * step.reshape(theta.shape)
    slopes = theta[:, :-1] / scale
    return slopes - slopes.mean(axis=0), loss(theta)


def sklearn_fit(X, codes, weight=None):
    """scikit-learn's unpenalised model, on standardised columns so that it converges fully."""
    center, scale = X.mean(axis=0), X.std(axis=0)
    model = LogisticRegression(C=np.inf, solver="newton-cg", tol=1e-12, max_iter=10_000)
    model.fit((X - center) / scale, codes, sample_weight=weight)
    slopes = model.coef_ / scale
    intercepts = model.intercept_ - slopes @ center
    return slopes, cross_entropy(X, codes, slopes, intercepts, weight)


def assert_fits_like_newton(X, codes, subsets, weight=None):
    n_classes = codes.max() + 1
    fits = fit(X, codes, subsets, weight)
    for i, subset in enumerate(subsets):
        slopes, entropy = newton(X[:, subset], codes, n_classes, weight)
        spread = X[:, subset].std(axis=0)
        np.testing.assert_allclose(fits.coefficients[i] * spread, slopes * spread, atol=1e-5)
        assert fits.losses[i] == pytest.approx(entropy, rel=1e-9)
    assert not fits.separated.any()
    assert fits.converged.all()


# ---- Equal to others ----------------------------------------------------------------------------


@given(st.integers(0, 10_000), st.integers(2, 5), st.integers(1, N_FEATURES))
def test_fits_are_those_of_newtons_method(seed, n_classes, size):
    X, codes = problem(seed, n_classes=n_classes)
    subset = np.random.default_rng(seed).choice(N_FEATURES, size, replace=False)
    assert_fits_like_newton(X, codes, [np.sort(subset)])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("weighted", [False, True])
def test_fits_are_those_of_sklearn(seed, weighted):
    X, codes = problem(seed, n_classes=4)
    weight = np.random.default_rng(seed).uniform(0.1, 5.0, len(X)) if weighted else None
    fits = fit(X, codes, SUBSETS, weight)
    for i, subset in enumerate(SUBSETS):
        slopes, entropy = sklearn_fit(X[:, subset], codes, weight)
        assert fits.losses[i] == pytest.approx(entropy, rel=1e-8)
        np.testing.assert_allclose(fits.coefficients[i], slopes, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("load", "subset"), [(load_iris, [1]), (load_wine, [1, 3, 4])])
def test_small_data_sets_fit(load, subset):
    X, codes = load(return_X_y=True)
    assert_fits_like_newton(X, codes, [subset])


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("weighted", [False, True])
def test_two_classes_are_those_of_the_logistic_fits(seed, weighted):
    X, codes = problem(seed, n_classes=2)
    weight = np.random.default_rng(seed).uniform(0.1, 5.0, len(X)) if weighted else None
    fits = fit(X, codes, SUBSETS, weight)
    moments = criterion_of(X, codes, 2, weight)
    binary = LogisticFitter(X, codes, weight, moments).fit(np.asarray(SUBSETS))
    np.testing.assert_allclose(fits.losses, binary.losses, rtol=1e-9)
    slopes = fits.coefficients[:, 1] - fits.coefficients[:, 0]
    np.testing.assert_allclose(slopes, binary.coefficients, rtol=1e-5, atol=1e-6)


def test_the_cross_entropy_is_that_of_the_coefficients():
    X, codes = problem(0, n_classes=5)
    weight = np.random.default_rng(1).uniform(0.1, 5.0, len(X))
    fits = fit(X, codes, SUBSETS, weight)
    for i, subset in enumerate(SUBSETS):
        model = fits.coefficients[i], fits.intercepts[i]
        reached = cross_entropy(X[:, subset], codes, *model, weight)
        assert fits.losses[i] == pytest.approx(reached, rel=1e-10)


def test_coefficients_sum_to_zero_over_the_classes():
    X, codes = problem(0, n_classes=5)
    fits = fit(X + 3, codes, SUBSETS)
    assert fits.coefficients.shape == (3, 5, 3)
    np.testing.assert_allclose(fits.coefficients.sum(axis=1), 0, atol=1e-12)
    np.testing.assert_allclose(fits.intercepts.sum(axis=1), 0, atol=1e-10)


def test_badly_scaled_features_fit_as_well():
    X, codes = problem(0)
    scale = 10.0 ** np.arange(-9, 9, 3)
    plain, scaled = fit(X, codes, SUBSETS), fit(X * scale + 1000 * scale, codes, SUBSETS)
    np.testing.assert_allclose(scaled.losses, plain.losses, rtol=1e-9)


@pytest.mark.parametrize("n_rows", [40, 63, 64, 65, 129])
def test_any_number_of_rows_fits(n_rows):
    X, codes = problem(3, n_rows, strength=0.3)
    assert_fits_like_newton(X, codes, [[0, 1]])


def test_a_weight_counts_as_that_many_rows():
    X, codes = problem(2)
    repeats = np.random.default_rng(0).integers(1, 4, len(X))
    weighted = fit(X, codes, SUBSETS, repeats.astype(float))
    repeated = fit(np.repeat(X, repeats, axis=0), np.repeat(codes, repeats), SUBSETS)
    np.testing.assert_allclose(weighted.coefficients, repeated.coefficients, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(weighted.losses, repeated.losses, rtol=1e-10)


@pytest.mark.parametrize("kind", [scipy.sparse.csr_matrix, scipy.sparse.csc_array])
def test_sparse_rows_fit_like_dense_ones(kind):
    X, codes = problem(5)
    X = np.where(np.abs(X) > 1, X, 0.0)
    dense = data_of(X, codes, 3).fit(np.asarray(SUBSETS))
    sparse = data_of(X, codes, 3, given_X=kind(X)).fit(np.asarray(SUBSETS))
    np.testing.assert_array_equal(sparse.coefficients, dense.coefficients)


# ---- Separation ---------------------------------------------------------------------------------


def test_complete_separation_is_flagged_and_has_cross_entropy_zero():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 6))
    codes = np.argmax(X[:, :4] @ rng.normal(size=(4, 5)), axis=1)
    fits = fit(X, codes, [[0, 1, 2, 3], [0, 1, 2, 4]])
    assert fits.separated.tolist() == [True, False]
    assert fits.losses[0] == 0 < fits.losses[1]
    assert not fits.converged[0]
    logits = X[:, :4] @ fits.coefficients[0].T + fits.intercepts[0]
    np.testing.assert_array_equal(np.argmax(logits, axis=1), codes)


@pytest.mark.parametrize("seed", range(3))
def test_a_dummy_that_is_never_one_in_a_class_is_flagged(seed):
    X, codes = problem(seed)
    dummy = (np.random.default_rng(seed).random(len(X)) < 0.3) & (codes != 2)
    X = np.column_stack([X[:, :3], dummy])
    fits = fit(X, codes, [[0, 1, 3], [0, 1, 2]])
    assert fits.separated.tolist() == [True, False]
    assert fits.converged.tolist() == [False, True]


def test_under_partial_separation_the_cross_entropy_is_the_infimum():
    X, codes = problem(0)
    dummy = np.flatnonzero(codes == 1)[:40]
    wide = np.column_stack([X[:, :2], np.zeros(len(X))])
    wide[dummy, 2] = 1.0
    fits = fit(wide, codes, [[0, 1, 2]])
    rest = np.setdiff1d(np.arange(len(X)), dummy)
    left = fit(X[rest], codes[rest], [[0, 1]]).losses[0] * len(rest) / len(X)
    assert fits.separated[0]
    assert left < fits.losses[0] == pytest.approx(left, rel=1e-7)


def test_iris_is_separated_in_part_by_its_sepals():
    X, codes = load_iris(return_X_y=True)
    fits = fit(X, codes, [[0, 1]])
    assert fits.separated[0]
    assert fits.losses[0] > 0


def test_more_columns_than_rows_do_not_crash():
    X, codes = np.random.default_rng(0).normal(size=(20, 40)), np.arange(20) % 4
    fits = fit(X, codes, [np.arange(40)])
    assert fits.separated[0]
    assert fits.losses[0] == 0


# ---- Columns that add nothing -------------------------------------------------------------------


@pytest.mark.parametrize(
    "extra",
    [lambda X: X[:, 0], lambda X: 2 * X[:, 0] - 3 * X[:, 1] + 1, lambda X: np.full(len(X), 4.0)],
    ids=["copy", "combination", "constant"],
)
def test_a_redundant_column_changes_no_prediction(extra):
    X, codes = problem(6)
    wide = np.column_stack([X[:, :2], extra(X)])
    fits, plain = fit(wide, codes, [[0, 1, 2]]), fit(X, codes, [[0, 1]])
    assert np.isfinite(fits.coefficients).all()
    assert fits.losses[0] == pytest.approx(plain.losses[0], rel=1e-9)
    assert not fits.separated[0]


# ---- Many at once -------------------------------------------------------------------------------


def test_equal_subsets_give_identical_rows_in_their_order():
    X, codes = problem(4)
    fits = fit(X, codes, [[3, 4], [0, 1], [3, 4], [2, 3]])
    for name in ("coefficients", "intercepts", "losses", "separated", "n_iter"):
        values = getattr(fits, name)
        np.testing.assert_array_equal(values[0], values[2])
    for i, subset in enumerate([[3, 4], [0, 1], [3, 4], [2, 3]]):
        alone = fit(X, codes, [subset]).losses[0]
        assert fits.losses[i] == pytest.approx(alone, rel=1e-12)


@pytest.mark.parametrize("best_only", [False, True])
def test_the_number_of_threads_does_not_change_a_bit(best_only):
    X, codes = problem(5)
    subsets = np.array([[i, j] for i in range(N_FEATURES) for j in range(i)])
    one = fit(X, codes, subsets, best_only=best_only)
    many = fit(X, codes, subsets, best_only=best_only, n_threads=3)
    np.testing.assert_array_equal(one.coefficients, many.coefficients)
    np.testing.assert_array_equal(one.losses, many.losses)
