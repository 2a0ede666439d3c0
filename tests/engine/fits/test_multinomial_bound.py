"""Penalised softmax fits are given up by a bound, which no optimum may be below."""

import numpy as np
import pytest

from fitting import criterion_of
from safdr import _core
from safdr._engine.fits.multinomial import MultinomialFitter

# What a loss may be off by rounding, or since a fit to the end is not quite there.
CLOSE = 1e-9


def fitter_of(X, codes, weight, penalty):
    n_classes = int(codes.max()) + 1
    return MultinomialFitter(X, codes, weight, criterion_of(X, codes, n_classes, weight), penalty)


def plain(rng, codes, signal):
    return signal


def heavy_tailed(rng, codes, signal):
    return rng.standard_t(1.5, size=len(codes)) + signal


def binary(rng, codes, signal):
    return ((codes == 0) ^ (rng.random(len(codes)) < 0.05)).astype(float)


def far_off(rng, codes, signal):
    return 1e7 + signal


def few_huge(rng, codes, signal):
    return np.where(rng.random(len(codes)) < 0.02, 1e9 * signal, signal)


KINDS = (plain, heavy_tailed, binary, far_off, few_huge)


def random_problem(seed):
    """Nasty columns of three to nine classes, of which some are rare; copies; weights."""
    rng = np.random.default_rng(seed)
    n, n_classes = int(rng.choice([50, 150, 500])), int(rng.integers(3, 10))
    codes = np.minimum(rng.geometric(rng.choice([0.2, 0.6]), n) - 1, n_classes - 1)
    codes[: 2 * n_classes] = np.arange(2 * n_classes) % n_classes
    X = np.empty((n, 10))
    for j in range(8):
        level = rng.permutation(n_classes)[codes] * rng.choice([0.2, 1.0])
        X[:, j] = KINDS[rng.integers(len(KINDS))](rng, codes, level + rng.normal(size=n))
    X[:, 8], X[:, 9] = X[:, 0], X[:, 1] + 1e-6 * rng.normal(size=n)
    weight = None if seed % 2 else rng.exponential(size=n) + 1e-3
    subsets = np.array([np.sort(rng.permutation(10)[:4]) for _ in range(20)])
    return fitter_of(X, codes, weight, 10.0 ** rng.uniform(-7, 0)), np.unique(subsets, axis=0)


def given_up_beyond(fitter, subsets, incumbent):
    """Rough fits of subsets that must reach a loss."""
    (portion,) = fitter._rows.portions(subsets)
    how = {"exact": False, "incumbent": incumbent, "best_only": True, "n_threads": 1}
    start = fitter._discriminant_start(subsets)
    return fitter._run(portion.columns, portion.numbered, start, **how)


def test_no_optimum_is_below_what_a_fit_may_have_left_at_most():
    n_given_up = 0
    for seed in range(60):
        fitter, subsets = random_problem(seed)
        every = fitter.fit(subsets)
        optima = every.losses
        assert every.converged.all()
        for share in (1e-4, 1e-2, 0.3):
            incumbent = float(np.median(optima)) * (1 - share)
            fits = given_up_beyond(fitter, subsets, incumbent)
            assert (fits.losses >= optima - CLOSE).all()
            assert (fits.losses - fits.left <= optima + CLOSE).all()
            given_up = fits.losses - 10 * fits.left > incumbent
            assert (optima[given_up] > incumbent).all()
            n_given_up += (given_up & (fits.left > 1e-3 * share * fitter.baseline())).sum()
    # Long before the end.
    assert n_given_up > 300


def test_the_winner_is_that_of_fits_to_the_end_and_the_others_are_told_well():
    for seed in range(60):
        fitter, subsets = random_problem(seed)
        every, best = fitter.fit(subsets), fitter.fit(subsets, best_only=True)
        winner = np.argmin(best.losses)
        assert every.losses[winner] <= every.losses.min() + CLOSE
        assert best.losses[winner] == pytest.approx(every.losses[winner], abs=CLOSE)
        np.testing.assert_allclose(
            best.coefficients[winner], every.coefficients[winner], rtol=1e-3, atol=1e-6
        )
        off, distance = best.losses - every.losses, best.losses - every.losses.min()
        assert (off >= -CLOSE).all()
        assert (off <= 0.1 * distance + CLOSE).all()


def overlapping(n_classes=6, n_rows=300):
    """Classes of which the first columns tell most; the subset of these comes last."""
    rng = np.random.default_rng(3)
    codes = np.arange(n_rows) % n_classes
    centres = rng.normal(size=(n_classes, 12)) * np.linspace(1.5, 0.0, 12)
    X = centres[codes] + rng.normal(size=(n_rows, 12))
    others = [np.sort(rng.permutation(12)[:5]) for _ in range(30)]
    return fitter_of(X, codes, None, 1.0 / n_rows), np.array([*others, np.arange(5)])


def test_most_are_given_up_early_wherever_the_best_is(monkeypatch):
    fitter, subsets = overlapping()
    early, core = fitter.fit(subsets, best_only=True), _core.fit_multinomial
    monkeypatch.setattr(
        _core, "fit_multinomial", lambda *args, **how: core(*args, **{**how, "incumbent": np.inf})
    )
    late = fitter.fit(subsets, best_only=True)
    assert early.n_iter.sum() < 0.6 * late.n_iter.sum()
    for best_only in (early, late):
        assert np.argmin(best_only.losses) == len(subsets) - 1


def test_the_same_is_given_up_on_any_number_of_threads():
    fitter, subsets = overlapping()
    one = fitter.fit(subsets, best_only=True)
    for n_threads in (2, 3):
        several = fitter.fit(subsets, best_only=True, n_threads=n_threads)
        for mine, theirs in zip(one, several, strict=True):
            np.testing.assert_array_equal(mine, theirs)
