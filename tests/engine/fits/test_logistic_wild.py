"""Values of a billion beside ones, as some financial ratios have them."""

import copy
import itertools
import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array

from fitting import criterion_of, near_copy_of_a_binary
from safdr._engine.fits.columns import middle
from safdr._engine.fits.logistic import LogisticFitter


def wild(seed, n_rows=300, n_features=20):
    rng = np.random.default_rng(seed)
    X = np.where(
        rng.random((n_rows, n_features)) < 0.02,
        10 ** rng.uniform(3, 10, (n_rows, n_features)),
        rng.normal(size=(n_rows, n_features)),
    )
    y = (X[:, 0] + rng.logistic(size=n_rows) > 1.5).astype(np.int64)
    size = int(rng.integers(4, 12))
    return X, y, np.array([np.sort(rng.permutation(n_features)[:size]) for _ in range(30)])


def reached_by(fits, X, y, subsets):
    """Cross-entropy of the coefficients, as they are on the original scale."""
    margin = np.where(y == 1, 1, -1) * (
        np.einsum("rsk,sk->sr", X[:, subsets], fits.coefficients) + fits.intercepts[:, None]
    )
    return np.logaddexp(0, -margin).mean(axis=1)


# Fits that need not be exact are in single precision.
@pytest.mark.parametrize(("best_only", "tol"), [(False, 1e-7), (True, 1e-5)])
def test_no_cross_entropy_is_below_what_the_coefficients_reach(best_only, tol):
    for seed in range(60):
        X, y, subsets = wild(seed)
        fits = LogisticFitter(X, y, None, criterion_of(X, y, 2)).fit(subsets, best_only=best_only)
        off = np.abs(reached_by(fits, X, y, subsets) - fits.losses)
        assert (fits.losses <= np.log(2) + 1e-9).all()
        assert (off < tol)[~fits.separated].all()
        assert off[np.argmin(fits.losses)] < 1e-7


def moments_of(X):
    return X.mean(axis=0), X.std(axis=0)


def test_columns_are_centred_where_most_of_their_values_are(rng):
    X = rng.normal(size=(1000, 5)) + np.arange(5.0)
    X[::50, 1] = 1e12
    X[:, 2] = (X[:, 2] > 5).astype(float)
    np.testing.assert_allclose(middle(X, *moments_of(X)), [0, 1, 0, 3, 4], atol=0.3)
    np.testing.assert_array_equal(middle(csr_array(X), *moments_of(X)), middle(X, *moments_of(X)))
    few = X[:3]
    np.testing.assert_array_equal(middle(few, *moments_of(few)), np.median(few, axis=0))


@pytest.mark.parametrize("far", [1e6, 1e12, 1e60])
def test_rows_that_hardly_count_do_not_set_the_center(far):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 6))
    y = (X[:, 0] + 0.7 * X[:, 1] + rng.logistic(size=600) > 0).astype(np.int64)
    weight = np.ones(600)
    weight[:400] = 1e-2 / far**2
    wide = X.copy()
    wide[:400] += far
    subsets = np.array([np.sort(rng.permutation(6)[:3]) for _ in range(12)])
    near = X[400:], y[400:]
    expected = LogisticFitter(*near, None, criterion_of(*near, 2)).fit(subsets)
    for best_only in (False, True):
        fits = LogisticFitter(wide, y, weight, criterion_of(wide, y, 2, weight)).fit(
            subsets, best_only=best_only
        )
        best = np.argmin(expected.losses)
        assert np.argmin(fits.losses) == best
        assert fits.losses[best] == pytest.approx(expected.losses[best], abs=1e-3)
        assert np.isfinite(fits.losses).all()


@pytest.mark.parametrize("apart", [1e-3, 1e-4, 1e-5])
def test_the_difference_of_two_nearly_equal_columns_is_found(apart):
    """What tells the classes apart is hidden in the last digits of a column."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1000, 8))
    hidden = rng.normal(size=1000)
    X[:, 1] = X[:, 0] + apart * hidden
    y = (1.5 * hidden + X[:, 4] + rng.logistic(size=1000) > 0).astype(np.int64)
    plain = X.copy()
    plain[:, 1] = hidden
    subsets = np.array([s for s in itertools.combinations(range(8), 5) if s[:2] == (0, 1)])
    found = LogisticFitter(X, y, None, criterion_of(X, y, 2)).fit(subsets)
    expected = LogisticFitter(plain, y, None, criterion_of(plain, y, 2)).fit(subsets)
    np.testing.assert_allclose(found.losses, expected.losses, rtol=1e-9)


@pytest.mark.parametrize("copier", [copy.deepcopy, lambda data: pickle.loads(pickle.dumps(data))])
def test_a_copy_makes_its_columns_anew(copier):
    X, y, subsets = wild(0)
    data = LogisticFitter(X, y, None, criterion_of(X, y, 2))
    fits = data.fit(subsets)
    np.testing.assert_array_equal(copier(data).fit(subsets).coefficients, fits.coefficients)
    assert len(pickle.dumps(data)) < 2 * X.nbytes


# A row that goes out with 2e-7 to lose hid what the others had to gain by a slope of 5e6.
def test_a_plateau_behind_one_row_is_seen():
    X, y, weight = near_copy_of_a_binary()
    fitter = LogisticFitter(X, y, weight, criterion_of(X, y, 2, weight))
    subsets = np.array([[2, 7, 11], [2, 5, 7], [3, 5, 7], [0, 2, 7]])
    best, every = fitter.fit(subsets, best_only=True), fitter.fit(subsets)
    assert np.argmin(best.losses) == np.argmin(every.losses) == 2
    assert best.losses[2] == pytest.approx(every.losses[2], abs=1e-9)
    assert every.converged[2]


def test_columns_that_differ_by_next_to_nothing_are_told(rng):
    binary, noise = np.repeat([0, 1], 250), rng.normal(size=500)
    columns = [binary, noise, binary + 1e-7 * noise, binary + 0.1 * noise, np.round(noise, 5)]
    X = np.column_stack([*columns, 1e9 + noise])
    fitter = LogisticFitter(X, binary, None, criterion_of(X, binary, 2))
    wild = next(fitter._rows.portions(np.arange(6)[None])).columns.wild
    np.testing.assert_array_equal(wild[:6], [0, 0, 1, 0, 0, 0])
