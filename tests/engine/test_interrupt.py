"""Work in Python and in the compiled core stops once nobody waits for it."""

import threading
import time
from functools import cache

import numpy as np
import pytest

import safdr._engine.annealing.loop
from fitting import criterion_of
from safdr._engine.annealing.group_chains import GroupChains
from safdr._engine.annealing.loop import AnnealingSettings
from safdr._engine.annealing.swap_chains import SwapChains
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.criterion import Criterion
from safdr._engine.fits.fitter import LogisticFitter, MultinomialFitter
from safdr._engine.interrupt import asking, look_up
from searching import class_search

SEED = np.random.SeedSequence(0)


class GivenUpError(Exception):
    """Nobody waits any more."""


def patient_for(n_questions):
    """What raises when it is asked once more than so many times; and how often it was."""
    asked = []

    def ask():
        asked.append(threading.current_thread())
        if len(asked) > n_questions:
            raise GivenUpError

    return ask, asked


# ---- In Python ----------------------------------------------------------------------------------


def test_nobody_is_asked_where_nobody_waits_any_more():
    asked = []
    with asking(lambda: asked.append(1)):
        pass
    look_up()
    assert not asked


def test_work_within_work_asks_for_both_and_then_for_the_outer_alone():
    outer, inner = [], []
    with asking(lambda: outer.append(1)):
        with asking(lambda: inner.append(1)):
            look_up()
        assert (len(outer), len(inner)) == (1, 1)
        look_up()
    look_up()
    assert (len(outer), len(inner)) == (2, 1)


def test_work_within_work_ends_where_nobody_waits_for_the_outer():
    outer, _ = patient_for(0)
    with pytest.raises(GivenUpError), asking(outer), asking(lambda: None):
        look_up()


def test_what_is_raised_ends_the_asking():
    ask, asked = patient_for(0)
    with pytest.raises(GivenUpError), asking(ask):
        look_up()
    look_up()
    assert len(asked) == 1


def test_other_threads_are_not_asked():
    ask, asked = patient_for(0)
    with asking(ask):
        other = threading.Thread(target=look_up)
        other.start()
        other.join()
    assert not asked


# ---- In the core --------------------------------------------------------------------------------

# Each of these would go on for more than ten seconds, some for hours.


@cache
def _rows(n_classes, n_rows):
    rng = np.random.default_rng(n_classes)
    X, codes = rng.normal(size=(n_rows, 40)), rng.integers(0, n_classes, n_rows)
    subsets = np.array([np.sort(rng.permutation(40)[:20]) for _ in range(20_000)])
    return X, codes, subsets


@cache
def _criterion(n_features):
    rng = np.random.default_rng(n_features)
    A = np.corrcoef(rng.normal(size=(2 * n_features, n_features)).T)
    return Criterion(A, rng.normal(size=(n_features, 1)), np.ones(n_features), 0.0)


def logistic_fits(n_threads, best_only=False):
    X, codes, subsets = _rows(2, 40_000)
    data = LogisticFitter(X, codes, None, criterion_of(X, codes, 2))
    return lambda: data.fit(subsets, best_only=best_only, n_threads=n_threads)


def best_logistic_fits(n_threads):
    return logistic_fits(n_threads, best_only=True)


def softmax_fits(n_threads, best_only=False):
    X, codes, subsets = _rows(5, 10_000)
    data = MultinomialFitter(X, codes, None, criterion_of(X, codes, 5))
    return lambda: data.fit(subsets[:4000], best_only=best_only, n_threads=n_threads)


def best_softmax_fits(n_threads):
    return softmax_fits(n_threads, best_only=True)


def _swap_chains(n_threads, n_proposals, n_replicas=100):
    rng = np.random.default_rng(0)
    start = np.array([rng.permutation(800)[:200] for _ in range(n_replicas)])
    return SwapChains(
        _criterion(800), start, seed=SEED, n_proposals=n_proposals, n_threads=n_threads
    )


def one_sweep(n_threads):
    chains = _swap_chains(n_threads, n_proposals=10_000_000)
    return lambda: chains.sweep(np.ones((1, 100)))


def many_sweeps(n_threads):
    chains = _swap_chains(n_threads, n_proposals=50)
    return lambda: chains.sweep(np.ones((5_000, 100)))


