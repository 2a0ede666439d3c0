"""Subsets told by what they leave out: the same values, moves and ends as told by their members."""

import itertools
import pickle

import numpy as np
import pytest

from plain_chains import N_FEATURES, small_criterion
from safdr import AnnealingRegressorSelector, AnnealingSelector
from safdr._engine.annealing.complement import Complement
from safdr._engine.annealing.complement_chains import ComplementChains
from safdr._engine.annealing.loop import AnnealingSettings
from safdr._engine.annealing.swap_chains import SwapChains, random_subsets, subset_values
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.criterion import Criterion, fisher_criterion, stack_criteria
from safdr._engine.moments import within_moments
from safdr.testing import all_subsets, check_chains
from searching import class_rows, class_search

ALL = np.arange(N_FEATURES)


def criterion_of(rng, n_features=12, n_columns=1):
    rows = rng.normal(size=(100, n_features)) @ rng.normal(size=(n_features, n_features))
    A = np.corrcoef(rows.T)
    return Criterion(A, rng.normal(size=(n_features, n_columns)), np.ones(n_features), 0.0)


def lost_by(turned, left_out):
    """What the criterion of the complement says, from scratch."""
    return turned.all_rows.value(np.searchsorted(turned.usable, left_out))


@pytest.mark.parametrize("n_columns", [1, 3])
@pytest.mark.parametrize("usable", [np.arange(12), np.array([0, 2, 3, 5, 8, 9, 11])])
def test_the_value_of_a_subset_is_that_of_all_less_what_is_lost(rng, n_columns, usable):
    criterion = criterion_of(rng, n_columns=n_columns)
    turned = Complement.make(criterion, None, usable)
    assert turned.whole == pytest.approx(criterion.value(usable), rel=1e-9)
    for size in range(1, len(usable)):
        subset = np.sort(rng.choice(usable, size, replace=False))
        lost = lost_by(turned, np.setdiff1d(usable, subset))
        assert turned.whole - lost == pytest.approx(criterion.value(subset), rel=1e-9)


def test_the_batches_are_turned_over_one_by_one(rng):
    criteria = [criterion_of(rng) for _ in range(3)]
    turned = Complement.make(criteria[0], stack_criteria(criteria), np.arange(12))
    Q, V = turned.batches
    for i, criterion in enumerate(criteria):
        alone = Complement.make(criterion, None, np.arange(12)).all_rows
        np.testing.assert_allclose(Q[i], alone.A, rtol=1e-12)
        np.testing.assert_allclose(V[i], alone.D, rtol=1e-12)
        np.testing.assert_allclose(np.diag(Q[i]), 1.0)


def nearly_a_copy(rng, distance):
    X = rng.normal(size=(300, 6))
    y = np.repeat([0, 1], 150)
    X[:, 5] = X[:, 0] + distance * rng.normal(size=300)
    X[y == 1, :2] += 1.0
    X[y == 1, 5] += 1.0
    return fisher_criterion(within_moments(X, y, 2), ridge=1e-6)


def test_a_feature_that_follows_from_the_others_rules_it_out(rng):
    apart, near = nearly_a_copy(rng, 0.1), nearly_a_copy(rng, 1e-3)
    everything = np.arange(6)
    assert Complement.make(apart, None, everything) is not None
    assert Complement.make(near, None, everything) is None
    assert Complement.make(near, None, everything[:5]) is not None
    assert Complement.make(apart, stack_criteria([apart, near]), everything) is None


def test_a_singular_matrix_rules_it_out():
    A = np.ones((4, 4))
    assert (
        Complement.make(Criterion(A, np.ones((4, 1)), np.ones(4), 0.0), None, np.arange(4)) is None
    )


# ---- Chains -------------------------------------------------------------------------------------


def complement_chains_on(criterion, usable=ALL, include=(), batches=None):
    turned = Complement.make(criterion, batches, usable)
    allowed = AllowedSubsets.make(criterion.n_features, always_include=include)

    def make(subsets, seed):
        return ComplementChains(
            criterion, turned, subsets, seed=seed, n_proposals=10, allowed=allowed
        )

    return make


