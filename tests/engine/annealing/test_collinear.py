"""Copies and other linear combinations: no chain goes there, nor starts there if it can help it."""

import numpy as np
import pytest

from chain_cases import (
    batch_of_each,
    fisher,
    make_chains,
    own_variance,
    random_criterion,
    sweep_once,
)
from safdr import _core
from safdr._engine.annealing.swap_chains import _with_collinear, random_subsets
from safdr._engine.criterion import Criterion, fisher_criterion, stack_criteria
from safdr._engine.moments import within_moments


def with_copies(rng, strength=1.0):
    """Six features, the first of them telling, and an exact copy of each, rescaled."""
    y = np.arange(100) % 2
    X = rng.normal(size=(100, 6)) + strength * y[:, None] * [2.0, 1, 0, 0, 0, 0]
    return np.column_stack([X, 5.0 - 3.0 * X]), y


def holds_a_pair(subsets):
    return np.any([len(set(s % 6)) < len(s) for s in subsets])


# ---- The gain of a swap -------------------------------------------------------------------------


def test_a_copy_of_a_member_has_gain_minus_infinity(rng):
    criterion = fisher(*with_copies(rng))
    position_of_other, copy_of_first = np.array([1]), np.array([6])
    gains, _ = _core.walk(
        criterion.A,
        criterion.D,
        np.array([0, 1], dtype=np.int32),
        position_of_other,
        copy_of_first,
        collinear_tol=criterion.collinear_tol,
    )
    assert gains[0] == -np.inf


def test_a_member_may_be_swapped_for_its_copy(rng):
    criterion = fisher(*with_copies(rng))
    gains, _ = _core.walk(
        criterion.A,
        criterion.D,
        np.array([0, 1], dtype=np.int32),
        np.array([0]),
        np.array([6]),
        collinear_tol=criterion.collinear_tol,
    )
    assert gains[0] == pytest.approx(0.0, abs=1e-9)


# ---- Where the chains go ------------------------------------------------------------------------


@pytest.mark.parametrize("strength", [0.0, 0.5, 2.0, 10.0])
@pytest.mark.parametrize("ridge", [1e-12, 1e-6])
@pytest.mark.parametrize("beta", [0.0, 10.0])
def test_copies_never_enter_together(rng, strength, ridge, beta):
    criterion = fisher(*with_copies(rng, strength), ridge)
    chains = make_chains(criterion, 4)
    for _ in range(20):
        sweep_once(chains, np.full(20, beta))
        assert not holds_a_pair(chains.subsets)


@pytest.mark.parametrize("which", [0, None], ids=["step", "proposal"])
def test_copies_never_enter_together_on_batches(rng, which):
    X, y = with_copies(rng)
    whole = fisher(X, y)
    batches = [
        fisher_criterion(within_moments(X[i], y[i], 2), ridge=1e-6, scale=whole.scale)
        for i in (rng.permutation(len(X))[:50], rng.permutation(len(X))[:50])
    ]
    chains = make_chains(whole, 4, batches=stack_criteria(batches))
    for _ in range(20):
        sweep_once(chains, np.zeros(20), batch_of_each(which, 20))
        assert not holds_a_pair(chains.subsets)


def test_a_sum_of_members_never_enters(rng):
    X = rng.normal(size=(80, 5))
    criterion = fisher(np.column_stack([X, X[:, :3].sum(axis=1)]), np.arange(80) % 2)
    chains = make_chains(criterion, 4)
    for _ in range(20):
        sweep_once(chains, np.zeros(20))
        assert not any({0, 1, 2, 5} == set(subset.tolist()) for subset in chains.subsets)


# ---- Where they start ---------------------------------------------------------------------------


@pytest.mark.parametrize("strength", [0.0, 0.5, 2.0, 10.0])
@pytest.mark.parametrize("ridge", [1e-12, 1e-6])
def test_random_subsets_hold_no_copies_while_there_is_a_choice(rng, strength, ridge):
    criterion = fisher(*with_copies(rng, strength), ridge)
    assert not holds_a_pair(random_subsets(criterion, 6, 300, rng))


@pytest.mark.parametrize("size", [1, 2, 3, 6, 7, 11])
def test_the_core_finds_collinear_members_as_cholesky_does(rng, size):
    A = random_criterion(rng, 14, condition=1e4).A
    # Three features that are next to copies of others: one clearly, one just so, one not quite.
    for double, original, own in ((11, 0, 1e-9), (12, 1, 0.9e-5), (13, 2, 1.2e-5)):
        share = np.sqrt(1 - own)
        A[double] = A[:, double] = share * A[original]
        A[double, double] = 1.0
    A[11, 12] = A[12, 11] = A[0, 1]
    A[11, 13] = A[13, 11] = A[0, 2]
    A[12, 13] = A[13, 12] = A[1, 2]
    criterion = Criterion(A, rng.normal(size=(14, 1)), np.ones(14), 0.0)
    subsets = np.array([rng.permutation(14)[:size] for _ in range(61)])
    found = _with_collinear(criterion, subsets)
    expected = [
        any(own_variance(A, subset[:i], subset[i]) <= criterion.collinear_tol for i in range(size))
        for subset in subsets
    ]
    np.testing.assert_array_equal(found, np.flatnonzero(expected))
    assert size < 3 or 0 < len(found) < 61


def test_random_subsets_take_copies_where_nothing_else_is_left(rng):
    subsets = random_subsets(fisher(*with_copies(rng)), 8, 50, rng)
    assert (np.diff(subsets, axis=1) > 0).all()
    assert all(len(set((subset % 6).tolist())) == 6 for subset in subsets)