def climbing(n_threads):
    return _swap_chains(n_threads, n_proposals=10_000, n_replicas=400).climbed


def _unit_chains(n_threads, n_proposals):
    constraints = AllowedSubsets.make(600, groups=np.arange(600).reshape(200, 3).tolist())
    return GroupChains(
        _criterion(600),
        constraints.random(80, 100, np.random.default_rng(0)),
        constraints=constraints,
        size=80,
        seed=SEED,
        n_proposals=n_proposals,
        n_threads=n_threads,
    )


def one_sweep_of_groups(n_threads):
    chains = _unit_chains(n_threads, n_proposals=10_000_000)
    return lambda: chains.sweep(np.ones((1, 100)))


def many_sweeps_of_groups(n_threads):
    chains = _unit_chains(n_threads, n_proposals=10)
    return lambda: chains.sweep(np.ones((5_000, 100)))


def climbing_groups(n_threads):
    return _unit_chains(n_threads, n_proposals=10_000).climbed


LONG = [
    logistic_fits,
    best_logistic_fits,
    softmax_fits,
    best_softmax_fits,
    one_sweep,
    many_sweeps,
    climbing,
    one_sweep_of_groups,
    many_sweeps_of_groups,
    climbing_groups,
]


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("make", LONG, ids=lambda make: make.__name__)
def test_the_core_asks_several_times_a_second_and_stops_when_told_to(make, n_threads):
    work = make(n_threads)
    ask, asked = patient_for(1)
    start = time.monotonic()
    with pytest.raises(GivenUpError), asking(ask):
        work()
    assert time.monotonic() - start < 5
    assert asked == [threading.main_thread()] * 2


@pytest.mark.parametrize(
    ("kind", "n_rows"), [(LogisticFitter, 150_000), (MultinomialFitter, 20_000)]
)
def test_a_single_fit_asks_too(kind, n_rows):
    n_classes = 2 if kind is LogisticFitter else 5
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 120))
    # Nearly separated, which takes many steps.
    codes = np.argmax(X[:, :n_classes] + 0.05 * rng.normal(size=(n_rows, n_classes)), axis=1)
    data = kind(X, codes, None, criterion_of(X, codes, n_classes))
    ask, asked = patient_for(0)
    with pytest.raises(GivenUpError), asking(ask):
        data.fit(np.arange(120)[None])
    assert len(asked) == 1


@pytest.mark.parametrize("make", [logistic_fits, one_sweep_of_groups])
def test_any_thread_of_python_may_give_up(make):
    work, (ask, asked), raised = make(2), patient_for(0), []

    def give_up():
        with pytest.raises(GivenUpError) as caught, asking(ask):
            work()
        raised.append(caught.value)

    thread = threading.Thread(target=give_up)
    thread.start()
    thread.join()
    assert len(raised) == 1
    assert asked == [thread]


@pytest.mark.parametrize("kind", [LogisticFitter, MultinomialFitter])
def test_what_was_half_done_leaves_no_trace(kind):
    n_classes = 2 if kind is LogisticFitter else 5
    X, codes, subsets = _rows(n_classes, 20_000)
    moments = criterion_of(X, codes, n_classes)
    data, (ask, _) = kind(X, codes, None, moments), patient_for(0)
    with pytest.raises(GivenUpError), asking(ask):
        data.fit(subsets, n_threads=2)
    again, anew = (each.fit(subsets[:3]) for each in (data, kind(X, codes, None, moments)))
    np.testing.assert_array_equal(again.coefficients, anew.coefficients)


# ---- A search -----------------------------------------------------------------------------------


def test_a_search_asks_between_the_steps():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 10)), np.arange(100) % 2
    search = class_search(X, y, settings=AnnealingSettings(n_replicas=5), seed=0)
    ask, _ = patient_for(2)
    with pytest.raises(GivenUpError), asking(ask):
        search.run(3)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_a_search_stops_in_the_midst_of_a_step(monkeypatch, n_threads):
    monkeypatch.setattr(safdr._engine.annealing.loop, "look_up", lambda: None)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 600)), np.arange(300) % 2
    search = class_search(X, y, settings=AnnealingSettings(sweeps=1000.0), seed=0)
    ask, _ = patient_for(0)
    with pytest.raises(GivenUpError), asking(ask):
        search.run(200, n_threads=n_threads)