@pytest.mark.parametrize("size", [5, N_FEATURES - 1])
def test_they_keep_the_contract_of_chains(size):
    criterion = small_criterion()
    states = all_subsets(N_FEATURES, size)
    check_chains(complement_chains_on(criterion), criterion.value, states, n_samples=20_000)


def test_they_keep_it_where_features_are_fixed():
    criterion = small_criterion()
    states = [s for s in all_subsets(N_FEATURES, 4).tolist() if 2 in s and 5 not in s]
    make = complement_chains_on(criterion, np.delete(ALL, 5), include=[2])
    check_chains(make, criterion.value, states)


def start(criterion, size, n=24, allowed=None):
    return random_subsets(criterion, size, n, np.random.default_rng(0), allowed)


@pytest.mark.parametrize("which", [0, None], ids=["step", "proposal"])
def test_sweeps_are_on_the_batches_and_values_of_all_rows(rng, which):
    """A batch whose criterion is the other way round would lead the replicas elsewhere."""
    here, there = criterion_of(rng), criterion_of(rng)
    turned = Complement.make(here, stack_criteria([there]), np.arange(12))
    chains = ComplementChains(
        here, turned, start(here, 8), seed=np.random.SeedSequence(0), n_proposals=60
    )
    beta = np.full((10, 24), 1e6)
    batch = None if which is None else np.zeros((10, 24), dtype=np.int64)
    values, _ = chains.sweep(beta, batch)
    np.testing.assert_allclose(values[-1], subset_values(here, chains.subsets), rtol=1e-9)
    np.testing.assert_allclose(chains.values, values[-1], rtol=1e-9)
    best = max(there.value(list(s)) for s in itertools.combinations(range(12), 8))
    reached = subset_values(there, chains.subsets)
    assert np.median(reached) > 0.95 * best


@pytest.mark.parametrize("n_columns", [1, 3])
def test_climbing_ends_where_no_swap_raises_the_value(rng, n_columns):
    criterion = criterion_of(rng, n_columns=n_columns)
    usable = np.delete(np.arange(12), 4)
    turned = Complement.make(criterion, None, usable)
    allowed = AllowedSubsets.make(12, always_include=[2], never_include=[4])
    begin = start(criterion, 7, allowed=allowed)
    chains = ComplementChains(
        criterion, turned, begin, seed=np.random.SeedSequence(0), n_proposals=5, allowed=allowed
    )
    subsets, values = chains.climbed()
    np.testing.assert_array_equal(chains.subsets, begin)
    np.testing.assert_allclose(values, subset_values(criterion, subsets), rtol=1e-12)
    assert (values >= chains.values).all()
    for subset, value in zip(subsets, values, strict=True):
        assert 2 in subset
        assert 4 not in subset
        others = np.setdiff1d(usable, subset)
        for leaving, entering in itertools.product(subset[subset != 2], others):
            neighbour = np.append(subset[subset != leaving], entering)
            assert criterion.value(neighbour) <= value * (1 + 1e-8)


def test_downhill_ends_where_no_swap_lowers_the_value(rng):
    criterion = criterion_of(rng)
    chains = SwapChains(
        criterion, start(criterion, 4), seed=np.random.SeedSequence(0), n_proposals=5
    )
    for subset, value in zip(*chains.climbed(downhill=True), strict=True):
        for leaving, entering in itertools.product(subset, np.setdiff1d(np.arange(12), subset)):
            neighbour = np.append(subset[subset != leaving], entering)
            assert criterion.value(neighbour) >= value * (1 - 1e-8)


