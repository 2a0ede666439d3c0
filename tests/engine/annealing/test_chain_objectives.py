"""What objective chains evaluate: a cache over any function, and the quadratic criterion."""

import itertools
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.stats import chisquare

import reference
from safdr._engine.annealing.cached_function import CachedFunction
from safdr._engine.annealing.function_chains import FunctionChains, finite_start
from safdr._engine.annealing.quadratic_function import QuadraticFunction
from safdr._engine.annealing.swap_chains import SwapChains
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.criterion import Criterion, fisher_criterion, stack_criteria
from safdr._engine.moments import within_moments

# ---- The cache ----------------------------------------------------------------------------------


class Counting:
    def __init__(self):
        self.asked = []

    def __call__(self, subset, which):
        self.asked.append((tuple(subset.tolist()), which))
        return float(sum(subset) + 100 * which)


SUBSETS = np.array([[0, 1, -1], [0, 1, 2], [0, 1, -1], [0, 1, -1]])
WHICH = np.array([-1, -1, -1, 3])


def test_each_subset_and_batch_is_computed_once_without_padding():
    objective = Counting()
    cached = CachedFunction(objective)
    for _ in range(3):
        np.testing.assert_array_equal(cached(SUBSETS, WHICH), [-99, -97, -99, 301])
    assert sorted(objective.asked) == [((0, 1), -1), ((0, 1), 3), ((0, 1, 2), -1)]


def test_new_ones_are_run_all_at_once_in_any_number_of_threads():
    rows = np.array(list(itertools.combinations(range(8), 3)))
    n_calls = 0

    def run(objective, tasks):
        nonlocal n_calls
        n_calls += 1
        with ThreadPoolExecutor(4) as pool:
            return pool.map(objective, *zip(*tasks, strict=True))

    which = np.full(len(rows), -1)
    alone = CachedFunction(Counting())(rows, which)
    cached = CachedFunction(Counting(), run)
    np.testing.assert_array_equal(cached(rows, which), alone)
    np.testing.assert_array_equal(cached(rows[::-1], which), alone[::-1])
    assert n_calls == 1


def test_the_oldest_values_are_forgotten_where_there_are_too_many():
    objective = Counting()
    cached = CachedFunction(objective, max_entries=2)
    for first in (0, 1, 2, 2, 1, 0):
        assert cached(np.array([[first, 9]]), np.array([-1]))[0] == first + 9 - 100
    assert [subset[0] for subset, _ in objective.asked] == [0, 1, 2, 0]


def test_more_new_ones_than_are_remembered_are_all_answered():
    cached = CachedFunction(Counting(), max_entries=1)
    np.testing.assert_array_equal(cached(SUBSETS, WHICH), [-99, -97, -99, 301])
    assert len(cached._known) == 1


# ---- The quadratic criterion --------------------------------------------------------------------


def criterion_of(seed, n_features=10, n_columns=1):
    rng = np.random.default_rng([seed, n_features])
    A = np.corrcoef(rng.normal(size=(3 * n_features, n_features)).T)
    return Criterion(A, rng.normal(size=(n_features, n_columns)), np.ones(n_features), 0.0)


def value(criterion, row):
    subset = [j for j in row if j >= 0]
    return reference.fdr(criterion.A, criterion.D, subset)


@pytest.mark.parametrize("n_columns", [1, 3])
@pytest.mark.parametrize("groups", [[], [[1, 7], [2, 8, 9]]])
def test_values_are_those_of_the_reference_on_each_batch(n_columns, groups, rng):
    criteria = [criterion_of(seed, n_columns=n_columns) for seed in range(4)]
    constraints = AllowedSubsets.make(10, groups=groups)
    evaluate = QuadraticFunction(criteria[0], stack_criteria(criteria[1:]), constraints=constraints)
    for size in (1, 3, 4):
        subsets = constraints.subsets_of(
            constraints.random(size, 40, rng), constraints.max_columns(size)
        )
        which = rng.integers(-1, 3, size=40)
        expected = [value(criteria[b + 1], row) for row, b in zip(subsets, which, strict=True)]
        np.testing.assert_allclose(evaluate(subsets, which), expected, rtol=1e-9)
        plain = QuadraticFunction(criteria[0], constraints=constraints)
        expected = [value(criteria[0], row) for row in subsets]
        np.testing.assert_allclose(plain(subsets, which), expected, rtol=1e-9)


def test_the_number_of_threads_does_not_change_a_bit(rng):
    subsets = np.sort(rng.permuted(np.tile(np.arange(40), (500, 1)), axis=1)[:, :12], axis=1)
    which = np.full(500, -1)
    alone, together = (
        QuadraticFunction(criterion_of(0, 40), n_threads=n)(subsets, which) for n in (1, 4)
    )
    np.testing.assert_array_equal(alone, together)


def fisher(X):
    return fisher_criterion(within_moments(X, np.arange(len(X)) % 2, 2), ridge=1e-6)


