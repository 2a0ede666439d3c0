"""Chains on any objective, against brute force over all selections."""

import copy
import pickle
from collections import Counter

import numpy as np
import pytest
from scipy.stats import chisquare

from safdr._engine.annealing.function_chains import FunctionChains, finite_start
from safdr._engine.annealing.loop import AnnealingSettings, anneal
from safdr._engine.constraints import AllowedSubsets

N = 9
LEVEL = 1e-4

CASES = {
    "none": ({}, 4),
    "groups": ({"groups": [[1, 4, 5], [0, 8]]}, 3),
    "columns": ({"groups": [[1, 4, 5], [0, 8]], "count": "columns"}, 4),
    "many groups": ({"groups": [[0, 1], [2, 3], [4, 5, 6]], "count": "columns"}, 5),
    "conflicts": ({"at_most_one_of": [[0, 1, 2], [2, 3], [7, 8]]}, 4),
    "all": (
        {
            "always_include": [3],
            "never_include": [8],
            "groups": [[1, 2, 5], [0, 6]],
            "at_most_one_of": [[3, 7], [2, 4]],
            "count": "columns",
        },
        4,
    ),
}


class Table:
    """A random value for each subset and batch, by looking it up."""

    def __init__(self, n_batches=1, seed=0, n_features=N):
        self.values = np.random.default_rng(seed).normal(size=(n_batches + 1, 2**n_features))
        self.n_calls = 0

    def __call__(self, subsets, which):
        self.n_calls += 1
        assert (
            np.diff(np.where(subsets < 0, 1000 + np.arange(subsets.shape[1]), subsets)) > 0
        ).all()
        return self.values[which, np.where(subsets < 0, 0, 1 << np.maximum(subsets, 0)).sum(axis=1)]

    def of(self, subset, batch=-1):
        return self.values[batch, sum(1 << j for j in subset)]


def make_chains(constraints, size, n_replicas=20, table=None, n_proposals=30, seed=0, **options):
    selections = constraints.random(size, n_replicas, np.random.default_rng(seed))
    return FunctionChains(
        table or Table(),
        selections,
        constraints=constraints,
        size=size,
        seed=np.random.SeedSequence(seed),
        n_proposals=n_proposals,
        **options,
    )


def every_subset(constraints, size):
    return [constraints.columns_of(row).tolist() for row in constraints.every(size, 10_000)]


def members(subsets):
    return [[j for j in row if j >= 0] for row in subsets.tolist()]


def counts_of(chains, subsets, rows=slice(None)):
    ended = Counter(map(tuple, members(chains.subsets[rows])))
    counts = np.array([ended[tuple(subset)] for subset in subsets])
    assert counts.sum() == ended.total()
    return counts


def boltzmann(values, beta):
    weight = np.exp(beta * (values - values.max()))
    return weight / weight.sum()


@pytest.fixture(params=CASES.values(), ids=CASES.keys())
def problem(request):
    wishes, size = request.param
    return AllowedSubsets.make(N, **wishes), size


@pytest.mark.parametrize("beta", [0.0, 0.7])
def test_visits_follow_boltzmann(problem, beta):
    constraints, size = problem
    table = Table(seed=1)
    subsets = every_subset(constraints, size)
    values = np.array([table.of(subset) for subset in subsets])
    n_replicas = 3000
    chains = make_chains(constraints, size, n_replicas, table, n_proposals=100)
    # All from the same selection, so that the chains have to find the others.
    chains.take(np.zeros(n_replicas, dtype=np.int64))
    chains.sweep(np.full((1, n_replicas), beta))
    counts = counts_of(chains, subsets)
    assert beta > 0 or (counts > 0).all()
    assert chisquare(counts, n_replicas * boltzmann(values, beta)).pvalue > LEVEL
    assert chisquare(counts, n_replicas * boltzmann(values, beta + 0.4)).pvalue < LEVEL


def test_without_the_correction_trades_would_not_follow_boltzmann(monkeypatch):
    constraints = AllowedSubsets.make(N, groups=[[1, 4, 5], [0, 8]], count="columns")
    subsets = every_subset(constraints, 4)
    chains = make_chains(constraints, 4, 3000, n_proposals=100)
    propose = chains._moves.propose

    def forgetful(draws):
        proposal = propose(draws)
        proposal.log_ratio[:] = 0
        return proposal

    monkeypatch.setattr(chains._moves, "propose", forgetful)
    chains.sweep(np.zeros((1, 3000)))
    assert chisquare(counts_of(chains, subsets)).pvalue < LEVEL


