import numpy as np
import pytest

import reference
from safdr._engine.annealing.loop import AnnealingSettings, Draws, anneal
from safdr._engine.annealing.swap_chains import SwapChains, random_subsets
from safdr._engine.criterion import Criterion, fisher_criterion
from safdr._engine.moments import within_moments

QUIET = AnnealingSettings(n_batches=1, batch_fraction=1.0)


class RecordingChains:
    """Replicas that stay put, have the values they are told, and remember how they were swept."""

    sweeps_at_once = 5

    def __init__(self, values, n_batches=1):
        self._values = np.atleast_2d(np.asarray(values, dtype=float).T).T
        self.n_batches = n_batches
        self.betas, self.batches = [], []

    @property
    def values(self):
        return self._values[min(len(self.betas), len(self._values) - 1)]

    def sweep(self, beta, which):
        values, acceptance = np.empty(beta.shape), np.empty(beta.shape)
        for t, row in enumerate(beta):
            self.betas.append(row)
            self.batches.append(None if which is None else which[t])
            values[t], acceptance[t] = self.values, 1 / len(self.betas)
        return values, acceptance


def chains_on(criterion, start, seed=0, sweeps=0.5):
    return SwapChains(
        criterion,
        np.sort(start, axis=1),
        seed=np.random.SeedSequence(seed),
        n_proposals=max(1, round(sweeps * criterion.n_features)),
    )


# ---- The schedule as the replicas see it --------------------------------------------------------


def test_beta_rises_by_epsilon_over_sigma_from_the_first_step(rng):
    chains = RecordingChains([[1.0, 2.0, 4.0]])
    anneal(chains, AnnealingSettings(max_steps=4, temperature_step=0.5), rng)
    step = 0.5 / np.std([1.0, 2.0, 4.0])
    np.testing.assert_allclose(chains.betas, step * np.outer([1, 2, 3, 4], [1, 1, 1]))


def test_a_spread_sample_sets_the_step_instead_of_the_replicas(rng):
    chains = RecordingChains([[5.0]])
    anneal(chains, AnnealingSettings(max_steps=1), rng, spread_sample=np.array([1.0, 3.0]))
    assert chains.betas[0] == pytest.approx(0.7)


@pytest.mark.parametrize("values", [[[3.0, 3.0, 3.0]], [[3.0]], [[0.0, 0.0]]])
def test_replicas_without_spread_do_not_crash(rng, values):
    chains = RecordingChains(values)
    trace = anneal(chains, AnnealingSettings(max_steps=3), rng)
    assert np.isfinite(trace.beta).all()
    assert (np.diff(trace.beta) > 0).all()


def test_a_batch_is_drawn_for_each_replica_at_each_step(rng):
    chains = RecordingChains(np.arange(200.0)[None], n_batches=4)
    anneal(chains, AnnealingSettings(max_steps=3), rng)
    for batch in chains.batches:
        assert set(batch.tolist()) == {0, 1, 2, 3}
    assert not np.array_equal(chains.batches[0], chains.batches[1])


def test_batches_are_the_same_however_many_steps_are_drawn_at_once():
    draws = Draws(np.random.default_rng(0), 5, 7)
    parts = [draws.take(n) for n in (10, 5, 200, 1, 130)]
    expected = np.random.default_rng(0).integers(5, size=(346, 7))
    np.testing.assert_array_equal(np.concatenate(parts), expected)


def test_a_batch_may_be_drawn_for_each_proposal(rng):
    chains = RecordingChains([[1.0, 2.0]], n_batches=4)
    anneal(chains, AnnealingSettings(max_steps=2, batch_draw="proposal"), rng)
    assert all(which is None for which in chains.batches)


# ---- When it stops ------------------------------------------------------------------------------


def test_annealing_stops_when_the_mean_has_settled(rng):
    rising = [[v, v + 1] for v in (1.0, 2.0, 3.0, 4.0, 4.0, 4.0, 4.0, 4.0)]
    trace = anneal(RecordingChains(rising), AnnealingSettings(n_iter_no_change=2), rng)
    assert trace.converged
    # Two windows of two steps at the value of 4, first seen at step 3, are there at step 6; the
    # replicas make five steps between two looks.
    assert len(trace) == 10


