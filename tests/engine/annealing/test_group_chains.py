"""Compiled chains over groups of several columns, against brute force over all selections."""

import copy
import pickle

import numpy as np
import pytest
from scipy.stats import chisquare

import reference
from safdr._engine.annealing.function_chains import FunctionChains
from safdr._engine.annealing.group_chains import GroupChains
from safdr._engine.annealing.loop import AnnealingSettings, anneal
from safdr._engine.annealing.quadratic_function import QuadraticFunction
from safdr._engine.annealing.swap_chains import SwapChains
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.criterion import Criterion, fisher_criterion, stack_criteria
from safdr._engine.moments import within_moments
from safdr.testing import all_subsets, check_chains

LEVEL = 1e-4
N = 12

CASES = {
    "groups": ({"groups": [[1, 4, 5], [0, 8], [2, 9, 10]]}, 3),
    "one group": ({"groups": [[1, 4, 5], [0, 8]]}, 1),
    "pairs counted by columns": (
        {"groups": [[0, 1], [2, 7], [4, 9], [6, 11]], "count": "columns"}
        | {"always_include": [10], "never_include": [3, 5, 8]},
        5,
    ),
    "conflicts": ({"groups": [[1, 4], [0, 8, 9]], "at_most_one_of": [[1, 2, 3], [3, 8]]}, 3),
    "all": (
        {"groups": [[1, 4], [0, 8, 9], [2, 11]], "at_most_one_of": [[3, 5], [5, 8]]}
        | {"always_include": [2], "never_include": [7]},
        4,
    ),
}


def criterion_of(seed, n_features=N, n_columns=1):
    rng = np.random.default_rng([seed, n_features])
    A = np.corrcoef(rng.normal(size=(2 * n_features, n_features)).T)
    return Criterion(A, rng.normal(size=(n_features, n_columns)), np.ones(n_features), 0.0)


def make_chains(criterion, constraints, size, n_replicas=21, seed=0, n_proposals=50, **options):
    return GroupChains(
        criterion,
        constraints.random(size, n_replicas, np.random.default_rng(seed)),
        constraints=constraints,
        size=size,
        seed=np.random.SeedSequence(seed),
        n_proposals=n_proposals,
        **options,
    )


def members(subsets):
    return [tuple(j for j in row if j >= 0) for row in np.asarray(subsets).tolist()]


def every_subset(constraints, size):
    return [tuple(constraints.columns_of(row).tolist()) for row in constraints.every(size, 10_000)]


def value(criterion, subset, cost=None):
    J = reference.fdr(criterion.A, criterion.D, list(subset))
    return J if cost is None else J - cost[list(subset)].sum()


def cost_of(n_features=N):
    return np.random.default_rng(4).uniform(0, 2, size=n_features)


@pytest.fixture(params=CASES.values(), ids=CASES.keys())
def problem(request):
    wishes, size = request.param
    return AllowedSubsets.make(N, **wishes), size


# ---- What they sample ---------------------------------------------------------------------------


@pytest.mark.parametrize("with_cost", [False, True])
def test_they_keep_the_contract(problem, with_cost):
    constraints, size = problem
    criterion = criterion_of(1)
    cost = cost_of() if with_cost else None

    def make(subsets, seed):
        return GroupChains(
            criterion,
            np.array([constraints.selection_of(row[row >= 0]) for row in subsets]),
            constraints=constraints,
            size=size,
            seed=seed,
            n_proposals=20,
            cost=cost,
        )

    states = every_subset(constraints, size)
    check_chains(make, lambda subset: value(criterion, subset, cost), states)


@pytest.mark.parametrize("which", [0, None], ids=["step", "proposal"])
@pytest.mark.parametrize("n_columns", [1, 3])
def test_visits_follow_boltzmann(problem, which, n_columns):
    constraints, size = problem
    criterion, cost = criterion_of(3, n_columns=n_columns), cost_of()
    subsets = every_subset(constraints, size)
    values = np.array([value(criterion, subset, cost) for subset in subsets])
    n = 4000
    chains = make_chains(criterion, constraints, size, n, n_proposals=100, cost=cost)
    # All from the same selection, so that the chains have to find the others.
    chains.take(np.zeros(n, dtype=np.int64))
    beta = 1.0 / values.std()
    chains.sweep(np.full((1, n), beta), None if which is None else np.full((1, n), which))
    ended = members(chains.subsets)
    counts = np.array([ended.count(subset) for subset in subsets])
    assert counts.sum() == n
    p_values = [
        chisquare(counts, n * weight / weight.sum()).pvalue
        for weight in (np.exp(b * (values - values.max())) for b in (beta, 1.6 * beta))
    ]
    assert p_values[0] > LEVEL > p_values[1]


