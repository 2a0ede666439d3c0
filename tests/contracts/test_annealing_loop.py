"""The annealing loop follows the paper's schedule, stops when it should, and finds the optimum."""

import numpy as np
import pytest
from sklearn import datasets

from helpers import chains, data, engine, references

QUIET = {"n_batches": 1, "batch_fraction": 1.0}


class StillChains:
    """Replicas with given values, which record temperatures, batches and copies."""

    sweeps_at_once = 1

    def __init__(self, values, n_batches=1, sweeps_at_once=1):
        self._values = np.atleast_2d(np.asarray(values, dtype=float))
        self.n_batches, self.sweeps_at_once = n_batches, sweeps_at_once
        self.betas, self.batches, self.taken = [], [], []

    @property
    def values(self):
        return self._values[min(len(self.betas), len(self._values) - 1)]

    def sweep(self, beta, batch):
        reached = []
        for t, row in enumerate(beta):
            self.betas.append(row.copy())
            self.batches.append(batch[t])
            reached.append(self.values)
        return np.array(reached), np.full(beta.shape, 0.5)

    def take(self, indices):
        self.taken.append(indices)


# ---- Temperatures -------------------------------------------------------------------------------


@pytest.mark.parametrize("at_once", [1, 5])
@pytest.mark.parametrize("temperature_step", [0.7, 0.25])
def test_beta_rises_by_the_step_over_the_spread_at_the_start(temperature_step, at_once):
    start = np.array([1.0, 2.0, 4.0, 9.0])
    replicas = StillChains([start, [5.0, 5.5, 5.2, 5.1]], sweeps_at_once=at_once)
    how = {"max_steps": 12, "tol": 0.0, "n_iter_no_change": 50}
    trace = engine.anneal(replicas, temperature_step=temperature_step, **how)
    step = temperature_step / start.std()
    np.testing.assert_allclose(replicas.betas, np.outer(step * np.arange(1, 13), np.ones(4)))
    np.testing.assert_allclose(trace.beta, step * np.arange(13))


def test_the_default_step_is_the_papers():
    replicas = StillChains([[1.0, 3.0]])
    engine.anneal(replicas, max_steps=1)
    assert replicas.betas[0].tolist() == pytest.approx([0.7, 0.7])


@pytest.mark.parametrize("values", [[[3.0, 3.0, 3.0]], [[3.0]], [[0.0, 0.0]], [[-np.inf, 1.0]]])
def test_replicas_without_spread_still_cool(values):
    replicas = StillChains(values)
    trace = engine.anneal(replicas, max_steps=4, tol=0.0, n_iter_no_change=9)
    assert np.isfinite(trace.beta).all()
    assert (np.diff(trace.beta) > 0).all()


def test_a_batch_is_drawn_for_each_replica_and_step():
    replicas = StillChains([np.arange(4000.0)], n_batches=4)
    engine.anneal(replicas, max_steps=3, tol=0.0)
    for batch in replicas.batches:
        counts = np.bincount(batch, minlength=4)
        assert np.abs(counts - 1000).max() < 5 * np.sqrt(4000 * 0.25 * 0.75)
    assert not np.array_equal(replicas.batches[0], replicas.batches[1])


# ---- When it stops ------------------------------------------------------------------------------


@pytest.mark.parametrize("window", [1, 3, 5])
@pytest.mark.parametrize("tol", [1e-3, 0.03, 0.2])
def test_it_stops_where_the_definition_says(tol, window):
    rng = np.random.default_rng(window)
    for _ in range(10):
        means = 5.0 * (1 - np.exp(-np.arange(80) / rng.uniform(1, 15)))
        means += 1.0 + rng.normal(size=80) * rng.choice([0.0, 0.01, 0.3])
        replicas = StillChains(np.column_stack([means - 0.5, means + 0.5]))
        trace = engine.anneal(replicas, tol=tol, n_iter_no_change=window, max_steps=70)
        ends = [references.has_converged(means[: n + 1], tol, window) for n in range(71)]
        # The start is the first of the means; a look comes after each step.
        first = next((n for n in range(1, 71) if ends[n]), 70)
        assert len(trace) == first
        assert trace.converged == any(ends)


@pytest.mark.parametrize("values", [[1.0, 2.0], [-1.0, 1.0], [0.0, 0.0]])
def test_there_is_no_convergence_before_two_windows(values):
    for window in (1, 4):
        trace = engine.anneal(StillChains([values]), n_iter_no_change=window, max_steps=50)
        assert len(trace) == 2 * window - 1
        assert trace.converged


def test_it_stops_at_the_last_step():
    rising = [[v, v + 1.0] for v in range(1, 100)]
    trace = engine.anneal(StillChains(rising), max_steps=13)
    assert not trace.converged
    assert len(trace) == 13


