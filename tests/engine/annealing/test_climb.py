"""Replicas that go uphill on all rows."""

import itertools

import numpy as np
import pytest

from safdr._engine.annealing.swap_chains import SwapChains, random_subsets, subset_values
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.criterion import Criterion, fisher_criterion
from safdr._engine.moments import within_moments


def criterion_of(rng, n_features=12, n_columns=1):
    rows = rng.normal(size=(100, n_features)) @ rng.normal(size=(n_features, n_features))
    A = np.corrcoef(rows.T)
    return Criterion(A, rng.normal(size=(n_features, n_columns)), np.ones(n_features), 0.0)


def chains_on(criterion, size, n_replicas, rng, **options):
    start = random_subsets(criterion, size, n_replicas, rng, options.get("allowed"))
    seed = np.random.SeedSequence(0)
    return SwapChains(criterion, start, seed=seed, n_proposals=10, **options)


def neighbours(subset, n_features):
    """Each subset that differs by one swap."""
    for position, j in itertools.product(range(len(subset)), range(n_features)):
        if j not in subset:
            yield np.sort(np.r_[np.delete(subset, position), j])


@pytest.mark.parametrize("n_columns", [1, 3])
@pytest.mark.parametrize("size", [1, 2, 5, 11])
def test_no_swap_raises_the_value_any_more(rng, size, n_columns):
    criterion = criterion_of(rng, n_columns=n_columns)
    chains = chains_on(criterion, size, 11, rng)
    subsets, values = chains.climbed()
    np.testing.assert_allclose(values, subset_values(criterion, subsets), rtol=1e-9)
    for subset, value in zip(subsets, values, strict=True):
        around = subset_values(criterion, np.array(list(neighbours(subset, 12))))
        assert around.max() <= value * (1 + 1e-8)


def test_the_value_never_falls_and_the_replicas_stay(rng):
    chains = chains_on(criterion_of(rng), 4, 20, rng)
    before, values = chains.subsets, chains.values
    assert (chains.climbed()[1] >= values).all()
    np.testing.assert_array_equal(chains.subsets, before)


def test_included_stay_in_and_excluded_stay_out(rng):
    criterion = criterion_of(rng)
    allowed = AllowedSubsets.make(criterion.n_features, always_include=[3, 7], never_include=[0, 1])
    chains = chains_on(criterion, 5, 9, rng, allowed=allowed)
    subsets, _ = chains.climbed()
    assert all({3, 7} <= set(subset) and not {0, 1} & set(subset) for subset in subsets.tolist())


def test_copies_of_features_do_not_send_it_round_in_circles(rng):
    X = rng.normal(size=(80, 6))
    y = (X[:, 0] + rng.normal(size=80) > 0).astype(np.int64)
    X = np.hstack([X, X + 1e-9 * rng.normal(size=X.shape), X])
    criterion = fisher_criterion(within_moments(X, y, 2), ridge=1e-6)
    _, values = chains_on(criterion, 5, 16, rng).climbed()
    # One swap leads from any five of the six to any other five.
    best = max(criterion.value(five) for five in itertools.combinations(range(6), 5))
    np.testing.assert_allclose(values, best, rtol=1e-5)


def test_all_features_can_go_nowhere(rng):
    chains = chains_on(criterion_of(rng), 12, 3, rng)
    np.testing.assert_array_equal(chains.climbed()[0], chains.subsets)


@pytest.mark.parametrize("n_threads", [2, 5])
def test_the_number_of_threads_does_not_change_a_bit(rng, n_threads):
    criterion = criterion_of(rng, 200)
    alone, together = (
        chains_on(criterion, 10, 30, np.random.default_rng(0), n_threads=n).climbed()
        for n in (1, n_threads)
    )
    np.testing.assert_array_equal(alone[0], together[0])
    np.testing.assert_array_equal(alone[1], together[1])