def refused(X, subsets, groups=()):
    constraints = AllowedSubsets.make(X.shape[1], groups=groups)
    evaluate = QuadraticFunction(fisher(X), constraints=constraints)
    width = max(map(len, subsets))
    padded = np.array([[*s, *[-1] * (width - len(s))] for s in subsets])
    which = np.full(len(subsets), -1)
    indifferent = QuadraticFunction(fisher(X), constraints=constraints, refuse_collinear=False)
    assert np.isfinite(indifferent(padded, which)).all()
    return (evaluate(padded, which) == -np.inf).tolist()


def test_a_copy_or_a_sum_of_members_is_refused(rng):
    X = rng.normal(size=(90, 4))
    X = np.column_stack([X, 5 - 3 * X[:, 0], X[:, :3].sum(axis=1)])
    subsets = [[0, 4], [1, 4], [0, 1, 2, 5], [0, 1, 3, 5], [0, 1, 4], [5]]
    assert refused(X, subsets) == [True, False, True, False, True, False]


@pytest.mark.parametrize("order", list(itertools.permutations(range(4)))[::5])
def test_dummies_of_all_levels_are_no_harm_but_another_copy_is(rng, order):
    # Three dummy columns that add up to one, and a feature; then a copy of a dummy.
    level = rng.integers(3, size=120)
    X = np.column_stack([np.eye(3)[level], rng.normal(size=120)])[:, order]
    group = [i for i, j in enumerate(order) if j < 3]
    copy_of_dummy = X[:, [group[0]]]
    for columns, first in ((np.hstack([X, copy_of_dummy]), 0), (np.hstack([copy_of_dummy, X]), 1)):
        groups = [[first + i for i in group]]
        other = first + order.index(3)
        duplicate = 0 if first else 4
        subsets = [sorted(s) for s in ([*groups[0], other], [*groups[0], duplicate], [duplicate])]
        assert refused(columns, subsets, groups) == [False, True, False]


def test_a_group_that_another_makes_up_for_is_refused(rng):
    X = rng.normal(size=(90, 3))
    X = np.column_stack([X[:, :2] @ rng.normal(size=(2, 2)), X, rng.normal(size=90)])
    # The first two columns are made of the third and fourth; the fifth is made of nothing else.
    assert refused(X, [[0, 1, 2, 3]], [[0, 1], [2, 3]]) == [True]
    assert refused(X, [[0, 1, 2, 3, 4]], [[0, 1], [2, 3, 4]]) == [True]
    assert refused(X, [[0, 1, 2, 3, 4, 5]], [[0, 1, 5], [2, 3, 4]]) == [False]


# ---- Both with the chains -----------------------------------------------------------------------


def test_swaps_of_both_kinds_of_chains_visit_alike():
    criterion = criterion_of(1, 7)
    constraints = AllowedSubsets.make(7, at_most_one_of=[[0, 1], [1, 2]], always_include=[6])
    start = constraints.random(4, 4000, np.random.default_rng(0))
    seed = np.random.SeedSequence(1)
    slow = FunctionChains(
        QuadraticFunction(criterion),
        start,
        constraints=constraints,
        size=4,
        seed=seed,
        n_proposals=60,
    )
    fast = SwapChains(
        criterion,
        constraints.subsets_of(start, 4),
        seed=seed,
        n_proposals=60,
        allowed=constraints,
    )
    subsets = constraints.subsets_of(constraints.every(4, 100), 4)
    values = np.array([value(criterion, row) for row in subsets])
    beta = np.full((1, 4000), 1.0 / values.std())
    weight = np.exp(beta[0, 0] * (values - values.max()))
    np.testing.assert_allclose(fast.values, slow.values, rtol=1e-9)
    for chains in (slow, fast):
        chains.sweep(beta)
        counts = (chains.subsets[:, None] == subsets).all(axis=2).sum(axis=0)
        assert chisquare(counts, 4000 * weight / weight.sum()).pvalue > 1e-4
    assert fast.climbed()[1].max() == pytest.approx(slow.climbed()[1].max(), rel=1e-9)


def test_replicas_start_and_stay_without_linear_combinations(rng):
    X = rng.normal(size=(100, 6))
    criterion = fisher(np.hstack([X, X]))
    constraints = AllowedSubsets.make(12, groups=[[0, 1], [2, 3]], count="columns")
    evaluate = QuadraticFunction(criterion, constraints=constraints)
    chains = FunctionChains(
        evaluate,
        finite_start(evaluate, constraints, 4, 30, rng),
        constraints=constraints,
        size=4,
        seed=np.random.SeedSequence(0),
        n_proposals=20,
    )
    twin = pickle.loads(pickle.dumps(chains))
    for _ in range(20):
        chains.sweep(np.zeros((1, 30)))
        assert all(len(set(row % 6)) == 4 for row in chains.subsets)
        twin.sweep(np.zeros((1, 30)))
    np.testing.assert_array_equal(twin.subsets, chains.subsets)
