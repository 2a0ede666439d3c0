"""Population annealing: steps, resampling, families, and what a population samples."""

import numpy as np
import pytest

from benchmarks.dynamics_problem import planted
from chain_cases import make_chains, random_criterion
from safdr._engine.annealing.loop import AnnealingSettings
from safdr._engine.annealing.population import (
    STEPS,
    PopulationSettings,
    anneal_population,
    resample,
    step_by_overlap,
)
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.proof.prover import Prover
from safdr.testing import all_subsets
from searching import class_rows, class_search

QUIET = {"n_batches": 1, "batch_fraction": 1.0}


def effective_share(values, step):
    """Effective sample size over the number of replicas, as defined."""
    weights = [float(np.exp(step * (v - max(values)))) for v in values]
    return sum(weights) ** 2 / sum(w * w for w in weights) / len(weights)


# ---- The step -----------------------------------------------------------------------------------


@pytest.mark.parametrize("overlap", [0.5, 0.8, 0.9, 0.99])
@pytest.mark.parametrize("skew", [-1, 0, 1])
def test_the_step_leaves_the_overlap_that_is_asked_for(rng, overlap, skew):
    values = rng.normal(size=500) if skew == 0 else skew * rng.exponential(size=500)
    step = step_by_overlap(values, overlap)
    assert effective_share(values, step) >= overlap
    longer = step * STEPS[1] / STEPS[0]
    assert effective_share(values, longer) < overlap or longer > 1 / values.std()


def test_steps_are_in_units_of_the_spread(rng):
    values = rng.normal(size=100)
    for scale in (1e-9, 3.0, 1e9):
        expected = step_by_overlap(values, 0.9) / scale
        assert step_by_overlap(scale * values + 7 * scale, 0.9) == pytest.approx(expected)


@pytest.mark.parametrize("values", [[2.5] * 9, [0.1 + 0.2, 0.3] * 4, [0.0] * 3, [-np.inf] * 3])
def test_without_spread_there_is_no_step(values):
    assert step_by_overlap(np.array(values), 0.9) == 0.0


def test_subsets_that_cannot_be_judged_do_not_count_for_the_step(rng):
    values = rng.normal(size=50)
    with_some = np.concatenate([values, [-np.inf] * 10])
    assert step_by_overlap(with_some, 0.9) == step_by_overlap(values, 0.9)


# ---- Resampling ---------------------------------------------------------------------------------


@pytest.mark.parametrize("draw", [0.0, 0.3, 1 - 2**-53])
def test_copies_are_as_many_as_weights_say_to_less_than_one(rng, draw):
    values = rng.normal(size=200)
    values[[3, 199]] = -np.inf
    taken = resample(values, 1.5, draw)
    weights = np.exp(1.5 * values)
    copies = np.bincount(taken, minlength=200)
    assert len(taken) == 200
    assert np.abs(copies - 200 * weights / weights.sum()).max() < 1 + 1e-9
    assert copies[[3, 199]].sum() == 0


def test_copies_are_as_many_as_weights_say_on_average(rng):
    values, n_draws = rng.normal(size=12), 2000
    copies = [
        np.bincount(resample(values, 1.5, draw), minlength=12) for draw in rng.random(n_draws)
    ]
    expected = 12 * np.exp(1.5 * values) / np.exp(1.5 * values).sum()
    error = np.sqrt(expected % 1 * (1 - expected % 1) / n_draws)
    assert (np.abs(np.mean(copies, axis=0) - expected) < 5 * error).all()


@pytest.mark.parametrize(("values", "step"), [([1.0, 2.0, 3.0], 0.0), ([-np.inf] * 3, 2.0)])
def test_where_nothing_is_known_all_stay(values, step):
    assert resample(np.array(values), step, 0.5).tolist() == [0, 1, 2]


# ---- What a population samples ------------------------------------------------------------------

N_RUNS, N_STEPS, POPULATION, RARE = 60, 4, 150, 2.0


def boltzmann(values, beta):
    weights = np.exp(beta * (values - values.max()))
    return weights / weights.sum()


def visits(weigh=True):
    """Visits of each subset less those expected at the last temperature, one row a run."""
    criterion = random_criterion(np.random.default_rng(4), 6)
    states = all_subsets(6, 2)
    values = np.array([criterion.value(state) for state in states])
    # One proposal a step: weighing must do what sweeps can't.
    settings = PopulationSettings(overlap=0.8, max_steps=N_STEPS, tol=0.0)
    rows = []
    for seed in range(N_RUNS):
        chains = make_chains(criterion, 2, POPULATION, seed=seed, n_proposals=1)
        if not weigh:
            chains.take = lambda indices: None
        trace = anneal_population(chains, settings, np.random.default_rng(seed))
        found = [np.flatnonzero((states == s).all(axis=1))[0] for s in chains.subsets]
        expected = POPULATION * boltzmann(values, trace.beta[-1])
        rows.append((np.bincount(found, minlength=len(states)) - expected, expected))
    differences, expected = (np.array(each) for each in zip(*rows, strict=True))
    # Where visits are rare the mean over the runs is not normal.
    return differences[:, expected.mean(axis=0) > RARE]


def largest_deviation(rows):
    """Of all subsets, in standard errors over the runs: replicas of one run hang together."""
    errors = rows.std(axis=0, ddof=1) / np.sqrt(len(rows))
    return np.abs(rows.mean(axis=0) / errors).max()


def test_a_population_visits_subsets_in_proportion_to_boltzmanns_factor():
    assert largest_deviation(visits()) < 4.5
    assert largest_deviation(visits(weigh=False)) > 9


# ---- Families -----------------------------------------------------------------------------------


def test_families_are_counted_from_the_start(rng):
    chains = make_chains(random_criterion(rng, 12), 4, 40)
    family, sizes = np.arange(40), []
    take = chains.take

    def recorded(indices):
        family[:] = family[indices]
        sizes.append([np.sum(family == each) for each in range(40)])
        take(indices)

    chains.take = recorded
    trace = anneal_population(chains, PopulationSettings(max_steps=15, tol=0.0), rng)
    assert len(trace) == len(sizes) == 15
    assert (trace.n_families[0], trace.family_size[0]) == (40, 1.0)
    assert trace.n_families[1:].tolist() == [np.count_nonzero(each) for each in sizes]
    np.testing.assert_allclose(trace.family_size[1:], [np.square(s).sum() / 40 for s in sizes])
    assert (np.diff(trace.n_families) <= 0).all()
    assert trace.n_families[-1] < 40
    assert (np.diff(trace.beta) >= 0).all()
    np.testing.assert_array_equal(trace.mean[-1], chains.values.mean())


# ---- What it is for -----------------------------------------------------------------------------


def test_pairs_that_count_only_together_are_found_among_decoys():
    X, y = planted(3, order=2, n_decoys=30)
    criterion = class_rows(X, y).criterion(1e-6)
    proof = Prover(criterion, AllowedSubsets.without_limits(X.shape[1]), None).prove(6)
    assert proof.optimal

    def n_hits(settings):
        found = [class_search(X, y, settings=settings, seed=s).run(6) for s in range(10)]
        return sum(each.criterion_values.max() > proof.value * (1 - 1e-9) for each in found)

    assert n_hits(PopulationSettings(**QUIET)) >= 9
    assert n_hits(AnnealingSettings(**QUIET)) <= 5
