import copy
import itertools
import pickle

import numpy as np
import pytest
from scipy.stats import chisquare
from sklearn.datasets import load_breast_cancer

import reference
from chain_cases import (
    batch_of_each,
    fisher,
    make_chains,
    own_variance,
    random_criterion,
    sweep_once,
)
from safdr import _core
from safdr._engine.annealing.swap_chains import SwapChains, random_subsets
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.criterion import stack_criteria

# A right sampler fails a chi-square test at this level once in ten thousand seeds; ours are fixed.
LEVEL = 1e-4

# Swaps in a row, long enough for rounding to add up.
N_SWAPS = 1000


# ---- The gain of a swap -------------------------------------------------------------------------


def random_walk(criterion, size, n_swaps, rng):
    """A start, random positions and candidates, and the subset after each swap.

    Candidates that the chains would refuse as collinear are left out.
    """
    members = reference.random_subset(criterion.n_features, size, rng)
    visited, positions, candidates = [members.copy()], [], []
    while len(positions) < n_swaps:
        position = rng.integers(size)
        j = rng.integers(criterion.n_features)
        if j in members:
            continue
        if own_variance(criterion.A, np.delete(members, position), j) < 2 * criterion.collinear_tol:
            continue
        positions.append(position)
        candidates.append(j)
        members[position] = j
        visited.append(members.copy())
    return np.array(visited), np.array(positions), np.array(candidates)


def assert_gains_are_exact(criterion, size, rng, n_walks=1):
    """Gains and drift on long random walks."""
    for _ in range(n_walks):
        visited, positions, candidates = random_walk(criterion, size, N_SWAPS, rng)
        gains, drift = _core.walk(
            criterion.A,
            criterion.D,
            visited[0].astype(np.int32),
            positions,
            candidates,
            collinear_tol=criterion.collinear_tol,
        )
        values = np.array([reference.fdr(criterion.A, criterion.D, s) for s in visited])
        np.testing.assert_array_less(np.abs(gains - np.diff(values)), 1e-9 * values[1:])
        assert drift < 1e-9


@pytest.mark.parametrize("condition", [10.0, 1e6], ids=["well", "badly"])
@pytest.mark.parametrize("n_columns", [1, 3])
@pytest.mark.parametrize("size", [1, 2, 7, 8, 9, 16, 25, 32, 40])
def test_compiled_gains_are_those_of_the_reference(size, n_columns, condition):
    rng = np.random.default_rng([size, n_columns, int(condition)])
    assert_gains_are_exact(random_criterion(rng, 60, n_columns, condition), size, rng)


@pytest.mark.parametrize("size", [5, 15, 25])
def test_compiled_gains_are_those_of_the_reference_on_breast_cancer(size, rng):
    X, y = load_breast_cancer(return_X_y=True)
    assert_gains_are_exact(fisher(X, y), size, rng, n_walks=4)


@pytest.mark.parametrize("size", [1, 3, 8, 11, 16, 24, 33])
@pytest.mark.parametrize("n_columns", [1, 3])
def test_values_are_those_of_the_reference(size, n_columns, rng):
    criterion = random_criterion(rng, 40, n_columns, condition=1e3)
    chains = make_chains(criterion, size)
    expected = [reference.fdr(criterion.A, criterion.D, subset) for subset in chains.subsets]
    np.testing.assert_allclose(chains.values, expected, rtol=1e-9)


# ---- What the chains sample ---------------------------------------------------------------------

ALL_SUBSETS = np.array(list(itertools.combinations(range(6), 3)))


def small_criterion(seed):
    rng = np.random.default_rng([6, 3, seed])
    return random_criterion(rng, 6, condition=10.0)


def all_values(criterion):
    return np.array([reference.fdr(criterion.A, criterion.D, subset) for subset in ALL_SUBSETS])


def boltzmann(values, beta):
    weight = np.exp(beta * (values - values.max()))
    return weight / weight.sum()


