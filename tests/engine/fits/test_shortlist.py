"""Fits in order of preference: complete separation wins, for readers as well."""

import itertools

import numpy as np
import pytest

import safdr._engine.fits.columns
from fitting import criterion_of, unpenalised
from safdr import (
    Annealing,
    AnnealingSelector,
    ProxyDisplay,
    SelectionReport,
    _core,
)
from safdr._engine.fits.fits import (
    fit_contenders,
    forget_after_separation,
    from_core,
    in_turn,
)
from safdr._engine.fits.logistic import LogisticFitter
from safdr._engine.fits.multinomial import MultinomialFitter

# Columns 0 and 1 separate the classes together, columns 2 and 3 as well.
SUBSETS = np.array([[4, 5], [0, 4], [5, 6], [0, 1], [2, 3], [4, 5], [0, 1], [2, 6]])
ENDED = 3
AFTER = [4, 7]


def separable(n_classes, n_rows=120):
    """Rows of classes that two pairs of columns separate, and no single column."""
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(n_rows, 7))
    codes = np.arange(n_rows) % n_classes
    for first in (0, 2):
        X[:, first + 1] = codes - X[:, first] + 0.1 * rng.uniform(-1, 1, n_rows)
    return X, codes


def data_of(n_classes):
    X, codes = separable(n_classes)
    kind = LogisticFitter if n_classes == 2 else MultinomialFitter
    return kind(X, codes, None, criterion_of(X, codes, n_classes))


def some_fits(losses):
    n = len(losses)
    flags = np.ones(n, dtype=bool)
    return from_core(
        np.ones((n, 3)), np.array(losses), flags, flags.copy(), np.ones(n), np.full(n, 7)
    )


def test_no_part_after_the_end_is_asked_for():
    def parts():
        yield some_fits([0.5, 0.2])
        yield some_fits([0.3, 0.0, 0.1])
        raise AssertionError("somebody has won")

    fits = in_turn(parts(), 8, best_only=True)
    np.testing.assert_array_equal(fits.losses, [0.5, 0.2, 0.3, 0.0, *[np.nan] * 4])
    assert np.isnan(fits.coefficients).any(axis=1).tolist() == [False] * 4 + [True] * 4
    assert not fits.separated[4:].any()
    assert fits.n_iter.tolist() == [7] * 4 + [0] * 4


def test_without_an_end_nothing_is_lost():
    fits = some_fits([0.5, 0.2])
    forget_after_separation(fits)
    fits = in_turn([fits, some_fits([0.0, 0.4])], 4, best_only=False)
    assert fits.losses.tolist() == [0.5, 0.2, 0.0, 0.4]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_the_first_complete_separation_wins(n_classes, n_threads):
    data = data_of(n_classes)
    every = data.fit(SUBSETS)
    assert (every.losses == 0).tolist() == [False] * 3 + [True] * 2 + [False, True, False]
    fits = data.fit(SUBSETS, best_only=True, n_threads=n_threads)
    known = np.setdiff1d(np.arange(len(SUBSETS)), AFTER)
    assert fits.losses[ENDED] == 0
    assert np.isfinite(fits.coefficients[known]).all()
    assert fits.separated[ENDED]
    np.testing.assert_allclose(fits.losses[known], every.losses[known], rtol=0.1)
    assert np.isnan(fits.losses[AFTER]).all()
    assert np.isnan(fits.coefficients[AFTER]).all()
    assert np.isnan(fits.intercepts[AFTER]).all()
    assert not fits.separated[AFTER].any()
    assert not fits.n_iter[AFTER].any()
    one = data.fit(SUBSETS, best_only=True)
    for name in ("coefficients", "intercepts", "losses", "separated", "n_iter"):
        np.testing.assert_array_equal(getattr(one, name), getattr(fits, name))