def test_annealing_stops_at_max_steps(rng):
    rising = [[v, v + 1.0] for v in range(1, 100)]
    trace = anneal(RecordingChains(rising), AnnealingSettings(max_steps=13), rng)
    assert not trace.converged
    assert len(trace) == 13


# ---- What it says of itself ---------------------------------------------------------------------


def test_the_trace_holds_start_and_steps(two_classes, rng):
    criterion = fisher_criterion(within_moments(*two_classes, 2), ridge=1e-6)
    chains = chains_on(criterion, random_subsets(criterion, 4, 30, rng))
    start = chains.values
    trace = anneal(chains, QUIET, rng)
    assert len(trace.beta) == len(trace.mean) == len(trace.std) == len(trace.acceptance)
    assert len(trace.beta) == len(trace) + 1
    assert trace.beta[0] == 0
    assert np.isnan(trace.acceptance[0])
    assert (trace.mean[0], trace.std[0]) == (start.mean(), start.std())
    assert (trace.mean[-1], trace.std[-1]) == (chains.values.mean(), chains.values.std())
    assert ((trace.acceptance[1:] >= 0) & (trace.acceptance[1:] <= 1)).all()


def test_the_mean_acceptance_is_reported(rng):
    trace = anneal(RecordingChains([[1.0, 2.0]]), AnnealingSettings(max_steps=3), rng)
    np.testing.assert_allclose(trace.acceptance[1:], [1, 1 / 2, 1 / 3])


def test_annealing_raises_the_criterion_and_lowers_the_acceptance(two_classes, rng):
    criterion = fisher_criterion(within_moments(*two_classes, 2), ridge=1e-6)
    trace = anneal(chains_on(criterion, random_subsets(criterion, 4, 50, rng)), QUIET, rng)
    assert trace.mean[-1] > trace.mean[0] + 2 * trace.std[0]
    assert trace.acceptance[-1] < 0.5 * trace.acceptance[1]


# ---- Against the reference ----------------------------------------------------------------------

N_REPLICAS, SIZE, N_STEPS = 250, 4, 8


@pytest.fixture(scope="module")
def reference_trace(two_classes):
    """Values of the reference's replicas at each step, and where they started."""
    X, y = two_classes
    rng = np.random.default_rng(11)
    start = [reference.random_subset(X.shape[1], SIZE, rng) for _ in range(N_REPLICAS)]
    matrices = reference.matrices(X, y, ridge=1e-6)
    _, trace = reference.anneal(matrices, list(start), rng, max_steps=N_STEPS, tol=0.0)
    return np.array(start), trace


def compiled_trace(two_classes, start, temperature_step=0.7):
    X, y = two_classes
    A, D = reference.matrices(X, y, ridge=1e-6)
    chains = chains_on(Criterion(A, D, np.ones(len(A)), 1e-6), start, seed=3)
    settings = AnnealingSettings(max_steps=N_STEPS, tol=0.0, temperature_step=temperature_step)
    return anneal(chains, settings, np.random.default_rng(0))


def standardised_difference(trace, reference_values):
    """Difference of the mean values at each step after the start, in standard errors."""
    mean, std = (np.array([f(v) for v in reference_values[1:]]) for f in (np.mean, np.std))
    return (trace.mean[1:] - mean) / np.sqrt((std**2 + trace.std[1:] ** 2) / N_REPLICAS)


def test_means_of_the_replicas_are_those_of_the_reference(two_classes, reference_trace):
    start, steps = reference_trace
    trace = compiled_trace(two_classes, start)
    np.testing.assert_allclose(trace.beta, [beta for beta, _ in steps], rtol=1e-9)
    difference = standardised_difference(trace, [values for _, values in steps])
    assert np.abs(difference).max() < 4


def test_another_temperature_step_would_be_noticed(two_classes, reference_trace):
    start, steps = reference_trace
    trace = compiled_trace(two_classes, start, temperature_step=1.4)
    difference = standardised_difference(trace, [values for _, values in steps])
    assert difference.max() > 4


def test_the_spread_of_the_replicas_is_that_of_the_reference(two_classes, reference_trace):
    start, steps = reference_trace
    trace = compiled_trace(two_classes, start)
    ratio = trace.std[1:] / [values.std() for _, values in steps[1:]]
    # The logarithm of a ratio of two deviations of n values each has deviation about 1/√n.
    assert np.abs(np.log(ratio)).max() < 4 / np.sqrt(N_REPLICAS)
