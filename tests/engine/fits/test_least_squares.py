"""Least squares from moments, against numpy's on the rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import safdr._engine.fits.least_squares
from safdr._engine.criterion import r2_criterion
from safdr._engine.fits.least_squares import LeastSquaresFitter
from safdr._engine.interrupt import asking
from safdr._engine.moments import joint_moments

N_FEATURES = 7


def problem(seed, n_outputs=2, n_rows=120):
    """Correlated features of several scales and far means, outputs, and weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, N_FEATURES)) @ rng.normal(size=(N_FEATURES, N_FEATURES))
    Y = X @ rng.normal(size=(N_FEATURES, n_outputs)) + rng.normal(size=(n_rows, n_outputs))
    scale = 10.0 ** rng.integers(-3, 4, N_FEATURES)
    return (X + 20 * rng.normal(size=N_FEATURES)) * scale, 5 * Y - 3, rng.uniform(0.1, 3.0, n_rows)


def fit(X, Y, subsets, weight=None, **options):
    criterion = r2_criterion(joint_moments(X, Y, weight), ridge=1e-6)
    return LeastSquaresFitter(criterion).fit(np.asarray(subsets), **options)


def plain_fit(X, Y, weight, subset):
    """Slopes, intercepts and mean squared error, from the rows."""
    some = X[:, subset]
    mean, scale = some.mean(axis=0), some.std(axis=0) + (some.std(axis=0) == 0)
    design = np.column_stack([(some - mean) / scale, np.ones(len(X))])
    root = np.sqrt(weight)[:, None]
    coefficients = np.linalg.lstsq(design * root, Y * root, rcond=None)[0]
    left = np.average((Y - design @ coefficients) ** 2, axis=0, weights=weight)
    slopes = coefficients[:-1] / scale[:, None]
    return slopes.T, coefficients[-1] - mean @ slopes, left.mean()


@given(st.integers(0, 10_000), st.integers(1, N_FEATURES), st.integers(1, 3), st.booleans())
def test_fits_are_those_of_least_squares_on_the_rows(seed, size, n_outputs, weighted):
    X, Y, weight = problem(seed, n_outputs)
    rng = np.random.default_rng(seed)
    subsets = np.array([rng.permutation(N_FEATURES)[:size] for _ in range(4)])
    fits = fit(X, Y, subsets, weight if weighted else None)
    assert fits.coefficients.shape == (4, n_outputs, size)
    for i, subset in enumerate(subsets):
        slopes, intercepts, error = plain_fit(X, Y, weight if weighted else np.ones(120), subset)
        spread = X[:, subset].std(axis=0)
        np.testing.assert_allclose(
            fits.coefficients[i] * spread, slopes * spread, rtol=1e-9, atol=1e-9 * Y.std()
        )
        np.testing.assert_allclose(
            fits.intercepts[i] + fits.coefficients[i] @ X[:, subset].mean(axis=0),
            intercepts + slopes @ X[:, subset].mean(axis=0),
            rtol=1e-9,
        )
        assert fits.losses[i] == pytest.approx(error, rel=1e-9)
    assert fits.converged.all()
    assert (fits.n_iter == 0).all()


@pytest.mark.parametrize("extra", ["copy", "sum", "constant"])
def test_collinear_features_fit_as_well_as_without_them(extra):
    X, Y, weight = problem(1)
    columns = {"copy": 3 * X[:, 0] + 1, "sum": X[:, 0] / 7 - X[:, 2], "constant": np.full(120, 0.1)}
    wide = np.column_stack([X, columns[extra]])
    with_extra = fit(wide, Y, [[0, 2, 4, 7]], weight)
    without = fit(X, Y, [[0, 2, 4]], weight)
    assert with_extra.losses[0] == pytest.approx(without.losses[0], rel=1e-9)
    predicted = wide[:, [0, 2, 4, 7]] @ with_extra.coefficients[0].T + with_extra.intercepts[0]
    expected = X[:, [0, 2, 4]] @ without.coefficients[0].T + without.intercepts[0]
    np.testing.assert_allclose(predicted, expected, rtol=0, atol=1e-8 * Y.std())