def test_the_trace_is_of_the_replicas():
    values = np.random.default_rng(0).normal(size=(9, 6))
    trace = engine.anneal(StillChains(values), max_steps=8, tol=0.0)
    np.testing.assert_allclose(trace.mean, values.mean(axis=1))
    np.testing.assert_allclose(trace.std, values.std(axis=1))
    assert np.isnan(trace.acceptance[0])
    np.testing.assert_allclose(trace.acceptance[1:], 0.5)


# ---- Against the reference ----------------------------------------------------------------------


def test_means_and_spread_are_those_of_the_reference():
    n, n_steps = 300, 8
    rng = np.random.default_rng(3)
    A, D = data.quadratic(rng, 12, 1, 20.0)
    start = np.array([np.sort(rng.permutation(12)[:4]) for _ in range(n)])
    slow = references.anneal(A, D, start, rng, n_steps=n_steps)
    replicas = chains.compiled(engine.quadratic_criterion(A, D), start, 4, 0, 6)
    trace = engine.anneal(replicas, max_steps=n_steps, tol=0.0, n_iter_no_change=99)
    np.testing.assert_allclose(trace.beta, [beta for beta, _ in slow], rtol=1e-9)
    mean, std = (np.array([f(v) for _, v in slow]) for f in (np.mean, np.std))
    error = np.sqrt((std**2 + trace.std**2) / n)
    assert np.abs((trace.mean - mean) / error)[1:].max() < 4
    # The logarithm of a ratio of two deviations of n values each has deviation about 1/√n.
    assert np.abs(np.log(trace.std / std)).max() < 4 / np.sqrt(n)
    faster = references.anneal(A, D, start, rng, n_steps=n_steps, temperature_step=1.4)
    mean = np.array([values.mean() for _, values in faster])
    assert np.abs((trace.mean - mean) / error)[1:].max() > 4


# ---- Populations --------------------------------------------------------------------------------


def weights_of(values, step):
    weight = np.exp(step * (values - values.max()))
    return weight / weight.sum()


@pytest.mark.parametrize("distance", [0.0, 0.3])
def test_copies_are_in_proportion_to_the_weights(distance):
    """The mean number of copies over many draws is n·w, and no draw is off by one or more."""
    values = np.array([0.0, 0.3, 0.35, 1.0, 1.1, 2.0, 2.2, 3.0 + distance])
    n_draws, total = 2000, np.zeros(8)
    for seed in range(n_draws):
        replicas = StillChains([values])
        engine.anneal_population(replicas, seed, target_ess=0.7, max_steps=1)
        weight = weights_of(values, replicas.betas[0][0])
        copies = np.bincount(replicas.taken[0], minlength=8)
        assert (np.abs(copies - 8 * weight) < 1.0).all()
        total += copies
    fraction = 8 * weight % 1
    error = np.sqrt(fraction * (1 - fraction) / n_draws)
    assert (np.abs(total / n_draws - 8 * weight) < 4.5 * error + 1e-12).all()


@pytest.mark.parametrize("target", [0.5, 0.9])
def test_the_step_leaves_the_effective_sample_asked_for(target):
    values = np.random.default_rng(0).exponential(size=400)
    replicas = StillChains([values])
    engine.anneal_population(replicas, target_ess=target, max_steps=1)
    beta = replicas.betas[0][0]

    def share(step):
        return 1.0 / np.sum(weights_of(values, step) ** 2) / 400

    assert share(beta) >= target
    assert share(1.1 * beta) < target


def test_a_population_samples_boltzmann_all_the_way_down():
    rng = np.random.default_rng(0)
    A, D = data.quadratic(rng, 7, 1, 10.0)
    values = references.subset_values(A, D, references.allowed_subsets(7, 3))
    states, n = list(values), 8000
    starts = [states[i] for i in rng.integers(len(states), size=n)]
    # Few proposals: the weights must do what sweeps do not have the time for.
    replicas = chains.compiled(engine.quadratic_criterion(A, D), starts, 3, 1, 2)
    trace = engine.anneal_population(replicas, max_steps=6, tol=0.0, n_iter_no_change=99)
    every = np.array([*values.values()])
    for beta, mean, family in zip(trace.beta, trace.mean, trace.family_size, strict=True):
        probability = references.boltzmann(every, beta)
        expected = probability @ every
        # Copies of one start count as one, at worst.
        error = np.sqrt(probability @ (every - expected) ** 2 * family / n)
        assert abs(mean - expected) < 4 * error


# ---- Searches -----------------------------------------------------------------------------------


def best_of_all(X, y, size, shrinkage=1e-6, **limits):
    criterion = engine.criterion_of(X, y, None, shrinkage)
    subsets = references.allowed_subsets(X.shape[1], size, **limits)
    return max(criterion.value(list(subset)) for subset in subsets)


