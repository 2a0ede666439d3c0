"""Fits of which only the best must be exact, and fits in portions."""

import numpy as np
import pytest
from scipy.optimize import linprog

import safdr._engine.fits.columns
from fitting import criterion_of
from safdr._engine.fits.logistic import LogisticFitter


def heavy_tailed(seed, n_rows=80, n_features=12):
    """Labels that hang on features of which some have no variance at all."""
    rng = np.random.default_rng(seed)
    X = rng.standard_t(df=1.5 + seed % 3, size=(n_rows, n_features))
    signal = np.tanh(X[:, :4]) @ rng.normal(size=4)
    y = (signal + rng.logistic(size=n_rows) > 0).astype(np.int64)
    subsets = np.array([np.sort(rng.permutation(n_features)[:4]) for _ in range(40)])
    return X, y, subsets


def data_of(X, y, weight=None):
    return LogisticFitter(X, y, weight, criterion_of(X, y, 2, weight))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("weighted", [False, True])
def test_the_best_is_the_best_of_all_and_exact(seed, weighted):
    X, y, subsets = heavy_tailed(seed)
    weight = np.random.default_rng(seed).uniform(0.5, 2.0, len(y)) if weighted else None
    data = data_of(X, y, weight)
    exact, rough = data.fit(subsets), data.fit(subsets, best_only=True)
    best = np.argmin(rough.losses)
    assert exact.losses[best] == exact.losses.min()
    assert rough.losses[best] == pytest.approx(exact.losses[best], rel=1e-10)
    np.testing.assert_allclose(rough.coefficients[best], exact.coefficients[best], rtol=1e-5)


@pytest.mark.parametrize("seed", range(12))
def test_the_others_are_right_to_a_tenth_of_their_distance(seed):
    X, y, subsets = heavy_tailed(seed)
    data = data_of(X, y)
    exact = data.fit(subsets).losses
    rough = data.fit(subsets, best_only=True).losses
    assert (np.abs(rough - exact) <= 0.1 * (exact - exact.min()) + 1e-10).all()


def test_many_rows_are_fitted_as_well_as_few():
    # More of them than are summed in single precision at a time.
    rng = np.random.default_rng(3)
    X = rng.normal(size=(3000, 12)) @ (np.eye(12) + 0.3 * rng.normal(size=(12, 12)))
    y = (X[:, :6] @ rng.normal(size=6) + 3 * rng.logistic(size=3000) > 0).astype(np.int64)
    data = data_of(X, y)
    subsets = np.array([np.sort(rng.permutation(12)[:5]) for _ in range(40)])
    exact = data.fit(subsets).losses
    rough = data.fit(subsets, best_only=True)
    best = np.argmin(rough.losses)
    assert exact[best] == exact.min()
    assert (np.abs(rough.losses - exact) <= 0.1 * (exact - exact.min()) + 1e-10).all()
    assert rough.n_iter.max() < 12


def cauchy(seed):
    """Where a single row dominates the curvature of a column."""
    rng = np.random.default_rng([seed, 7])
    X = rng.standard_cauchy(size=(int(rng.choice([60, 200, 600])), 12))
    y = (np.tanh(X[:, 0]) + rng.logistic(size=len(X)) > 0).astype(np.int64)
    size = int(rng.integers(2, 6))
    return X, y, np.array([np.sort(rng.permutation(12)[:size]) for _ in range(40)])


def test_the_best_is_the_best_on_the_wildest_data():
    wrong = 0
    for seed in range(200):
        X, y, subsets = cauchy(seed)
        data = data_of(X, y)
        exact = data.fit(subsets).losses
        best = np.argmin(data.fit(subsets, best_only=True).losses)
        wrong += exact[best] > exact.min() + 1e-6
    assert wrong == 0


def separable(X, y, subset):
    """Whether some direction has no row on its wrong side, by linear programming."""
    signed = np.where(y == 1, 1.0, -1.0)[:, None] * np.column_stack([X[:, subset], np.ones(len(X))])
    signed /= np.abs(signed).max(axis=0)
    found = linprog(-signed.sum(axis=0), A_ub=-signed, b_ub=np.zeros(len(X)), bounds=(-1, 1))
    return -found.fun > 1e-6


def test_separation_is_flagged_where_there_is_one():
    wrong = checked = 0
    for seed in range(60):
        X, y, subsets = cauchy(seed)
        fits = data_of(X, y).fit(subsets[:8])
        for subset, flag in zip(subsets[:8], fits.separated, strict=True):
            wrong += bool(flag) != separable(X, y, subset)
            checked += 1
    assert checked == 480
    assert wrong <= 2


@pytest.mark.parametrize("most", [0, 5 * 80, 9 * 80])
def test_portions_give_the_same_fits(monkeypatch, most):
    X, y, subsets = heavy_tailed(1)
    together = data_of(X, y).fit(subsets)
    monkeypatch.setattr(safdr._engine.fits.columns, "NUMBERS_TO_KEEP", 0)
    monkeypatch.setattr(safdr._engine.fits.columns, "NUMBERS_AT_ONCE", most)
    apart = data_of(X, y).fit(subsets)
    np.testing.assert_allclose(apart.losses, together.losses, rtol=1e-10)
    np.testing.assert_allclose(apart.coefficients, together.coefficients, rtol=1e-5, atol=1e-7)


def test_the_best_of_all_portions_is_exact(monkeypatch):
    X, y, subsets = heavy_tailed(2)
    exact = data_of(X, y).fit(subsets)
    monkeypatch.setattr(safdr._engine.fits.columns, "NUMBERS_TO_KEEP", 0)
    monkeypatch.setattr(safdr._engine.fits.columns, "NUMBERS_AT_ONCE", 6 * 80)
    rough = data_of(X, y).fit(subsets, best_only=True)
    assert np.argmin(rough.losses) == np.argmin(exact.losses)