def test_the_number_of_threads_does_not_change_a_bit(rng, monkeypatch):
    monkeypatch.setattr("safdr._engine.annealing.swap_chains.WORTH_A_THREAD", 0.0)
    criterion = criterion_of(rng)
    turned = Complement.make(criterion, None, np.arange(12))
    seen = []
    for n_threads in (1, 3):
        chains = ComplementChains(
            criterion,
            turned,
            start(criterion, 8),
            seed=np.random.SeedSequence(0),
            n_proposals=30,
            n_threads=n_threads,
        )
        seen.append(chains.sweep(np.full((3, 24), 2.0), np.zeros((3, 24), dtype=np.int64))[0])
    np.testing.assert_array_equal(*seen)


def test_drift_is_that_of_values_and_small(rng):
    criterion = criterion_of(rng, 40)
    turned = Complement.make(criterion, None, np.arange(40))
    chains = ComplementChains(
        criterion, turned, start(criterion, 25), seed=np.random.SeedSequence(0), n_proposals=500
    )
    assert chains.drift == 0.0
    chains.sweep(np.zeros((2, 24)), np.zeros((2, 24), dtype=np.int64))
    assert 0.0 < chains.drift < 1e-9
    assert pickle.loads(pickle.dumps(chains)).drift == chains.drift


# ---- In a search --------------------------------------------------------------------------------


def rows_of(rng, n=200, n_features=10):
    X = rng.normal(size=(n, n_features)) @ (
        np.eye(n_features) + 0.3 * rng.normal(size=(n_features, n_features))
    )
    y = (X[:, :4].sum(axis=1) + rng.normal(size=n) > 0).astype(np.int64)
    return X, y


def search_of(rows, **options):
    return class_search(*rows, settings=AnnealingSettings(n_replicas=10), seed=0, **options)


@pytest.mark.parametrize(
    ("size", "options", "turned"),
    [
        (5, {}, False),
        (6, {}, True),
        (10, {}, False),
        (6, {"cost": np.zeros(10)}, False),
        (6, {"constraints": AllowedSubsets.make(10, at_most_one_of=[[0, 1]])}, False),
        (5, {"constraints": AllowedSubsets.make(10, never_include=[9])}, True),
    ],
)
def test_it_serves_subsets_of_more_than_half_without_other_limits(rng, size, options, turned):
    search = search_of(rows_of(rng), **options)
    chains = search._chains(size, rng, np.random.SeedSequence(0), 1)
    assert isinstance(chains, ComplementChains if turned else SwapChains)


def test_sizes_share_it(rng):
    search = search_of(rows_of(rng))
    first, second = (search.prepare(size)._complement[2] for size in (6, 9))
    assert first is not None
    assert first is second


def test_the_best_of_all_is_found_either_way(rng):
    rows = rows_of(rng)
    criterion = class_rows(*rows).criterion(1e-6)
    for size in range(6, 10):
        result = search_of(rows).run(size)
        every = np.array(list(itertools.combinations(range(10), size)))
        best = subset_values(criterion, every).max()
        assert result.criterion_values.max() == pytest.approx(best, rel=1e-9)
        np.testing.assert_allclose(
            result.criterion_values, subset_values(criterion, result.subsets), rtol=1e-9
        )


def test_nothing_to_tell_the_classes_apart_is_no_error():
    """In a full factorial design the class of an exclusive or has equal means everywhere."""
    X = np.array(list(itertools.product([-1.0, 1.0], repeat=4)) * 4)
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    for size in (1, 3):
        result = AnnealingSelector(size, random_state=0).fit(X, y).result_
        np.testing.assert_allclose(result.criterion_values, 0.0, atol=1e-12)
        assert result.drift < 1e-6
    product = X[:, 0] * X[:, 1]
    assert AnnealingRegressorSelector(3, random_state=0).fit(X, product).result_.drift < 1e-6


def test_a_copied_column_never_joins_its_original(rng):
    """There the subsets are told by their members, and the rule about copies holds."""
    X = rng.normal(size=(300, 12))
    X[:, 7] = X[:, 0]
    y = (X[:, :3].sum(axis=1) + rng.normal(size=300) > 0).astype(int)
    result = AnnealingSelector(8, random_state=0).fit(X, y).result_
    assert not any({0, 7} <= set(subset) for subset in result.subsets.tolist())