def assert_as_documented(fits, n_known):
    """Numbers for the first ones, nothing for those after them, and no flag or count but real ones.

    Under sanitizers new arrays are full of what no fit writes: it must not come out.
    """
    known = np.arange(len(fits.n_iter)) < n_known
    for some in (fits.coefficients, fits.intercepts, fits.losses):
        assert np.isfinite(some[known]).all()
        assert np.isnan(some[~known]).all()
    for flags in (fits.separated, fits.converged):
        assert flags.dtype == bool
        # Of a byte that is neither, NumPy would say that it is true.
        assert flags.view(np.uint8).max(initial=0) <= 1
        assert not flags[~known].any()
    assert not (fits.separated & fits.converged).any()
    assert ((fits.n_iter >= 0) & (fits.n_iter < 10_000)).all()
    assert not fits.n_iter[~known].any()


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("n_threads", [1, 2, 3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("end", [0, 1, 2, 7, 29, None])
def test_nothing_comes_out_that_no_fit_has_written(n_classes, n_threads, weighted, end):
    X, codes = separable(n_classes)
    rng = np.random.default_rng(0)
    weight = rng.uniform(0.1, 3.0, len(X)) if weighted else None
    kind = LogisticFitter if n_classes == 2 else MultinomialFitter
    data = kind(X, codes, weight, criterion_of(X, codes, n_classes, weight))
    pairs = itertools.permutations(range(7), 2)
    subsets = np.array([pair for pair in pairs if {*pair} not in ({0, 1}, {2, 3})][:30])
    if end is not None:
        subsets[end] = 0, 1
    n_known = 30 if end is None else end + 1
    for best_only, n_of_them in ((True, n_known), (False, 30)):
        fits = data.fit(subsets, best_only=best_only, n_threads=n_threads)
        assert_as_documented(fits, n_of_them)
        completely = np.flatnonzero(fits.losses == 0)
        assert completely.tolist() == ([] if end is None else [end])


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("most", [0, 3 * 120])
def test_the_end_of_one_portion_is_the_end_of_all(monkeypatch, n_classes, most):
    data = data_of(n_classes)
    together = data.fit(SUBSETS, best_only=True)
    monkeypatch.setattr(safdr._engine.fits.columns, "NUMBERS_TO_KEEP", 0)
    monkeypatch.setattr(safdr._engine.fits.columns, "NUMBERS_AT_ONCE", most)
    apart = data_of(n_classes).fit(SUBSETS, best_only=True)
    np.testing.assert_array_equal(np.isnan(apart.losses), np.isnan(together.losses))
    assert np.nanargmin(apart.losses) == ENDED


@pytest.mark.parametrize(("n_classes", "name"), [(2, "fit_logistic"), (3, "fit_multinomial")])
def test_where_the_preferred_separates_it_is_all_that_is_fitted(monkeypatch, n_classes, name):
    data, core, fitted = data_of(n_classes), getattr(_core, name), []

    def spy(*args, **how):
        fits = core(*args, **how)
        fitted.append(len(fits[0]))
        return fits

    monkeypatch.setattr(_core, name, spy)
    monkeypatch.setattr(_core, "local_model", None)
    fits = data.fit(SUBSETS[ENDED:], best_only=True)
    assert fitted == [1]
    assert np.isfinite(fits.losses).tolist() == [True, False, False, True, False]


def test_what_cannot_reach_the_preferred_is_given_up_early(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 12))
    y = (X[:, :6] @ [3.0, -3.0, 2.0, 2.0, -2.0, 2.0] + rng.logistic(size=400) > 0).astype(np.int64)
    data = LogisticFitter(X, y, None, criterion_of(X, y, 2))
    others = [np.sort(rng.permutation(12)[:6]) for _ in range(30)]
    subsets = np.array([np.arange(6), *others])
    exact = data.fit(subsets).losses
    early = data.fit(subsets, best_only=True)
    core = _core.fit_logistic
    monkeypatch.setattr(
        _core, "fit_logistic", lambda *args, **how: core(*args, **{**how, "incumbent": np.inf})
    )
    late = data.fit(subsets, best_only=True)
    assert early.n_iter[1:].sum() < 0.8 * late.n_iter[1:].sum()
    for best_only in (early, late):
        assert np.argmin(best_only.losses) == 0
        assert best_only.losses[0] == pytest.approx(exact[0], rel=1e-9)
    off = np.abs(early.losses - exact)
    assert (off <= 0.01 * (exact - exact.min()) + 1e-9).all()


def test_the_winner_is_always_one_that_was_finished():
    """Single precision flatters fits of a rare class by more than they differ."""
    rng = np.random.default_rng(0)
    n, n_rare = 50_000, 10
    for _ in range(6):
        y = np.zeros(n, dtype=np.int64)
        y[rng.permutation(n)[:n_rare]] = 1
        hidden = rng.normal(size=n) + y
        X = np.c_[rng.normal(size=n), hidden[:, None] + 3e-3 * rng.normal(size=(n, 12))]
        data = LogisticFitter(X, y, None, criterion_of(X, y, 2))
        subsets = np.array([[0, i] for i in range(1, 13)])
        picked = data.fit(subsets, best_only=True)
        best = np.argmin(picked.losses)
        assert picked.converged[best]
        exact = data.fit(subsets).losses
        assert exact[best] == pytest.approx(exact.min(), rel=1e-12)


@pytest.mark.parametrize("n_off", [0, 1, 4])
def test_contenders_go_on_until_the_best_is_one_that_was_finished(n_off):
    """Estimates that were too low by the same amount give way to each other one by one."""
    true = np.array([0.5, 0.51, 0.52, 0.53, 0.9])
    rough = true.copy()
    rough[:n_off] -= 0.015
    zeros = np.zeros(5)
    theta = np.tile(true[:, None], 2)
    fits = from_core(theta, rough, zeros > 0, zeros > 0, zeros + 1e-4, zeros.astype(int))
    asked = []

    def finish(some, start):
        np.testing.assert_array_equal(start, theta[some])
        asked.append(some.tolist())
        n = len(some)
        done = np.ones(n, dtype=bool)
        steps = np.ones(n, dtype=int)
        return from_core(theta[some], true[some], ~done, done, np.zeros(n), steps)

    fit_contenders(fits, finish)
    assert np.argmin(fits.losses) == 0
    assert fits.converged[0]
    assert not fits.converged[4]
    assert asked == {0: [[0]], 1: [[0]], 4: [[0], [1]]}[n_off]
    finished = {i for some in asked for i in some}
    assert fits.n_iter.tolist() == [int(i in finished) for i in range(5)]


@pytest.fixture(scope="module")
def separated_selector():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 16))
    y = (X @ rng.normal(size=16) > 0).astype(int)
    with pytest.warns(UserWarning, match="separate"):
        selector = AnnealingSelector.as_published(
            12, annealing=Annealing(n_replicas=30), random_state=0
        ).fit(X, y)
    return selector, X, y