def visits(chains):
    """How many replicas are at each of the subsets."""
    code = (1 << chains.subsets).sum(axis=1)
    return (code[:, None] == (1 << ALL_SUBSETS).sum(axis=1)).sum(axis=0)


def chi_square_p(counts, probabilities):
    return chisquare(counts, counts.sum() * probabilities).pvalue


@pytest.mark.parametrize("which", [0, None], ids=["step", "proposal"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_visits_at_fixed_beta_follow_boltzmann(seed, which):
    criterion = small_criterion(seed)
    values = all_values(criterion)
    beta = 1.0 / values.std()
    n_replicas = 20_000
    # One sample a replica, so that the samples are independent; 200 proposals to forget the start.
    chains = make_chains(criterion, 3, n_replicas, seed, n_proposals=200)
    sweep_once(chains, np.full(n_replicas, beta), batch_of_each(which, n_replicas))
    counts = visits(chains)
    assert counts.sum() == n_replicas
    assert chi_square_p(counts, boltzmann(values, beta)) > LEVEL
    assert chi_square_p(counts, boltzmann(values, 1.1 * beta)) < LEVEL
    assert chi_square_p(counts, boltzmann(values, 0.9 * beta)) < LEVEL


def transition_matrix(values, beta):
    """Metropolis swaps over all subsets, written out."""
    n = len(ALL_SUBSETS)
    P = np.zeros((n, n))
    for i, j in itertools.permutations(range(n), 2):
        if len(np.setdiff1d(ALL_SUBSETS[i], ALL_SUBSETS[j])) == 1:
            P[i, j] = min(1.0, np.exp(beta * (values[j] - values[i]))) / 9
    return P + np.diag(1 - P.sum(axis=1))


def stationary(P):
    """Left eigenvector of eigenvalue one."""
    eigenvalues, vectors = np.linalg.eig(P.T)
    vector = np.real(vectors[:, np.argmax(np.real(eigenvalues))])
    return vector / vector.sum()


@pytest.mark.parametrize("seed", [0, 1])
def test_a_batch_for_each_proposal_mixes_the_transitions(seed):
    criteria = [small_criterion(seed), small_criterion(seed + 10)]
    beta = 1.5 / all_values(criteria[0]).std()
    n_replicas = 20_000
    chains = make_chains(
        criteria[0], 3, n_replicas, seed, n_proposals=300, batches=stack_criteria(criteria)
    )
    sweep_once(chains, np.full(n_replicas, beta), None)
    mixed = np.mean([transition_matrix(all_values(c), beta) for c in criteria], axis=0)
    counts = visits(chains)
    assert chi_square_p(counts, stationary(mixed)) > LEVEL
    assert chi_square_p(counts, boltzmann(all_values(criteria[0]), beta)) < LEVEL


def test_each_replica_sweeps_on_the_batch_it_is_given():
    criteria = [small_criterion(0), small_criterion(10)]
    beta = 1.0 / all_values(criteria[0]).std()
    n_replicas = 10_000
    for index, criterion in enumerate(criteria):
        chains = make_chains(
            criteria[0], 3, n_replicas, n_proposals=200, batches=stack_criteria(criteria)
        )
        sweep_once(chains, np.full(n_replicas, beta), np.full(n_replicas, index))
        counts = visits(chains)
        assert chi_square_p(counts, boltzmann(all_values(criterion), beta)) > LEVEL
        other = criteria[1 - index]
        assert chi_square_p(counts, boltzmann(all_values(other), beta)) < LEVEL


def test_each_replica_has_its_own_beta():
    criterion = small_criterion(0)
    values = all_values(criterion)
    betas = np.repeat([0.0, 1.0, 3.0], 10_000) / values.std()
    chains = make_chains(criterion, 3, len(betas), n_proposals=300)
    sweep_once(chains, betas)
    for beta in np.unique(betas):
        one_temperature = copy.deepcopy(chains)
        one_temperature.take(np.flatnonzero(betas == beta))
        assert chi_square_p(visits(one_temperature), boltzmann(values, beta)) > LEVEL


def test_values_are_of_all_rows_whatever_the_batches():
    criteria = [small_criterion(0), small_criterion(10)]
    chains = make_chains(criteria[0], 3, batches=stack_criteria(criteria[1:]))
    sweep_once(chains, np.full(20, 1.0))
    expected = [criteria[0].value(subset) for subset in chains.subsets]
    np.testing.assert_allclose(chains.values, expected, rtol=1e-9)


# ---- What may move ------------------------------------------------------------------------------


@pytest.mark.parametrize("which", [0, None])
@pytest.mark.parametrize("beta", [0.0, 1.0, 100.0])
def test_included_stay_in_and_excluded_stay_out_in_every_sweep(rng, which, beta):
    include, exclude = [3, 11], [0, 7, 14]
    criterion = random_criterion(rng, 15)
    allowed = AllowedSubsets.make(15, always_include=include, never_include=exclude)
    chains = make_chains(criterion, 5, n_proposals=7, allowed=allowed)
    seen = set()
    for _ in range(60):
        sweep_once(chains, np.full(20, beta), batch_of_each(which, 20))
        assert all(np.isin(include, subset).all() for subset in chains.subsets)
        assert not np.isin(chains.subsets, exclude).any()
        seen |= set(chains.subsets.ravel().tolist())
    assert seen <= set(range(15)) - set(exclude)


def test_every_free_feature_is_visited(rng):
    allowed = AllowedSubsets.make(15, always_include=[3], never_include=[0])
    chains = make_chains(random_criterion(rng, 15), 5, allowed=allowed)
    sweep_once(chains, np.zeros(20))
    assert set(chains.subsets.ravel().tolist()) == set(range(1, 15))


@pytest.mark.parametrize(
    ("size", "include", "exclude"),
    [(6, (), ()), (2, (1, 4), ()), (4, (), (0, 5)), (1, (2,), ()), (5, (0,), (3,))],
)
def test_replicas_without_choice_stay_where_they_are(rng, size, include, exclude):
    allowed = AllowedSubsets.make(6, always_include=include, never_include=exclude)
    chains = make_chains(random_criterion(rng, 6), size, allowed=allowed)
    before = chains.subsets
    assert not chains.can_move
    assert (sweep_once(chains, np.zeros(20)) == 0).all()
    np.testing.assert_array_equal(chains.subsets, before)


def test_subsets_are_sorted_and_without_repetition(rng):
    chains = make_chains(random_criterion(rng, 30), 9)
    sweep_once(chains, np.zeros(20))
    assert (np.diff(chains.subsets, axis=1) > 0).all()


def test_acceptance_is_one_at_beta_zero_and_falls_with_beta(rng):
    chains = make_chains(random_criterion(rng, 30), 5, n_proposals=500)
    assert (sweep_once(chains, np.zeros(20)) == 1).all()
    warm = sweep_once(chains, np.full(20, 2.0)).mean()
    cold = sweep_once(chains, np.full(20, 50.0)).mean()
    assert 0 < cold < warm < 1


def test_at_infinite_beta_the_value_never_falls(rng):
    chains = make_chains(random_criterion(rng, 30), 5, n_proposals=20)
    for _ in range(10):
        before = chains.values
        sweep_once(chains, np.full(20, np.inf))
        assert (chains.values >= before * (1 - 1e-12)).all()


# ---- Same seed, same answer ---------------------------------------------------------------------


def run(chains, n_sweeps=5, beta=2.0, which=0):
    n_replicas = len(chains.subsets)
    for _ in range(n_sweeps):
        acceptance = sweep_once(chains, np.full(n_replicas, beta), batch_of_each(which, n_replicas))
    return chains.subsets, chains.values, acceptance


def assert_identical(left, right):
    for a, b in zip(left, right, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("copier", [copy.deepcopy, lambda c: pickle.loads(pickle.dumps(c))])
def test_a_copy_made_in_mid_run_continues_identically(rng, copier):
    chains = make_chains(random_criterion(rng, 25))
    run(chains)
    twin = copier(chains)
    assert_identical(run(chains), run(twin))


def test_a_copy_is_independent_of_its_original(rng):
    chains = make_chains(random_criterion(rng, 25))
    twin = copy.deepcopy(chains)
    before = twin.subsets
    run(chains)
    np.testing.assert_array_equal(twin.subsets, before)


@pytest.mark.parametrize("which", [0, None])
@pytest.mark.parametrize("n_threads", [2, 3, 64])
def test_the_number_of_threads_does_not_change_a_bit(rng, n_threads, which):
    criterion = random_criterion(rng, 25)
    alone = run(make_chains(criterion, 10, n_threads=1), which=which)
    together = run(make_chains(criterion, 10, n_threads=n_threads), which=which)
    assert_identical(alone, together)


def test_a_replica_does_not_depend_on_how_many_others_there_are(rng):
    criterion = random_criterion(rng, 25)
    start = random_subsets(criterion, 5, 8, rng)
    seed = np.random.SeedSequence
    many = SwapChains(criterion, start, seed=seed(1), n_proposals=40)
    few = SwapChains(criterion, start[:3], seed=seed(1), n_proposals=40)
    np.testing.assert_array_equal(run(many)[0][:3], run(few)[0])


def test_another_seed_gives_other_subsets(rng):
    criterion = random_criterion(rng, 25)
    one, two = (run(make_chains(criterion, seed=seed), beta=0.0)[0] for seed in (0, 1))
    assert not np.array_equal(one, two)


def test_replicas_at_the_same_subset_part(rng):
    criterion = random_criterion(rng, 25)
    start = np.tile(np.arange(5), (10, 1))
    chains = SwapChains(criterion, start, seed=np.random.SeedSequence(0), n_proposals=20)
    sweep_once(chains, np.zeros(10))
    assert len(np.unique(chains.subsets, axis=0)) == 10


# ---- take, drift --------------------------------------------------------------------------------


def test_take_copies_the_replicas_asked_for(rng):
    chains = make_chains(random_criterion(rng, 25), n_replicas=6)
    run(chains)
    subsets, values = chains.subsets, chains.values
    chains.take(np.array([4, 4, 0, 1, 4, 2]))
    np.testing.assert_array_equal(chains.subsets, subsets[[4, 4, 0, 1, 4, 2]])
    np.testing.assert_array_equal(chains.values, values[[4, 4, 0, 1, 4, 2]])


def test_copies_made_by_take_part_at_the_next_sweep(rng):
    chains = make_chains(random_criterion(rng, 25), n_replicas=6)
    chains.take(np.zeros(6, dtype=np.int64))
    sweep_once(chains, np.zeros(6))
    assert len(np.unique(chains.subsets, axis=0)) == 6


@pytest.mark.parametrize("size", [5, 16, 30])
def test_drift_is_visible_and_small(rng, size):
    criterion = random_criterion(rng, 60, condition=1e6)
    chains = make_chains(criterion, size, n_proposals=3 * N_SWAPS)
    assert chains.drift == 0
    sweep_once(chains, np.zeros(20))
    assert 0 < chains.drift < 1e-9


# ---- Where they start ---------------------------------------------------------------------------


def test_random_subsets_are_uniform():
    subsets = random_subsets(small_criterion(0), 3, 20_000, np.random.default_rng(5))
    code = (1 << subsets).sum(axis=1)
    counts = (code[:, None] == (1 << ALL_SUBSETS).sum(axis=1)).sum(axis=0)
    assert chisquare(counts).pvalue > LEVEL


def test_random_subsets_honour_include_and_exclude(rng):
    criterion = small_criterion(0)
    allowed = AllowedSubsets.make(criterion.n_features, always_include=[2], never_include=[0, 5])
    subsets = random_subsets(criterion, 3, 200, rng, allowed)
    assert (subsets == 2).sum() == 200
    assert set(subsets.ravel().tolist()) == {1, 2, 3, 4}
