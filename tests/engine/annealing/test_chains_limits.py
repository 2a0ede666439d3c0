"""Compiled chains with features in conflict and with costs."""

import itertools
import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chisquare

import reference
from safdr._engine.annealing.swap_chains import SwapChains
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.criterion import Criterion, stack_criteria

LEVEL = 1e-4
N = 8


def criterion_of(seed, n_features=N, n_columns=1):
    rng = np.random.default_rng([seed, n_features])
    A = np.corrcoef(rng.normal(size=(2 * n_features, n_features)).T)
    return Criterion(A, rng.normal(size=(n_features, n_columns)), np.ones(n_features), 0.0)


def limits(n_features=N, **wishes):
    return AllowedSubsets.make(n_features, **wishes)


def start_of(constraints, size, n_replicas, seed=0):
    selections = constraints.random(size, n_replicas, np.random.default_rng(seed))
    return np.array([constraints.columns_of(row) for row in selections])


def make_chains(criterion, constraints, size, n_replicas, n_proposals=100, seed=0, **options):
    return SwapChains(
        criterion,
        start_of(constraints, size, n_replicas),
        seed=np.random.SeedSequence(seed),
        n_proposals=n_proposals,
        allowed=constraints,
        **options,
    )


def allowed_subsets(constraints, size):
    """By brute force."""
    return [
        subset
        for subset in itertools.combinations(range(constraints.n_features), size)
        if constraints.allows(constraints.selection_of(subset))
    ]


def value(criterion, subset, cost=None):
    return reference.fdr(criterion.A, criterion.D, list(subset)) - (
        0 if cost is None else cost[list(subset)].sum()
    )


CONFLICTS = limits(at_most_one_of=[[0, 1, 2], [2, 3], [5, 6]])
EVERYTHING = limits(
    at_most_one_of=[[0, 1, 2], [2, 3], [5, 6]], always_include=[5], never_include=[7]
)


@pytest.mark.parametrize("constraints", [limits(), CONFLICTS, EVERYTHING])
@pytest.mark.parametrize("with_cost", [False, True])
@pytest.mark.parametrize("which", [0, None], ids=["step", "proposal"])
def test_visits_follow_boltzmann(constraints, with_cost, which):
    criterion = criterion_of(3)
    cost = np.random.default_rng(4).uniform(0, 2, size=N) if with_cost else None
    subsets = allowed_subsets(constraints, 3)
    values = np.array([value(criterion, subset, cost) for subset in subsets])
    betas = {scale: scale / values.std() for scale in (1.0, 1.4)}
    n_replicas = 4000
    chains = make_chains(criterion, constraints, 3, n_replicas, n_proposals=100, cost=cost)
    shape = (1, n_replicas)
    chains.sweep(np.full(shape, betas[1.0]), None if which is None else np.full(shape, which))
    ended = [tuple(row) for row in chains.subsets.tolist()]
    counts = np.array([ended.count(subset) for subset in subsets])
    assert counts.sum() == n_replicas
    p_values = {}
    for scale, beta in betas.items():
        weight = np.exp(beta * (values - values.max()))
        p_values[scale] = chisquare(counts, n_replicas * weight / weight.sum()).pvalue
    assert p_values[1.0] > LEVEL
    assert p_values[1.4] < LEVEL
    expected = [value(criterion, subset, cost) for subset in ended[:100]]
    np.testing.assert_allclose(chains.values[:100], expected, rtol=1e-9)


@pytest.mark.parametrize("with_cost", [False, True])
@pytest.mark.parametrize("n_columns", [1, 3])
def test_climbing_ends_where_no_allowed_swap_raises_the_value(with_cost, n_columns):
    criterion = criterion_of(1, 14, n_columns)
    constraints = limits(14, at_most_one_of=[range(5), [4, 5, 6], [8, 9]], always_include=[9])
    cost = np.random.default_rng(0).uniform(0, 3, size=14) if with_cost else None
    chains = make_chains(criterion, constraints, 5, 21, cost=cost)
    subsets, values = chains.climbed()
    assert (values >= chains.values - 1e-12).all()
    every = {other: value(criterion, other, cost) for other in allowed_subsets(constraints, 5)}
    for subset, reached in zip(subsets.tolist(), values, strict=True):
        assert constraints.allows(constraints.selection_of(subset))
        assert reached == pytest.approx(value(criterion, subset, cost), rel=1e-9)
        around = [every[other] for other in every if len(set(other) & set(subset)) == 4]
        assert max(around) <= reached + 1e-7


def run(criterion, size=4, n_replicas=20, **options):
    subsets = np.tile(np.arange(size), (n_replicas, 1))
    seed = np.random.SeedSequence(5)
    chains = SwapChains(criterion, subsets, seed=seed, n_proposals=60, **options)
    beta = np.repeat([[0.0], [0.5], [2.0], [8.0]], n_replicas, axis=1)
    values, acceptance = chains.sweep(beta)
    return values, acceptance, chains.subsets, chains.values, *chains.climbed()


@pytest.mark.parametrize("n_columns", [1, 2])
@pytest.mark.parametrize("n_batches", [1, 3])
@pytest.mark.parametrize("limit", ["cost", "conflicts", "both"])
def test_limits_that_limit_nothing_change_no_bit(limit, n_columns, n_batches):
    criterion = criterion_of(0, 30, n_columns)
    batches = stack_criteria([criterion_of(i, 30, n_columns) for i in range(n_batches)])
    options = {}
    if limit != "conflicts":
        options["cost"] = np.zeros(30)
    if limit != "cost":
        none = np.zeros((30, 30), dtype=bool)
        options["allowed"] = replace(AllowedSubsets.make(30), conflicts=none)
    plain = run(criterion, batches=batches)
    for a, b in zip(plain, run(criterion, batches=batches, **options), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("n_threads", [2, 5])
def test_the_number_of_threads_does_not_change_a_bit(n_threads):
    constraints = limits(40, at_most_one_of=[range(10), range(9, 20)])
    cost = np.linspace(0, 1, 40)
    ended = []
    for n in (1, n_threads):
        chains = make_chains(criterion_of(2, 40), constraints, 10, 60, 200, cost=cost, n_threads=n)
        chains.sweep(np.full((3, 60), 1.0))
        ended.append((chains.subsets, chains.values, *chains.climbed()))
    for a, b in zip(*ended, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_pickled_copy_goes_on_the_same():
    chains = make_chains(criterion_of(0), CONFLICTS, 3, 12, cost=np.linspace(0, 1, N))
    twin = pickle.loads(pickle.dumps(chains))
    beta = np.ones((2, 12))
    np.testing.assert_array_equal(chains.sweep(beta)[0], twin.sweep(beta)[0])


def in_conflict(conflicts):
    return {"allowed": replace(AllowedSubsets.make(N), conflicts=conflicts)}


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        (in_conflict(np.zeros((3, 3), dtype=bool)), "conflicts must be symmetric"),
        (in_conflict(np.triu(np.ones((N, N), dtype=bool), 1)), "conflicts must be symmetric"),
        (in_conflict(~np.eye(N, dtype=bool)), "no two features in conflict; row 0 does"),
        ({"cost": np.zeros(3)}, "cost must hold a finite number for each of 8"),
        ({"cost": np.full(N, np.nan)}, "cost must hold a finite number for each of 8"),
    ],
)
def test_limits_that_the_core_would_not_survive_are_refused(limit, message):
    with pytest.raises(ValueError, match=message):
        run(criterion_of(0), **limit)
