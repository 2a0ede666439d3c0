"""Chains of every kind sample what they should, stay within limits, and depend on the seed only."""

import copy
import pickle
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from helpers import data, engine, references

# A correct sampler fails a test at this level once in ten thousand seeds; the seeds are fixed.
LEVEL = 1e-4
MAX_Z = 4.0
N_SAMPLES = 9000


@dataclass(frozen=True)
class Problem:
    """Chains of one kind on a problem whose subsets can be enumerated."""

    build: Any
    n_features: int
    size: int
    limits: Any
    costly: bool = False
    swaps: bool = True
    batched: bool = True
    n_columns: int = 1
    forget: int = 150  # proposals after which the start is forgotten

    @cached_property
    def matrices(self):
        rng = np.random.default_rng([self.n_features, self.size])
        return [data.quadratic(rng, self.n_features, self.n_columns, 10.0) for _ in range(3)]

    @cached_property
    def cost(self):
        rng = np.random.default_rng(4)
        return 2.0 * rng.random(self.n_features) if self.costly else None

    @cached_property
    def allowed(self):
        return engine.constraints(self.n_features, **self.limits)

    @cached_property
    def states(self):
        return references.allowed_subsets(self.n_features, self.size, **self.limits)

    def values(self, matrices):
        found = references.subset_values(*matrices, self.states, self.cost)
        return np.array([found[s] for s in self.states])

    @cached_property
    def all_rows(self):
        return self.values(self.matrices[0])

    @property
    def beta(self):
        return 1.0 / self.all_rows.std()

    def make(self, starts, seed=0, n_proposals=20, batches=False, **how):
        how |= {"allowed": self.allowed}
        if self.costly:
            how |= {"cost": self.cost}
        if batches:
            how |= {"batches": self.matrices[1:]}
        criterion = engine.quadratic_criterion(*self.matrices[0])
        return self.build(criterion, starts, self.size, seed, n_proposals, **how)

    def starts(self, n, seed=0):
        numbers = np.random.default_rng([seed, 7]).integers(len(self.states), size=n)
        return [self.states[i] for i in numbers]

    def where(self, chains):
        """Return the number of each replica's state; an error if it is none."""
        place = {s: i for i, s in enumerate(self.states)}
        return np.array([place[s] for s in engine.members(chains.subsets)])


class TableFunction(Problem):
    """A custom function: any number for each subset."""

    def values(self, matrices):
        return np.array([self.table[s] for s in self.states])

    @cached_property
    def table(self):
        values = np.random.default_rng(8).normal(size=len(self.states)).tolist()
        return dict(zip(self.states, values, strict=True))

    def make(self, starts, seed=0, n_proposals=20, batches=False):
        assert not batches
        value = self.table.__getitem__
        return self.build(value, starts, self.size, seed, n_proposals, allowed=self.allowed)


LIMITS = {"always": [2], "never": [5], "at_most_one_of": [[0, 1, 3]]}
GROUPS = {"groups": [[1, 4, 5], [0, 8]], "never": [7], "at_most_one_of": [[2, 3]]}
COLUMNS = {"groups": [[0, 1], [2, 7]], "count": "columns", "always": [5]}
MOST = {"always": [1], "never": [4]}

PROBLEMS = {
    "swap": Problem(engine.swap_chains, 6, 3, {}, n_columns=2),
    "swap, all but one": Problem(engine.swap_chains, 7, 5, {"never": [2]}),
    "swap with limits and cost": Problem(engine.swap_chains, 9, 4, LIMITS, costly=True),
    "complement": Problem(engine.complement_chains, 8, 5, MOST),
    "groups": Problem(engine.group_chains, 9, 3, GROUPS, costly=True),
    "groups of several counts": Problem(
        engine.trade_chains, 8, 4, COLUMNS, costly=True, swaps=False
    ),
    "function": TableFunction(engine.function_chains, 6, 3, {"never": [4]}, batched=False),
    "device": Problem(engine.device_chains, 7, 3, MOST, costly=True, forget=40),
}


def each(condition=lambda problem: True):
    """Parametrise a test over the problems that satisfy a condition."""
    some = {name: problem for name, problem in PROBLEMS.items() if condition(problem)}
    return pytest.mark.parametrize("problem", some.values(), ids=some.keys())


@pytest.fixture(autouse=True)
def torch_there(request):
    if "device" in request.node.name:
        torch = pytest.importorskip("torch")
        torch.set_num_threads(1)