def test_the_winner_is_the_preferred_one_of_those_that_separate(separated_selector):
    selector, X, y = separated_selector
    result = selector.result_
    every = unpenalised(X, y, result.subsets).losses
    unknown = np.isnan(result.losses)
    assert unknown.any()
    assert (every == 0).sum() > 1
    assert result.best == np.lexsort((-result.criterion_values, every))[0]
    assert result.criterion_values[unknown].max() <= result.criterion_value
    priced = AnnealingSelector.as_published(
        12, annealing=Annealing(n_replicas=30), random_state=0, feature_cost=np.ones(16)
    )
    with pytest.warns(UserWarning, match="separate"):
        assert np.isfinite(priced.fit(X, y).result_.losses).all()


def test_readers_can_live_with_what_was_not_fitted(separated_selector):
    selector, X, y = separated_selector
    alternatives = SelectionReport.from_estimator(selector, X, y).to_dict()["alternatives"]
    assert alternatives[0]["cross_entropy"] == 0
    assert None in [each["cross_entropy"] for each in alternatives]
    display = ProxyDisplay.from_estimator(selector, X, y, n_random=30, random_state=0)
    every = unpenalised(X, y, selector.result_.subsets).losses
    np.testing.assert_allclose(display.annealed_losses, every, atol=1e-6)
    display.plot()