def test_each_replica_has_its_own_beta_and_batch():
    constraints = AllowedSubsets.make(N, groups=[[1, 4, 5], [0, 8], [2, 9, 10]])
    batches = [criterion_of(i) for i in range(2)]
    subsets = every_subset(constraints, 2)
    n, criterion = 2000, criterion_of(9)
    chains = make_chains(
        criterion, constraints, 2, 3 * n, n_proposals=100, batches=stack_criteria(batches)
    )
    betas, which = np.repeat([0.0, 0.5, 1.0], n), np.repeat([0, 0, 1], n)
    values, _ = chains.sweep(betas[None], which[None])
    ended = members(chains.subsets)
    on_all_rows = {subset: value(criterion, subset) for subset in subsets}
    np.testing.assert_allclose(values[0], [on_all_rows[s] for s in ended], rtol=1e-9)
    for part in range(3):
        expected = np.array([value(batches[which[part * n]], subset) for subset in subsets])
        weight = np.exp(betas[part * n] * expected)
        there = ended[part * n : (part + 1) * n]
        counts = np.array([there.count(subset) for subset in subsets])
        assert chisquare(counts, n * weight / weight.sum()).pvalue > LEVEL


def test_a_batch_for_each_proposal_mixes_the_transitions():
    constraints = AllowedSubsets.make(7, groups=[[0, 5], [1, 6]])
    batches = [criterion_of(i, 7) for i in range(2)]
    selections = constraints.every(2, 100)
    subsets = every_subset(constraints, 2)
    n, n_states = 4000, len(subsets)
    beta = 1.5
    transitions = []
    for batch in batches:
        values = np.array([value(batch, subset) for subset in subsets])
        P = np.zeros((n_states, n_states))
        for i, j in np.ndindex(P.shape):
            if (selections[i] & selections[j]).sum() == 1:
                P[i, j] = min(1.0, np.exp(beta * (values[j] - values[i]))) / 6
        transitions.append(P + np.diag(1 - P.sum(axis=1)))
    mixed = np.linalg.matrix_power(np.mean(transitions, axis=0), 1000)[0]
    alone = np.linalg.matrix_power(transitions[0], 1000)[0]
    chains = make_chains(
        batches[0], constraints, 2, n, n_proposals=100, batches=stack_criteria(batches)
    )
    chains.sweep(np.full((1, n), beta), None)
    ended = members(chains.subsets)
    counts = np.array([ended.count(subset) for subset in subsets])
    assert chisquare(counts, n * mixed).pvalue > LEVEL
    assert chisquare(counts, n * alone).pvalue < LEVEL


def test_units_of_one_column_sample_what_single_features_do():
    criterion, constraints = criterion_of(2, 8), AllowedSubsets.make(8)
    subsets = [tuple(row) for row in all_subsets(8, 3).tolist()]
    n, beta = 4000, 0.5
    start = np.tile(np.arange(3), (n, 1))
    seed = np.random.SeedSequence(1)
    single = SwapChains(criterion, start, seed=seed, n_proposals=100)
    groups = make_chains(criterion, constraints, 3, n, n_proposals=100)
    counts = []
    for chains in (single, groups):
        chains.sweep(np.full((1, n), beta))
        ended = members(chains.subsets)
        counts.append(np.array([ended.count(subset) for subset in subsets]) + 1)
    both = np.sum(counts, axis=0)
    assert chisquare(counts[0], both / 2).statistic + chisquare(counts[1], both / 2).statistic < 110


# ---- Values -------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_columns", [1, 2])
@pytest.mark.parametrize("with_cost", [False, True])
@pytest.mark.parametrize("size", [1, 4, 9, 16])
def test_values_are_those_of_the_quadratic_objective(size, with_cost, n_columns):
    rng = np.random.default_rng(size)
    cuts = np.sort(rng.choice(np.arange(1, 40), 19, replace=False))
    groups = [part.tolist() for part in np.split(rng.permutation(40), cuts)]
    constraints = AllowedSubsets.make(40, groups=groups)
    criterion, cost = criterion_of(5, 40, n_columns), cost_of(40) if with_cost else None
    chains = make_chains(criterion, constraints, size, 13, cost=cost)
    objective = QuadraticFunction(criterion, constraints=constraints)

    def expected(subsets):
        J = objective(subsets, np.full(len(subsets), -1))
        return J if cost is None else J - np.append(cost, 0)[subsets].sum(axis=1)

    np.testing.assert_allclose(chains.values, expected(chains.subsets), rtol=1e-9)
    values, _ = chains.sweep(np.full((2, 13), 0.1))
    np.testing.assert_allclose(values[-1], expected(chains.subsets), rtol=1e-9)
    np.testing.assert_array_equal(values[-1], chains.values)
    subsets, values = chains.climbed()
    np.testing.assert_allclose(values, expected(subsets), rtol=1e-9)