def sweep(chains, beta, which=None):
    """Sweep once at one temperature, or one for each replica; return values and acceptance."""
    n = len(chains.values)
    which = None if which is None else np.full((1, n), which)
    values, accepted = chains.sweep(np.broadcast_to(np.asarray(beta, float), (1, n)).copy(), which)
    return values[0], accepted[0]


# ---- The stationary distribution ----------------------------------------------------------------


def z_of_mean(values, where, probability):
    """Return how far the mean value is from the expected one, in standard errors."""
    expected = probability @ values
    deviation = np.sqrt(probability @ (values - expected) ** 2)
    return (values[where].mean() - expected) / deviation * np.sqrt(len(where))


def chi_square_p(where, probability):
    counts, expected = np.bincount(where, minlength=len(probability)), len(where) * probability
    rare = expected < 10
    if rare.any():
        counts = np.append(counts[~rare], counts[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
    return chisquare(counts, expected).pvalue if expected[-1] > 0 else 0.0


def ended(problem, beta, which=None, batches=False, seed=0, n_samples=N_SAMPLES):
    """Return where independent replicas are once they have forgotten their start."""
    starts = problem.starts(n_samples, seed)
    chains = problem.make(starts, seed, n_proposals=problem.forget, batches=batches)
    sweep(chains, beta, which)
    return problem.where(chains)


@each()
def test_visits_follow_boltzmann(problem):
    values, beta = problem.all_rows, problem.beta
    where = ended(problem, beta)
    assert chi_square_p(where, references.boltzmann(values, beta)) > LEVEL
    assert abs(z_of_mean(values, where, references.boltzmann(values, beta))) < MAX_Z
    # As many samples tell a beta that is wrong by a tenth.
    for wrong in (0.9, 1.1):
        assert abs(z_of_mean(values, where, references.boltzmann(values, wrong * beta))) > MAX_Z


@each(lambda problem: problem.batched)
def test_a_batch_for_a_sweep_is_what_is_sampled(problem):
    values = problem.values(problem.matrices[2])
    where = ended(problem, problem.beta, which=1, batches=True)
    probability = references.boltzmann(values, problem.beta)
    assert chi_square_p(where, probability) > LEVEL
    assert abs(z_of_mean(values, where, probability)) < MAX_Z
    other = references.boltzmann(problem.all_rows, problem.beta)
    assert chi_square_p(where, other) < LEVEL


def swap_transitions(problem, values, beta):
    """Return the Metropolis transition matrix of swaps of single features, or groups."""
    groups = [*problem.limits.get("groups", ())]
    named = {j for g in groups for j in g}
    groups += [[j] for j in range(problem.n_features) if j not in named]
    free = [
        g
        for g in groups
        if not set(g) & {*problem.limits.get("always", ()), *problem.limits.get("never", ())}
    ]
    # What is in conflict with a feature that is always selected is never proposed.
    n_in = sum(set(g) <= set(problem.states[0]) for g in free)
    n_pairs = n_in * (len(free) - n_in)
    P = np.zeros((len(values), len(values)))
    for i, here in enumerate(problem.states):
        for j, there in enumerate(problem.states):
            left, entered = set(here) - set(there), set(there) - set(here)
            if sorted(left) in map(sorted, free) and sorted(entered) in map(sorted, free):
                P[i, j] = min(1.0, np.exp(beta * (values[j] - values[i]))) / n_pairs
    return P + np.diag(1 - P.sum(axis=1))


def heat_bath_transitions(problem, values, beta):
    """Return the transition matrix of giving a random place to a feature drawn for it."""
    P = np.zeros((len(values), len(values)))
    always = set(problem.limits.get("always", ()))
    for i, here in enumerate(problem.states):
        places = set(here) - always
        for leaving in places:
            rest = set(here) - {leaving}
            others = [j for j, s in enumerate(problem.states) if rest < set(s)]
            P[i, others] += references.boltzmann(values[others], beta) / len(places)
    return P


def stationary(P):
    eigenvalues, vectors = np.linalg.eig(P.T)
    vector = np.real(vectors[:, np.argmax(np.real(eigenvalues))])
    return vector / vector.sum()


@each(lambda problem: problem.batched and problem.swaps)
def test_a_batch_for_each_proposal_mixes_the_transitions(problem):
    device = problem.build is engine.device_chains
    transitions = heat_bath_transitions if device else swap_transitions
    beta = 2.0 * problem.beta
    parts = [transitions(problem, problem.values(m), beta) for m in problem.matrices[1:]]
    probability = stationary((parts[0] + parts[1]) / 2)
    where = ended(problem, beta, batches=True, n_samples=2 * N_SAMPLES)
    assert chi_square_p(where, probability) > LEVEL
    for part in parts:
        assert chi_square_p(where, stationary(part)) < LEVEL


# ---- Every step ---------------------------------------------------------------------------------


@each()
def test_limits_hold_at_every_step_and_all_subsets_are_reached(problem):
    chains = problem.make(problem.starts(300)[:150], n_proposals=1)
    visited = set()
    for _ in range(60):
        sweep(chains, 0.0)
        visited |= set(problem.where(chains).tolist())  # an error outside the limits
    assert visited == set(range(len(problem.states)))


@each()
def test_values_are_of_all_rows_from_scratch(problem):
    for batches in (False, True)[: 1 + problem.batched]:
        chains = problem.make(problem.starts(50), batches=batches)
        np.testing.assert_allclose(chains.values, problem.all_rows[problem.where(chains)], 1e-9)
        for which in (None, 0):
            values, accepted = sweep(chains, problem.beta, which)
            expected = problem.all_rows[problem.where(chains)]
            np.testing.assert_allclose(values, expected, rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(values, chains.values, rtol=1e-12)
            assert ((accepted >= 0) & (accepted <= 1)).all()
            assert accepted.any()


@each()
def test_each_replica_has_its_own_beta_and_cold_ones_never_fall(problem):
    chains = problem.make(problem.starts(60), n_proposals=5)
    cold = np.arange(60) % 2 == 0
    fell = np.zeros(60, dtype=bool)
    for _ in range(12):
        before = chains.values.copy()
        sweep(chains, np.where(cold, 1e9, 0.0))
        fell |= chains.values < before - 1e-9
    assert not fell[cold].any()
    assert fell[~cold].mean() > 0.9


@each()
def test_each_sweep_has_its_own_beta(problem):
    chains = problem.make(problem.starts(60), n_proposals=5)
    beta = np.repeat([1e9, 0.0], 5)[:, None] * np.ones((1, 60))
    start = chains.values.copy()
    values, _ = chains.sweep(beta, np.zeros((10, 60), dtype=np.int64))
    falls = np.diff(np.vstack([start, values]), axis=0) < -1e-9
    assert not falls[:5].any()
    assert falls[5:].any(axis=0).mean() > 0.9


@each()
def test_local_search_ends_where_no_swap_is_better(problem):
    chains = problem.make(problem.starts(40))
    here = chains.subsets.copy()
    subsets, values = chains.climbed()
    np.testing.assert_array_equal(chains.subsets, here)
    assert (values >= chains.values - 1e-9).all()
    known = dict(zip(problem.states, problem.all_rows, strict=True))
    P = swap_transitions(problem, problem.all_rows, 0.0) if problem.swaps else None
    for subset, value in zip(engine.members(subsets), values, strict=True):
        assert value == pytest.approx(known[subset], rel=1e-9)
        if problem.swaps:
            neighbours = np.flatnonzero(P[problem.states.index(subset)])
            assert value >= problem.all_rows[neighbours].max() - 1e-9


# ---- Seeds, copies, threads ---------------------------------------------------------------------


def path(chains, n_sweeps=4):
    """Return what replicas do: subsets and values after each sweep."""
    steps = []
    for _ in range(n_sweeps):
        values, _ = sweep(chains, 0.5)
        steps.append((engine.members(chains.subsets), values.tolist()))
    return steps


@each()
def test_same_seed_same_path_and_another_seed_another(problem):
    for batches in (False, True)[: 1 + problem.batched]:
        starts = problem.starts(30)
        first = path(problem.make(starts, 3, batches=batches))
        assert path(problem.make(starts, 3, batches=batches)) == first
        assert path(problem.make(starts, 4, batches=batches)) != first


@pytest.mark.parametrize("how", ["copy", "pickle"])
@each()
def test_copies_continue_identically(problem, how):
    if not problem.swaps:
        problem = replace(problem, costly=False)  # functions less a cost can't be pickled
    chains = problem.make(problem.starts(20))
    path(chains, 2)
    twin = copy.deepcopy(chains) if how == "copy" else pickle.loads(pickle.dumps(chains))
    assert path(twin) == path(chains)


@each()
def test_more_replicas_change_nothing_for_the_others(problem):
    starts = problem.starts(24)
    few = path(problem.make(starts[:9], n_proposals=7))
    for (few_subsets, _), (subsets, _) in zip(
        few, path(problem.make(starts, n_proposals=7)), strict=True
    ):
        assert subsets[:9] == few_subsets


@each()
def test_replicas_at_the_same_start_part(problem):
    chains = problem.make([problem.states[0]] * 40)
    sweep(chains, 0.0)
    assert len(set(problem.where(chains).tolist())) > min(3, len(problem.states) // 2)


@each()
def test_taken_replicas_are_copies_that_part(problem):
    chains = problem.make(problem.starts(40))
    sweep(chains, problem.beta)
    where, values = problem.where(chains), chains.values.copy()
    indices = np.repeat([3, 11], 20)
    chains.take(indices)
    np.testing.assert_array_equal(problem.where(chains), where[indices])
    np.testing.assert_allclose(chains.values, values[indices])
    sweep(chains, 0.0)
    assert len(set(problem.where(chains)[:20].tolist())) > 1


LARGE = {
    "swap": Problem(engine.swap_chains, 40, 9, {}),
    "limits": Problem(engine.swap_chains, 40, 9, LIMITS, costly=True),
    "complement": Problem(engine.complement_chains, 40, 30, {"never": [3]}),
    "groups": Problem(engine.group_chains, 40, 9, GROUPS, costly=True),
}


@pytest.mark.parametrize("name", LARGE)
def test_threads_change_nothing(name):
    problem = LARGE[name]
    rng = np.random.default_rng(0)
    starts = engine.random_allowed(problem.allowed, problem.size, 90, rng)
    paths = [
        path(problem.make(starts, n_proposals=400, batches=True, n_threads=n), 2) for n in (1, 2, 3)
    ]
    assert paths[0] == paths[1] == paths[2]


# ---- Larger problems ----------------------------------------------------------------------------


@pytest.mark.parametrize("condition", [10.0, 1e5])
@pytest.mark.parametrize("n_columns", [1, 3])
@pytest.mark.parametrize("size", [1, 2, 7, 8, 9, 17, 33])
def test_cold_chains_of_any_size_end_at_a_local_optimum(size, n_columns, condition):
    rng = np.random.default_rng([size, n_columns])
    A, D = data.quadratic(rng, 40, n_columns, condition)
    criterion = engine.quadratic_criterion(A, D)
    starts = [tuple(sorted(rng.permutation(40)[:size].tolist())) for _ in range(3)]
    chains = engine.swap_chains(criterion, starts, size, 0, 2000)
    sweep(chains, 2.0)
    warm = chains.values.copy()
    # The last of the sweeps proposes each swap some tens of times.
    chains.sweep(np.full((8, 3), 1e12), None)
    assert (chains.values >= warm * (1 - 1e-9)).all()
    for subset, value in zip(engine.members(chains.subsets), chains.values, strict=True):
        assert value == pytest.approx(references.quadratic_value(A, D, subset), rel=1e-9)
        best = max(
            references.quadratic_value(A, D, [*(set(subset) - {i}), j])
            for i in subset
            for j in set(range(40)) - set(subset)
        )
        assert value >= best * (1 - 1e-7)
    assert chains.drift < 1e-8


@pytest.mark.parametrize("name", ["swap", "groups", "function", "device"])
@pytest.mark.parametrize(
    ("limits", "size"), [({}, 6), ({"never": [2]}, 5), ({"always": [0, 4]}, 2)]
)
def test_where_there_is_one_subset_nothing_moves(name, limits, size):
    make = partial(PROBLEMS[name].__class__, PROBLEMS[name].build, 6, size, limits)
    problem = make()
    assert len(problem.states) == 1
    chains = problem.make(problem.states * 3)
    for which in (None, 0):
        values, accepted = sweep(chains, 0.0, which)
        assert problem.where(chains).tolist() == [0, 0, 0]
        np.testing.assert_allclose(values, problem.all_rows[0], rtol=1e-9)
        assert not accepted.any()
    assert engine.members(chains.climbed()[0]) == problem.states * 3


@pytest.mark.parametrize("bad", [-np.inf, np.nan])
def test_a_function_is_never_taken_where_it_has_no_value(bad):
    problem = TableFunction(engine.function_chains, 6, 3, {})
    for state in problem.states[::4]:
        problem.table[state] = bad
    good = [s for s in problem.states if np.isfinite(problem.table[s])]
    chains = problem.make((good * 3)[:30], n_proposals=3)
    visited = set()
    for _ in range(60):
        sweep(chains, 0.0)
        visited |= set(engine.members(chains.subsets))
    assert visited == set(good)