@pytest.mark.parametrize("population", [False, True])
@pytest.mark.parametrize("task", ["two", "three", "outputs"])
def test_the_best_criterion_value_is_that_of_all_subsets(task, population):
    rng = np.random.default_rng(5)
    if task == "outputs":
        X, y = data.output_rows(rng, 150, 11)
    else:
        X, y = data.class_rows(rng, 150, 11, 2 if task == "two" else 3)
    search = engine.search(X, y, population=population)
    for size in (1, 2, 4, 8, 10, 11):
        result = search.run(size)
        assert result.criterion_values.max() == pytest.approx(best_of_all(X, y, size), rel=1e-9)


@pytest.mark.parametrize("task", ["classes", "outputs"])
def test_the_winner_has_the_smallest_loss_of_the_candidates(task):
    rng = np.random.default_rng(6)
    X, y = data.class_rows(rng, 90, 9) if task == "classes" else data.output_rows(rng, 90, 9)
    result = engine.search(X, y, C=1.0, n_replicas=20).run(3)
    fits = engine.fitter(X, y).fit(result.subsets)
    assert fits.losses[result.best] <= fits.losses.min() * (1 + 1e-9)
    assert result.loss == pytest.approx(fits.losses[result.best], rel=1e-9)
    assert result.subset.tolist() == result.subsets[result.best].tolist()


def test_a_search_is_a_function_of_seed_and_size():
    X, y = data.class_rows(np.random.default_rng(7), 200, 30)
    few = {"n_replicas": 60, "max_steps": 12}

    def found(seed, sizes, n_threads=1):
        search = engine.search(X, y, seed=seed, **few)
        results = {size: search.run(size, n_threads=n_threads) for size in sizes}
        return {
            k: (r.subsets.tolist(), r.criterion_values.tolist(), r.losses.tolist())
            for k, r in results.items()
        }

    first = found(0, (3, 9, 20))
    assert found(0, (20, 9, 3)) == first
    assert found(0, (9,))[9] == first[9]
    assert found(0, (3, 9, 20), n_threads=2) == first
    other = found(1, (9,))[9]
    assert other[0] != first[9][0]


def test_limits_and_costs_of_a_search_are_those_of_brute_force():
    X, y = data.class_rows(np.random.default_rng(9), 150, 10)
    criterion = engine.criterion_of(X, y)
    for limits, sizes in (
        ({"always": [3], "never": [0], "at_most_one_of": [[1, 2, 4]]}, (1, 3, 6)),
        ({"groups": [[0, 5], [1, 6, 7]], "never": [9]}, (1, 3, 5)),
    ):
        allowed = engine.constraints(10, **limits)
        cost = np.linspace(0.0, 0.3, 10)
        for each_cost in (None, cost):
            search = engine.search(X, y, allowed=allowed, cost=each_cost)
            for size in sizes:
                subsets = references.allowed_subsets(10, size, **limits)
                A, D = criterion.A, criterion.D
                values = references.subset_values(A, D, subsets, each_cost)
                result = search.run(size)
                assert {*engine.members(result.subsets)} <= {*subsets}
                best = max(values.values())
                assert result.criterion_values.max() == pytest.approx(best, rel=1e-9)


def test_a_custom_function_is_searched_for_its_best_subset():
    rng = np.random.default_rng(10)
    table = {s: float(rng.normal()) for s in references.allowed_subsets(8, 3)}
    bonus = {s: v + 0.5 * len({0, 3, 6} & set(s)) for s, v in table.items()}
    search = engine.function_search(bonus.__getitem__, 8, n_replicas=40)
    result = search.run(3)
    assert result.criterion_value == max(bonus.values())
    assert bonus[tuple(result.subset.tolist())] == max(bonus.values())


def test_the_optimum_is_found_with_nearly_every_seed():
    """At every size of a set of real columns that correlate, by proof."""
    X, y = datasets.load_breast_cancer(return_X_y=True)
    X = X[:, :14]
    prover = engine.prover(engine.criterion_of(X, y))
    n_found = 0
    for size in range(1, 14):
        best = prover.prove(size, seconds=30.0)
        assert best.optimal
        for seed in range(10):
            found = engine.search(X, y, seed=seed).run(size).criterion_values.max()
            n_found += found >= best.value * (1 - 1e-9)
    assert n_found >= 129


def test_features_without_information_enter_only_if_no_others_are_left():
    X, y = data.class_rows(np.random.default_rng(11), 100, 6)
    X = np.column_stack([X, np.full(100, 3.0), np.zeros(100)])
    search = engine.search(X, y)
    for size in range(1, 7):
        assert np.asarray(search.run(size).subsets).max() < 6
    assert search.run(7).subset.max() >= 6


def test_one_replica_anneals_with_the_spread_of_random_subsets():
    X, y = data.class_rows(np.random.default_rng(12), 150, 10)
    result = engine.search(X, y, n_replicas=1).run(4)
    assert result.criterion_values.max() == pytest.approx(best_of_all(X, y, 4), rel=1e-9)
    assert (np.diff(result.trace.beta) > 0).all()
