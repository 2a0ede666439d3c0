"""The search on a device, on torch's CPU: criteria, chains, batches and fits are those of the core.

Its chains keep the contract of all chains, in `test_chains`; here they sample more problems.
"""

import numpy as np
import pytest
from scipy.stats import chisquare

from helpers import chains, data, engine, references

torch = pytest.importorskip("torch")

LEVEL = 1e-4
MAX_Z = 4.0
N_SAMPLES = 12_000


@pytest.fixture(autouse=True)
def one_thread():
    """Tensors this small gain nothing by threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


# ---- Temperature --------------------------------------------------------------------------------


@pytest.mark.parametrize("n_columns", [1, 3])
@pytest.mark.parametrize(("n_features", "size"), [(5, 1), (5, 2), (6, 4)])
def test_samples_have_the_temperature_asked_for(n_features, size, n_columns):
    rng = np.random.default_rng([n_features, size, n_columns])
    A, D = data.quadratic(rng, n_features, n_columns, 10.0)
    found = references.subset_values(A, D, references.allowed_subsets(n_features, size))
    states, values = list(found), np.array([*found.values()])
    starts = [states[i] for i in rng.integers(len(states), size=N_SAMPLES)]
    replicas = chains.device(engine.quadratic_criterion(A, D), starts, size, 0, 30)
    beta = 1.0 / values.std()
    replicas.sweep(np.full((1, N_SAMPLES), beta), np.zeros((1, N_SAMPLES), dtype=np.int64))
    where = np.array([states.index(s) for s in engine.members(replicas.subsets)])

    def z(beta):
        probability = references.boltzmann(values, beta)
        expected = probability @ values
        spread = np.sqrt(probability @ (values - expected) ** 2)
        return abs(values[where].mean() - expected) / spread * np.sqrt(N_SAMPLES)

    counts = np.bincount(where, minlength=len(states))
    expected = N_SAMPLES * references.boltzmann(values, beta)
    assert chisquare(counts, expected).pvalue > LEVEL
    assert z(beta) < MAX_Z
    assert min(z(0.9 * beta), z(1.1 * beta)) > MAX_Z


# ---- Criteria -----------------------------------------------------------------------------------


@pytest.mark.parametrize("shrinkage", ["auto", 0.1])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("task", ["two", "three", "output", "outputs"])
def test_criteria_are_those_of_the_core(task, dtype, weighted, shrinkage):
    rng = np.random.default_rng(0)
    if task.startswith("output"):
        X, y = data.output_rows(rng, 150, 8, 1 if task == "output" else 2)
    else:
        X, y = data.class_rows(rng, 150, 8, 2 if task == "two" else 3)
    X = (X + 300.0).astype(dtype)
    weight = rng.uniform(0.1, 1.0, 150) if weighted else None
    if weighted:
        weight /= weight.max()
    ours = engine.device_criterion(X, y, weight, shrinkage)
    core = engine.criterion_of(X.astype(float), y, weight, shrinkage)
    assert engine.shrinkage_of(ours) == pytest.approx(engine.shrinkage_of(core), rel=1e-6)
    for subset in ([0], [1, 4], [2, 3, 5, 7]):
        assert ours.value(subset) == pytest.approx(core.value(subset), rel=1e-7)


def test_constant_columns_and_copies_of_the_label_are_not_needed():
    rng = np.random.default_rng(1)
    for n_rows in (30, 65, 99):
        X, codes = rng.normal(size=(n_rows, 6)), data.labels(rng, n_rows)
        X[:, 1], X[:, 2], X[:, 3], X[:, 4] = 0.1, 1e6 + 1 / 3, codes, 0.7 * codes + 0.1
        for weight in (None, rng.uniform(0.1, 1.0, n_rows)):
            assert engine.unneeded(engine.device_criterion(X, codes, weight, 1e-6)) == [1, 2, 4]


# ---- Searches -----------------------------------------------------------------------------------


@pytest.mark.parametrize("task", ["classes", "outputs"])
def test_the_best_value_is_that_of_all_subsets(task):
    rng = np.random.default_rng(2)
    X, y = data.class_rows(rng, 120, 9, 3) if task == "classes" else data.output_rows(rng, 120, 9)
    criterion = engine.criterion_of(X, y)
    cost = 0.02 * criterion.value(list(range(9))) * np.arange(9)
    limits = {"always": [8], "never": [0]}
    for how, limited, price in (
        ({}, {}, np.zeros(9)),
        ({"allowed": engine.constraints(9, **limits), "cost": cost}, limits, cost),
    ):
        search = engine.device_search(X, y, n_replicas=20, max_steps=20, **how)
        for size in (1, 3, 6, 8):
            subsets = references.allowed_subsets(9, size, **limited)
            best = max(criterion.value(list(s)) - price[list(s)].sum() for s in subsets)
            result = search.run(size)
            assert {*engine.members(result.subsets)} <= {*subsets}
            assert result.criterion_values.max() == pytest.approx(best, rel=1e-7)


def test_a_search_is_a_function_of_seed_and_size():
    X, codes = data.class_rows(np.random.default_rng(3), 100, 15)

    def found(seed, sizes):
        search = engine.device_search(X, codes, seed=seed, n_replicas=25, max_steps=6)
        return {size: search.run(size).subsets.tolist() for size in sizes}

    first = found(0, (3, 6))
    again = found(0, (6, 3))
    assert again == first
    assert found(1, (6,))[6] != first[6]