def test_each_replica_has_its_own_beta_and_batch():
    constraints = AllowedSubsets.make(N, groups=[[1, 4, 5]], count="columns")
    table = Table(n_batches=2)
    subsets = every_subset(constraints, 3)
    n = 2000
    chains = make_chains(constraints, 3, 3 * n, table, n_proposals=120, n_batches=2)
    betas, batches = np.repeat([0.0, 1.0, 1.5], n), np.repeat([0, 0, 1], n)
    values, _ = chains.sweep(betas[None], batches[None])
    np.testing.assert_array_equal(values[0], [table.of(s) for s in members(chains.subsets)])
    for part in range(3):
        rows = slice(part * n, (part + 1) * n)
        expected = np.array([table.of(subset, batches[part * n]) for subset in subsets])
        chance = boltzmann(expected, betas[part * n])
        assert chisquare(counts_of(chains, subsets, rows), n * chance).pvalue > LEVEL


def test_a_batch_for_each_proposal_mixes_the_transitions():
    constraints = AllowedSubsets.make(5)
    table = Table(n_batches=2, n_features=5)
    subsets = every_subset(constraints, 2)
    beta = 1.5
    transitions = []
    for batch in range(2):
        values = [table.of(subset, batch) for subset in subsets]
        P = np.zeros((10, 10))
        for i, j in np.ndindex(10, 10):
            if len(set(subsets[i]) & set(subsets[j])) == 1:
                P[i, j] = min(1.0, np.exp(beta * (values[j] - values[i]))) / 6
        transitions.append(P + np.diag(1 - P.sum(axis=1)))
    mixed = np.linalg.matrix_power(np.mean(transitions, axis=0), 500)[0]
    alone = np.linalg.matrix_power(transitions[0], 500)[0]
    chains = make_chains(constraints, 2, 3000, table, n_proposals=80, n_batches=2)
    chains.sweep(np.full((1, 3000), beta), None)
    counts = counts_of(chains, subsets)
    assert chisquare(counts, 3000 * mixed).pvalue > LEVEL
    assert chisquare(counts, 3000 * alone).pvalue < LEVEL


def test_every_state_on_the_way_keeps_to_the_constraints(problem):
    constraints, size = problem
    chains = make_chains(constraints, size, n_proposals=3)
    for _ in range(40):
        chains.sweep(np.full((1, 20), 0.5))
        for selection, row in zip(chains.selections, members(chains.subsets), strict=True):
            assert constraints.allows(selection)
            assert constraints.counts[selection].sum() == size
            assert constraints.columns_of(selection).tolist() == row


def test_groups_of_one_behave_as_no_groups():
    plain = make_chains(AllowedSubsets.make(N), 4)
    for count in ("groups", "columns"):
        grouped = make_chains(AllowedSubsets.make(N, groups=[[3], [5]], count=count), 4)
        beta = np.full((3, 20), 1.0)
        twin = copy.deepcopy(plain)
        np.testing.assert_array_equal(grouped.sweep(beta)[0], twin.sweep(beta)[0])


def test_where_only_trades_lead_anywhere_all_is_reached():
    # Single columns 0 to 3 and a group of four: one subset of four singles, one of the group.
    constraints = AllowedSubsets.make(8, groups=[[4, 5, 6, 7]], count="columns")
    chains = make_chains(constraints, 4, 400, n_proposals=60)
    chains.take(np.zeros(400, dtype=np.int64))
    chains.sweep(np.zeros((1, 400)))
    counts = counts_of(chains, [[0, 1, 2, 3], [4, 5, 6, 7]])
    assert chisquare(counts).pvalue > LEVEL


def test_where_there_is_one_selection_nothing_moves():
    constraints = AllowedSubsets.make(4, groups=[[0, 1, 2]], count="columns", never_include=[3])
    chains = make_chains(constraints, 3)
    assert not chains.can_move
    values, acceptance = chains.sweep(np.ones((2, 20)))
    assert (acceptance == 0).all()
    assert (values == chains.values).all()
    np.testing.assert_array_equal(chains.climbed()[0], chains.subsets)


# ---- Values that are none -----------------------------------------------------------------------


@pytest.mark.parametrize("nothing", [-np.inf, np.nan])
@pytest.mark.parametrize("beta", [0.0, 1.0, np.inf])
def test_a_replica_never_goes_where_there_is_no_value_and_leaves_at_once(nothing, beta):
    constraints = AllowedSubsets.make(6)

    def evaluate(subsets, which):
        return np.where((subsets == 0).any(axis=1), nothing, subsets.sum(axis=1))

    chains = FunctionChains(
        evaluate,
        constraints.random(3, 60, np.random.default_rng(0)),
        constraints=constraints,
        size=3,
        seed=np.random.SeedSequence(0),
        n_proposals=1,
    )
    outside = np.isfinite(chains.values)
    assert 0 < outside.sum() < 60
    for _ in range(40):
        chains.sweep(np.full((1, 60), beta))
        assert np.isfinite(chains.values[outside]).all()
    assert np.isfinite(chains.values).all()
    start = finite_start(evaluate, constraints, 3, 200, np.random.default_rng(0))
    assert not start[:, 0].any()