def test_every_state_on_the_way_keeps_to_the_constraints(problem):
    constraints, size = problem
    chains = make_chains(criterion_of(0), constraints, size, n_proposals=3)
    for _ in range(40):
        chains.sweep(np.full((1, 21), 0.2))
        for selection, row in zip(chains.selections, members(chains.subsets), strict=True):
            assert constraints.allows(selection)
            assert constraints.counts[selection].sum() == size
            assert tuple(constraints.columns_of(selection)) == row


# ---- Linear combinations ------------------------------------------------------------------------


def doubled_data(seed=0):
    """Columns 0 to 7 are on their own; 8 is column 0 again, 9 and 10 are sums of others."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 11))
    X[:, 8], X[:, 9], X[:, 10] = X[:, 0], X[:, 1] + X[:, 2], X[:, 3] - X[:, 4]
    y = (X[:, 0] + X[:, 1] - X[:, 3] + rng.logistic(size=300) > 0).astype(np.int64)
    return fisher_criterion(within_moments(X, y, 2), ridge=1e-9)


@pytest.mark.parametrize(
    "groups",
    [
        [[1, 2], [8, 9]],
        [[0, 1, 2], [9, 5]],
        [[0, 5], [8, 6], [3, 4, 10]],
        [[1, 2, 9], [3, 10]],
    ],
)
@pytest.mark.parametrize("which", [0, None], ids=["step", "proposal"])
def test_they_go_to_all_selections_but_those_with_linear_combinations(groups, which):
    criterion = doubled_data()
    constraints = AllowedSubsets.make(11, groups=groups)
    objective = QuadraticFunction(criterion, constraints=constraints)
    selections = constraints.every(4, 1000)
    subsets = constraints.subsets_of(selections, constraints.max_columns(4))
    good = np.isfinite(objective(subsets, np.full(len(subsets), -1)))
    assert 0 < good.sum() < len(good)
    n = 2000
    options = {"constraints": constraints, "size": 4, "seed": np.random.SeedSequence(0)}
    start = np.repeat(selections[np.flatnonzero(good)[:1]], n, axis=0)
    chains = GroupChains(criterion, start, n_proposals=100, **options)
    chains.sweep(np.zeros((1, n)), None if which is None else np.full((1, n), which))
    ended = members(chains.subsets)
    counts = np.array([ended.count(subset) for subset in members(subsets)])
    assert (counts[~good] == 0).all()
    assert chisquare(counts[good]).pvalue > LEVEL
    best, _ = chains.climbed()
    assert set(members(best)) <= set(members(subsets[good]))
    welcome = GroupChains(criterion, start, n_proposals=100, refuse_collinear=False, **options)
    welcome.sweep(np.zeros((1, n)))
    assert set(members(welcome.subsets)) == set(members(subsets))


def test_dummy_columns_of_all_levels_are_no_linear_combination_of_others():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 9))
    X[:, 3:6] = np.eye(3)[rng.integers(3, size=200)]
    X[:, 6:9] = np.eye(3)[rng.integers(3, size=200)]
    y = rng.integers(2, size=200)
    criterion = fisher_criterion(within_moments(X, y, 2), ridge=1e-9)
    constraints = AllowedSubsets.make(9, groups=[[3, 4, 5], [6, 7, 8]])
    chains = make_chains(criterion, constraints, 2, 500, n_proposals=100)
    assert chains._redundant.tolist() == [1, 1, 0, 0, 0]
    chains.sweep(np.zeros((1, 500)))
    assert set(members(chains.subsets)) == set(every_subset(constraints, 2))
    for subset, found in zip(members(chains.subsets)[:50], chains.values[:50], strict=True):
        independent = [j for j in subset if j not in (5, 8)]
        assert found == pytest.approx(criterion.value(independent), rel=1e-6)


# ---- Climbing -----------------------------------------------------------------------------------


@pytest.mark.parametrize("with_cost", [False, True])
@pytest.mark.parametrize("n_columns", [1, 2])
def test_climbing_ends_where_no_swap_of_a_unit_raises_the_value(problem, with_cost, n_columns):
    constraints, size = problem
    criterion = criterion_of(7, n_columns=n_columns)
    cost = cost_of() if with_cost else None
    chains = make_chains(criterion, constraints, size, cost=cost)
    before = chains.subsets
    subsets, values = chains.climbed()
    np.testing.assert_array_equal(chains.subsets, before)
    assert (values >= chains.values - 1e-12).all()
    selections = constraints.every(size, 10_000)
    known = [value(criterion, constraints.columns_of(row), cost) for row in selections]
    for subset, reached in zip(members(subsets), values, strict=True):
        selection = constraints.selection_of(subset)
        assert constraints.allows(selection)
        assert reached == pytest.approx(value(criterion, subset, cost), rel=1e-9)
        around = (selections != selection).sum(axis=1) == 2
        assert not around.any() or max(np.array(known)[around]) <= reached + 1e-7


def test_annealing_ends_as_high_as_that_of_objective_chains():
    constraints = AllowedSubsets.make(60, groups=[[i, i + 1] for i in range(0, 40, 2)])
    criterion = criterion_of(8, 60)
    start = constraints.random(10, 50, np.random.default_rng(0))
    options = {"constraints": constraints, "size": 10, "seed": np.random.SeedSequence(2)}
    compiled = GroupChains(criterion, start, n_proposals=20, **options)
    objective = QuadraticFunction(criterion, constraints=constraints)
    plain = FunctionChains(objective, start, n_proposals=20, **options)
    for chains in (compiled, plain):
        anneal(chains, AnnealingSettings(n_batches=1), np.random.default_rng(0))
    assert compiled.values.mean() > plain.values.mean() - 0.5 * plain.values.std()
    assert compiled.climbed()[1].max() == pytest.approx(plain.climbed()[1].max(), rel=1e-9)


def test_where_there_is_one_selection_nothing_moves():
    constraints = AllowedSubsets.make(4, groups=[[0, 1, 2]], always_include=[0], never_include=[3])
    chains = make_chains(criterion_of(0, 4), constraints, 1)
    assert not chains.can_move
    values, acceptance = chains.sweep(np.ones((2, 21)))
    assert (acceptance == 0).all()
    assert (values == chains.values).all()
    np.testing.assert_array_equal(chains.climbed()[0], chains.subsets)


# ---- Same seed, same answer ---------------------------------------------------------------------


@pytest.mark.parametrize("n_threads", [2, 3])
def test_the_number_of_threads_does_not_change_a_bit(n_threads):
    constraints = AllowedSubsets.make(60, groups=[[i, i + 1] for i in range(0, 40, 2)])
    ended = []
    for n in (1, n_threads):
        chains = make_chains(criterion_of(2, 60), constraints, 12, 50, n_proposals=100, n_threads=n)
        assert chains.n_threads == n
        shown = chains.sweep(np.full((3, 50), 1.0))
        ended.append((*shown, chains.subsets, *chains.climbed()))
    for a, b in zip(*ended, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("copier", [copy.deepcopy, lambda c: pickle.loads(pickle.dumps(c))])
def test_a_copy_made_in_mid_run_continues_identically(problem, copier):
    chains = make_chains(criterion_of(0), *problem, cost=cost_of())
    beta = np.full((2, 21), 1.0)
    chains.sweep(beta)
    twin = copier(chains)
    for a, b in zip(chains.sweep(beta), twin.sweep(beta), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(chains.subsets, twin.subsets)


def test_replicas_that_fill_no_vector_are_as_right_as_others(problem):
    constraints, size = problem
    for n_replicas in range(1, 6):
        chains = make_chains(criterion_of(0), constraints, size, n_replicas)
        values, _ = chains.sweep(np.full((2, n_replicas), 0.5))
        expected = [value(criterion_of(0), subset) for subset in members(chains.subsets)]
        np.testing.assert_allclose(values[-1], expected, rtol=1e-9)


# ---- Errors -------------------------------------------------------------------------------------


def test_what_the_core_would_not_survive_is_refused():
    criterion = criterion_of(0, 6)
    unequal = AllowedSubsets.make(6, groups=[[0, 1]], count="columns")
    with pytest.raises(ValueError, match=r"count the same; got counts of \[1, 2\]"):
        make_chains(criterion, unequal, 3)
    equal = AllowedSubsets.make(6, groups=[[0, 1]])
    options = {"constraints": equal, "size": 2, "seed": np.random.SeedSequence(0)}
    start = np.array([[1, 1, 0, 0, 0], [1, 1, 1, 0, 0]], dtype=bool)
    with pytest.raises(ValueError, match="count 2; row 1 does not"):
        GroupChains(criterion, start, n_proposals=1, **options)
    with pytest.raises(ValueError, match="cost must hold a finite number for each of 6"):
        make_chains(criterion, equal, 2, cost=np.full(6, np.nan))
    chains = make_chains(criterion, equal, 2, batches=stack_criteria([criterion] * 2))
    with pytest.raises(ValueError, match="one column for each of 21 replicas"):
        chains.sweep(np.ones((1, 3)))
    with pytest.raises(ValueError, match="with batches from 0 to 1"):
        chains.sweep(np.ones((1, 21)), np.full((1, 21), 2))
    with pytest.raises(ValueError, match="random streams for 21 replicas; got 22"):
        chains.take(np.zeros(22, dtype=np.int64))
