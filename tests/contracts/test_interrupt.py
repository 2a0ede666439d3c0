"""Long work asks several times whether to go on, and stops when an error says so."""

import threading
from functools import cache

import numpy as np
import pytest

from helpers import chains, engine


class StoppedError(Exception):
    """Raised by the question whether to go on."""


def asked_twice():
    """Return a question that raises when it is asked again, and the threads that asked."""
    asked = []

    def ask():
        asked.append(threading.current_thread())
        if len(asked) > 1:
            raise StoppedError

    return ask, asked


# Each of these would go on for more than ten seconds.


@cache
def _fitter(n_classes, n_rows):
    rng = np.random.default_rng(n_classes)
    X, codes = rng.normal(size=(n_rows, 40)), rng.integers(0, n_classes, n_rows)
    subsets = np.array([np.sort(rng.permutation(40)[:20]) for _ in range(8000)])
    return engine.fitter(X, codes, None, np.inf), subsets


def fits(n_threads, n_classes=2, best_only=False):
    fitter, subsets = _fitter(n_classes, 40_000 if n_classes == 2 else 10_000)
    return lambda: fitter.fit(subsets, best_only=best_only, n_threads=n_threads)


def best_fits(n_threads):
    return fits(n_threads, best_only=True)


def softmax_fits(n_threads):
    return fits(n_threads, 5)


def best_softmax_fits(n_threads):
    return fits(n_threads, 5, best_only=True)


@cache
def _criterion(n_features):
    rng = np.random.default_rng(n_features)
    A = np.corrcoef(rng.normal(size=(2 * n_features, n_features)).T)
    return engine.quadratic_criterion(A, rng.normal(size=(n_features, 1)))


def _swaps(n_threads, n_proposals, n_replicas=100):
    rng = np.random.default_rng(0)
    starts = [tuple(rng.permutation(600)[:150]) for _ in range(n_replicas)]
    return chains.compiled(_criterion(600), starts, 150, 0, n_proposals, n_threads=n_threads)


def one_sweep(n_threads):
    replicas = _swaps(n_threads, 10_000_000)
    return lambda: replicas.sweep(np.ones((1, 100)), np.zeros((1, 100), dtype=np.int64))


def many_sweeps(n_threads):
    replicas = _swaps(n_threads, 50)
    return lambda: replicas.sweep(np.ones((5000, 100)), np.zeros((5000, 100), dtype=np.int64))


def local_search(n_threads):
    replicas = _swaps(n_threads, 10_000, 400)
    return lambda: chains.local_search(replicas)


def one_sweep_of_groups(n_threads):
    groups = np.arange(600).reshape(200, 3).tolist()
    allowed = engine.constraints(600, groups=groups)
    starts = engine.random_allowed(allowed, 60, 100, np.random.default_rng(0))
    how = {"allowed": allowed, "n_threads": n_threads}
    replicas = chains.compiled(_criterion(600), starts, 60, 0, 10_000_000, **how)
    return lambda: replicas.sweep(np.ones((1, 100)), np.zeros((1, 100), dtype=np.int64))


@cache
def _hard_prover():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(160, 80)) + 2 * rng.normal(size=(160, 1))
    criterion = engine.quadratic_criterion(np.corrcoef(rows.T), rng.normal(size=(80, 1)), 1e-6)
    prover = engine.prover(criterion)
    prover.prove(28, seconds=0.0)
    return prover


def proof(n_threads):
    return lambda: _hard_prover().prove(28, seconds=600.0, n_threads=n_threads)


LONG = [
    fits,
    best_fits,
    softmax_fits,
    best_softmax_fits,
    one_sweep,
    many_sweeps,
    local_search,
    one_sweep_of_groups,
    proof,
]


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("make", LONG, ids=lambda make: make.__name__)
def test_long_work_asks_in_its_own_thread_and_stops(make, n_threads):
    work, (ask, asked) = make(n_threads), asked_twice()
    with pytest.raises(StoppedError), engine.asking(ask):
        work()
    assert asked == [threading.main_thread()] * 2


def test_a_search_stops():
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(100, 10)), np.arange(100) % 2
    ask, asked = asked_twice()
    with pytest.raises(StoppedError), engine.asking(ask):
        engine.search(X, codes).run(3)
    assert len(asked) == 2


@pytest.mark.parametrize("n_classes", [2, 5])
def test_stopped_fits_leave_no_trace(n_classes):
    fitter, subsets = _fitter(n_classes, 40_000 if n_classes == 2 else 10_000)
    before = fitter.fit(subsets[:2])
    ask, _ = asked_twice()
    with pytest.raises(StoppedError), engine.asking(ask):
        fitter.fit(subsets[::-1], n_threads=2)
    np.testing.assert_array_equal(fitter.fit(subsets[:2]).coefficients, before.coefficients)


def test_nothing_asks_once_the_context_has_ended():
    ask, asked = asked_twice()
    with engine.asking(ask):
        pass
    X, codes = np.random.default_rng(0).normal(size=(60, 5)), np.arange(60) % 2
    engine.search(X, codes, n_replicas=4, max_steps=5).run(2)
    assert not asked
