"""Softmax fits of which only the best must be exact, fits in portions, and who is separated."""

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import linprog

import safdr._engine.fits.columns
from fitting import criterion_of
from safdr._engine.fits.multinomial import MultinomialFitter

N_CLASSES = 3


def data_of(X, codes, weight=None):
    return MultinomialFitter(X, codes, weight, criterion_of(X, codes, N_CLASSES, weight))


def random_subsets(rng, n_features, size, n_subsets=40):
    return np.array([np.sort(rng.permutation(n_features)[:size]) for _ in range(n_subsets)])


def with_labels(X, rng):
    """Labels that hang on the first features, whatever their tails."""
    logits = np.tanh(X[:, :4]) @ rng.normal(size=(4, N_CLASSES))
    codes = np.argmax(logits + rng.gumbel(size=logits.shape), axis=1)
    codes[: 2 * N_CLASSES] = np.arange(2 * N_CLASSES) % N_CLASSES
    return codes


def heavy_tailed(seed, n_rows=120, n_features=12):
    rng = np.random.default_rng(seed)
    X = rng.standard_t(df=1.5 + seed % 3, size=(n_rows, n_features))
    return X, with_labels(X, rng), random_subsets(rng, n_features, 4)


def cauchy(seed):
    """Where a single row dominates the curvature of a column."""
    rng = np.random.default_rng([seed, 7])
    X = rng.standard_cauchy(size=(int(rng.choice([60, 200, 600])), 12))
    return X, with_labels(X, rng), random_subsets(rng, 12, int(rng.integers(2, 6)), 20)


# ---- The best -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("weighted", [False, True])
def test_the_best_is_the_best_of_all_and_exact(seed, weighted):
    X, codes, subsets = heavy_tailed(seed)
    weight = np.random.default_rng(seed).uniform(0.5, 2.0, len(X)) if weighted else None
    data = data_of(X, codes, weight)
    exact, rough = data.fit(subsets), data.fit(subsets, best_only=True)
    best = np.argmin(rough.losses)
    assert exact.losses[best] == exact.losses.min()
    np.testing.assert_array_equal(rough.coefficients[best], exact.coefficients[best])
    assert rough.converged.sum() < exact.converged.sum()


@pytest.mark.parametrize("seed", range(10))
def test_the_others_are_right_to_a_tenth_of_their_distance(seed):
    X, codes, subsets = heavy_tailed(seed)
    data = data_of(X, codes)
    exact = data.fit(subsets).losses
    rough = data.fit(subsets, best_only=True).losses
    assert (np.abs(rough - exact) <= 0.1 * (exact - exact.min()) + 1e-10).all()


def test_the_best_is_the_best_on_the_wildest_data():
    for seed in range(60):
        X, codes, subsets = cauchy(seed)
        data = data_of(X, codes)
        exact = data.fit(subsets).losses
        best = np.argmin(data.fit(subsets, best_only=True).losses)
        assert exact[best] <= exact.min() + 1e-6


# ---- Separation ---------------------------------------------------------------------------------


def separable(X, codes, subset):
    """Whether some direction prefers no other class to that of any row, by linear programming.

    Of each row and each other class: (θ_own - θ_other)·z >= 0, and > 0 for one of them.
    """
    Z = np.column_stack([X[:, subset], np.ones(len(X))])
    Z /= np.maximum(np.abs(Z).max(axis=0), 1e-300)
    margins = []
    for other in range(N_CLASSES):
        of_others = np.flatnonzero(codes != other)
        part = np.zeros((len(of_others), N_CLASSES, Z.shape[1]))
        part[np.arange(len(of_others)), codes[of_others]] = Z[of_others]
        part[:, other] -= Z[of_others]
        margins.append(part.reshape(len(of_others), -1))
    A = np.vstack(margins)
    found = linprog(-A.sum(axis=0), A_ub=-A, b_ub=np.zeros(len(A)), bounds=(-1, 1))
    return -found.fun > 1e-6