# ---- Climbing -----------------------------------------------------------------------------------


def test_climbing_ends_where_no_swap_raises_the_value(problem):
    constraints, size = problem
    table = Table(seed=5)
    chains = make_chains(constraints, size, 12, table)
    before = chains.subsets
    subsets, values = chains.climbed()
    np.testing.assert_array_equal(chains.subsets, before)
    assert (values >= chains.values).all()
    for subset, value in zip(members(subsets), values, strict=True):
        selection = constraints.selection_of(subset)
        assert constraints.allows(selection)
        assert value == table.of(subset)
        for other in constraints.every(size, 10_000):
            changed = np.flatnonzero(other != selection)
            if len(changed) == 2:
                assert table.of(constraints.columns_of(other).tolist()) <= value


def test_an_expensive_objective_is_not_climbed():
    chains = make_chains(AllowedSubsets.make(N), 4, climb=False)
    np.testing.assert_array_equal(chains.climbed()[0], chains.subsets)
    np.testing.assert_array_equal(chains.climbed()[1], chains.values)


# ---- Same seed, same answer ---------------------------------------------------------------------


@pytest.mark.parametrize("copier", [copy.deepcopy, lambda c: pickle.loads(pickle.dumps(c))])
def test_a_copy_made_in_mid_run_continues_identically(problem, copier):
    chains = make_chains(*problem)
    beta = np.full((2, 20), 1.0)
    chains.sweep(beta)
    twin = copier(chains)
    for a, b in zip(chains.sweep(beta), twin.sweep(beta), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(chains.subsets, twin.subsets)


def test_a_replica_does_not_depend_on_how_many_others_there_are(problem):
    constraints, size = problem
    many, few = make_chains(constraints, size, 20), make_chains(constraints, size, 20)
    few.take(np.arange(3))
    beta = np.full((3, 20), 1.0)
    np.testing.assert_array_equal(many.sweep(beta)[0][:, :3], few.sweep(beta[:, :3])[0])


def test_a_seed_can_be_used_twice():
    seed = np.random.SeedSequence(3)
    constraints = AllowedSubsets.make(N)
    start = constraints.random(4, 5, np.random.default_rng(0))
    ended = []
    for _ in range(2):
        chains = FunctionChains(
            Table(), start, constraints=constraints, size=4, seed=seed, n_proposals=20
        )
        ended.append(chains.sweep(np.ones((2, 5)))[0])
    np.testing.assert_array_equal(*ended)


def test_the_annealing_loop_finds_the_best(problem):
    constraints, size = problem
    table = Table(seed=2)
    chains = make_chains(constraints, size, 20, table)
    trace = anneal(chains, AnnealingSettings(), np.random.default_rng(0))
    assert trace.mean[-1] > trace.mean[0]
    best = max(table.of(subset) for subset in every_subset(constraints, size))
    assert chains.climbed()[1].max() == best


# ---- Errors -------------------------------------------------------------------------------------


def test_a_start_that_breaks_the_constraints_is_refused():
    constraints = AllowedSubsets.make(4, always_include=[0])
    options = {
        "constraints": constraints,
        "size": 2,
        "seed": np.random.SeedSequence(0),
        "n_proposals": 1,
    }
    for row in ([0, 1, 1, 0], [1, 1, 1, 0]):
        start = np.array([[1, 1, 0, 0], row], dtype=bool)
        with pytest.raises(ValueError, match="count 2; row 1 does not"):
            FunctionChains(Table(), start, **options)
    with pytest.raises(ValueError, match="one column for each of 4 groups"):
        FunctionChains(Table(), np.ones((2, 3), dtype=bool), **options)


def test_temperatures_batches_and_copies_must_fit():
    chains = make_chains(AllowedSubsets.make(N), 4, n_batches=2)
    with pytest.raises(ValueError, match="one column for each of 20 replicas"):
        chains.sweep(np.ones((1, 3)))
    with pytest.raises(ValueError, match="with batches from 0 to 1"):
        chains.sweep(np.ones((1, 20)), np.full((1, 20), 2))
    with pytest.raises(ValueError, match="random streams for 20 replicas; got 21"):
        chains.take(np.zeros(21, dtype=np.int64))