def test_more_features_than_rows_leave_no_error_and_finite_slopes(rng):
    X, Y = rng.normal(size=(6, 9)), rng.normal(size=(6, 1))
    fits = fit(X, Y, [np.arange(9)])
    predicted = X @ fits.coefficients[0].T + fits.intercepts[0]
    np.testing.assert_allclose(predicted, Y, atol=1e-8)
    assert 0 <= fits.losses[0] < 1e-12


def test_outputs_that_are_explained_fully_have_error_zero(rng):
    X = rng.normal(size=(50, 4))
    fits = fit(X, 2 * X[:, 1:2] - 1, [[0, 1], [2, 3]])
    assert 0 <= fits.losses[0] < 1e-14
    assert fits.losses[1] > 0.1
    np.testing.assert_allclose(fits.coefficients[0], [[0, 2]], atol=1e-13)


def test_the_largest_criterion_value_has_the_smallest_error():
    X, Y, _ = problem(3, n_outputs=1)
    criterion = r2_criterion(joint_moments(X, Y), ridge=1e-12)
    subsets = np.array([[0, 1, 2], [1, 3, 5], [2, 4, 6], [0, 4, 5]])
    errors = fit(X, Y, subsets).losses
    values = np.array([criterion.value(subset) for subset in subsets])
    np.testing.assert_allclose(errors, Y.var() * (1 - values), rtol=1e-7)


@pytest.mark.parametrize("ridge", [1e-9, 1.0])
def test_the_ridge_of_the_criterion_does_not_matter(ridge):
    X, Y, weight = problem(4)
    moments = joint_moments(X, Y, weight)
    subsets = np.array([[0, 1, 2], [1, 3, 5]])
    expected = LeastSquaresFitter(r2_criterion(moments, ridge=1e-6)).fit(subsets)
    here = LeastSquaresFitter(r2_criterion(moments, ridge=ridge)).fit(subsets)
    np.testing.assert_allclose(here.coefficients, expected.coefficients, rtol=1e-9)
    np.testing.assert_allclose(here.losses, expected.losses, rtol=1e-9)


def test_sparse_rows_give_the_same_fits(rng):
    X = np.where(rng.random((200, 30)) < 0.1, rng.normal(size=(200, 30)), 0.0)
    Y = X[:, :1] + rng.normal(size=(200, 1))
    subsets = [[0, 3, 9], [4, 5, 6]]
    here, there = fit(sparse.csr_array(X), Y, subsets), fit(X, Y, subsets)
    np.testing.assert_allclose(here.coefficients, there.coefficients, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(here.losses, there.losses, rtol=1e-10)


def test_threads_and_best_only_change_nothing():
    X, Y, _ = problem(5)
    subsets = [[0, 1], [2, 3], [4, 5]]
    one, other = fit(X, Y, subsets), fit(X, Y, subsets, best_only=True, n_threads=3)
    np.testing.assert_array_equal(one.coefficients, other.coefficients)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_the_fits_stop_once_nobody_waits_for_them(n_threads):
    def stop():
        raise KeyboardInterrupt

    X, Y, _ = problem(6)
    with pytest.raises(KeyboardInterrupt), asking(stop):
        fit(X, Y, [[0, 1]], n_threads=n_threads)


def test_they_ask_several_times_a_second(monkeypatch):
    X, Y, _ = problem(6)
    # So that each subset is a portion.
    monkeypatch.setattr(safdr._engine.fits.least_squares, "OPERATIONS_AT_ONCE", 1.0)
    fitter = LeastSquaresFitter(r2_criterion(joint_moments(X, Y), ridge=1e-6))
    asked = []
    with asking(lambda: asked.append(1)):
        in_portions = fitter.fit(np.array([[0, 1], [2, 3], [4, 5]]))
    monkeypatch.undo()
    assert len(asked) == 3
    together = fit(X, Y, [[0, 1], [2, 3], [4, 5]])
    np.testing.assert_allclose(in_portions.coefficients, together.coefficients, rtol=1e-12)