def few_rows(seed):
    """So few that a part of them is separated as often as not; counts, or outliers."""
    rng = np.random.default_rng([seed, 8])
    shape = (int(rng.choice([12, 18, 30])), 12)
    X = rng.poisson(0.5, shape).astype(float) if seed % 2 else rng.standard_cauchy(shape)
    return X, with_labels(X, rng), random_subsets(rng, 12, int(rng.integers(1, 5)), 6)


def test_separation_is_flagged_where_there_is_one():
    wrong, flagged, checked = 0, 0, 0
    for seed in range(60):
        X, codes, subsets = few_rows(seed)
        fits = data_of(X, codes).fit(subsets)
        for subset, flag in zip(subsets, fits.separated, strict=True):
            wrong += bool(flag) != separable(X, codes, subset)
            flagged += bool(flag)
            checked += 1
    assert checked == 360
    assert 100 < flagged < 260
    assert wrong <= 2


def test_no_cross_entropy_is_below_what_the_coefficients_reach():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        huge = 10 ** rng.uniform(3, 10, (300, 12))
        X = np.where(rng.random((300, 12)) < 0.02, huge, rng.normal(size=(300, 12)))
        codes, subsets = with_labels(X, rng), random_subsets(rng, 12, 5)
        fits = data_of(X, codes).fit(subsets, best_only=True)
        logits = np.einsum("nsk,sck->snc", X[:, subsets], fits.coefficients)
        logits += fits.intercepts[:, None, :]
        logits -= logits.max(axis=2, keepdims=True)
        own = logits[:, np.arange(300), codes]
        reached = (np.log(np.exp(logits).sum(axis=2)) - own).mean(axis=1)
        assert np.abs(reached - fits.losses)[~fits.separated].max(initial=0) < 1e-6


# ---- In portions --------------------------------------------------------------------------------


@pytest.mark.parametrize("most", [0, 5 * 120, 9 * 120])
def test_portions_give_the_same_fits(monkeypatch, most):
    X, codes, subsets = heavy_tailed(1)
    together = data_of(X, codes).fit(subsets)
    monkeypatch.setattr(safdr._engine.fits.columns, "NUMBERS_TO_KEEP", 0)
    monkeypatch.setattr(safdr._engine.fits.columns, "NUMBERS_AT_ONCE", most)
    apart = data_of(X, codes).fit(subsets)
    np.testing.assert_array_equal(apart.coefficients, together.coefficients)


@pytest.mark.parametrize("seed", [25, 87, 102, 133, 210])
def test_a_rough_fit_of_huge_values_does_not_lose_by_a_step_that_is_nearly_right(seed):
    rng = np.random.default_rng(seed)
    codes = np.repeat([0, 1, 2], [39, 5, 106])
    X = codes[:, None] * 1.5 + rng.normal(size=(150, 5))
    huge = rng.random(X.shape) < 0.015
    X[huge] *= 10.0 ** rng.uniform(7, 13, huge.sum())
    data = data_of(X, codes)
    subsets = np.array(list(combinations(range(5), 4)))
    every, best = data.fit(subsets).losses, data.fit(subsets, best_only=True).losses
    assert np.nanmin(best) == pytest.approx(every.min(), abs=1e-9)  # none after complete separation


def near_copies(seed):
    """Rare classes, and a log-normal column beside a copy of it with noise of 1e-6."""
    rng = np.random.default_rng(seed)
    codes = np.repeat([0, 1, 2, 3], [180, 8, 6, 6])
    X = rng.normal(size=(200, 5)) + codes[:, None] * [1, 0.8, 0.5, 0, 0]
    X[:, 2] = np.exp(2 * X[:, 2])
    X[:, 3] = X[:, 2] + 1e-6 * rng.normal(size=200)
    return X, codes


# Conjugate gradients did not see what the columns differ by: losses were off by up to 4e-3.
def test_what_near_copies_differ_by_is_seen_by_rough_fits():
    for seed in range(12):
        X, codes = near_copies(seed)
        fitter = MultinomialFitter(X, codes, None, criterion_of(X, codes, 4))
        subsets = np.array([[0, 1, 2, 4], [0, 1, 2, 3]])
        best, every = fitter.fit(subsets, best_only=True), fitter.fit(subsets)
        np.testing.assert_allclose(best.losses, every.losses, rtol=0, atol=1e-6)
