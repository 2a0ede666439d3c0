import itertools

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer

import reference
from safdr._engine.annealing.function_chains import FunctionChains
from safdr._engine.annealing.group_chains import GroupChains
from safdr._engine.annealing.loop import AnnealingSettings
from safdr._engine.constraints import AllowedSubsets
from searching import class_search

QUIET = AnnealingSettings(n_batches=1, batch_fraction=1.0)
N_FEATURES = 11


def brute_force(A, D, size):
    """The largest criterion value over all subsets of one size."""
    subsets = np.array(list(itertools.combinations(range(len(A)), size)))
    d = D[subsets]
    solved = np.linalg.solve(A[subsets[:, :, None], subsets[:, None, :]], d)
    return np.sum(d * solved, axis=(1, 2)).max()


def correlated():
    """Features in groups that stand in for each other, so that greedy choices mislead."""
    rng = np.random.default_rng(5)
    y = np.arange(150) % 2
    groups = rng.normal(size=(150, 4)) + 0.6 * y[:, None]
    X = groups[:, np.arange(N_FEATURES) % 4] + 0.7 * rng.normal(size=(150, N_FEATURES))
    return X, y


def breast_cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return X[::4, ::4], y[::4]


@pytest.mark.parametrize("data", [correlated, breast_cancer])
def test_the_optimum_is_found_in_99_of_100_seeds_at_every_size(data):
    X, y = data()
    A, D = reference.matrices(X, y, ridge=1e-6)
    searches = [class_search(X, y, settings=QUIET, seed=seed) for seed in range(100)]
    for size in range(1, X.shape[1] + 1):
        optimum = brute_force(A, D, size)
        found = np.array([search.run(size).criterion_values.max() for search in searches])
        assert found.max() <= optimum * (1 + 1e-9)
        hits = np.sum(found >= optimum * (1 - 1e-9))
        assert hits >= 99, f"size {size}: {hits} of 100"


def test_a_proof_finds_what_one_short_replica_misses_and_annealing_does_not():
    X, y = load_breast_cancer(return_X_y=True)
    weak = AnnealingSettings(n_replicas=1, max_steps=1, n_batches=1, batch_fraction=1.0)
    missed = 0
    for seed in range(6):
        proof = class_search(X, y, settings=weak, seed=seed).run(6, prove=1e6).proof
        assert proof.optimal
        short = class_search(X, y, settings=weak, seed=seed).run(6).criterion_values.max()
        found = class_search(X, y, settings=QUIET, seed=seed).run(6).criterion_values.max()
        missed += short < proof.value * (1 - 1e-9)
        assert found == pytest.approx(proof.value, rel=1e-9)
    assert missed >= 2


@pytest.mark.parametrize("batch_draw", ["step", "proposal"])
def test_with_batches_criterion_values_are_of_all_rows(two_classes, batch_draw):
    X, y = two_classes
    settings = AnnealingSettings(n_replicas=20, max_steps=10, batch_draw=batch_draw)
    result = class_search(X, y, settings=settings, seed=1).run(4)
    A, D = reference.matrices(X, y, ridge=1e-6)
    expected = [reference.fdr(A, D, subset) for subset in result.subsets]
    np.testing.assert_allclose(result.criterion_values, expected, rtol=1e-9)
    assert result.trace.mean[-1] == result.criterion_values[: result.n_replicas].mean()


def test_with_batches_cross_entropies_are_of_all_rows(two_classes):
    X, y = two_classes
    settings = AnnealingSettings(n_replicas=10, max_steps=10)
    result = class_search(X, y, settings=settings, seed=1).run(3)
    expected = [reference.cross_entropy(X, y, subset) for subset in result.subsets]
    np.testing.assert_allclose(result.cross_entropies, expected, rtol=1e-6)


def test_batches_keep_the_replicas_apart(two_classes):
    X, y = two_classes
    noisy = class_search(X, y, settings=AnnealingSettings(), seed=0).run(4)
    quiet = class_search(X, y, settings=QUIET, seed=0).run(4)
    assert len(np.unique(noisy.subsets, axis=0)) > len(np.unique(quiet.subsets, axis=0))


def test_the_best_replica_has_the_smallest_cross_entropy_of_all(two_classes):
    X, y = two_classes
    result = class_search(X, y, settings=AnnealingSettings(), seed=0).run(3)
    assert result.cross_entropy == result.cross_entropies.min()
    assert result.criterion_value == result.criterion_values[result.best]


def test_the_pick_is_at_least_as_good_as_that_of_the_reference(two_classes):
    X, y = two_classes
    chosen = reference.select(X, y, 3, np.random.default_rng(0), n_replicas=30, max_steps=40)
    result = class_search(X, y, settings=AnnealingSettings(), seed=0).run(3)
    assert result.cross_entropy <= reference.cross_entropy(X, y, chosen) * (1 + 1e-6)


@pytest.mark.parametrize("n_threads", [2, 3])
def test_the_number_of_threads_does_not_change_a_bit(two_classes, n_threads):
    search = class_search(*two_classes, settings=AnnealingSettings(), seed=4)
    one, many = search.run(4), search.run(4, n_threads=n_threads)
    for name in ("subsets", "criterion_values", "cross_entropies", "coefficients", "intercepts"):
        np.testing.assert_array_equal(getattr(one, name), getattr(many, name))


def test_a_size_does_not_depend_on_those_searched_before(two_classes):
    used = class_search(*two_classes, settings=AnnealingSettings(), seed=4)
    for size in (2, 7, 12):
        used.run(size)
    fresh = class_search(*two_classes, settings=AnnealingSettings(), seed=4)
    np.testing.assert_array_equal(used.run(5).subsets, fresh.run(5).subsets)


def test_one_replica_gets_its_step_from_a_sample_of_subsets(two_classes):
    settings = AnnealingSettings(n_replicas=1, n_batches=1, batch_fraction=1.0)
    trace = class_search(*two_classes, settings=settings, seed=0).run(3).trace
    fifty = class_search(*two_classes, settings=QUIET, seed=0).run(3).trace
    assert 0.5 < trace.beta[1] / fifty.beta[1] < 2.0


def test_constant_features_are_never_visited_while_others_are_enough(two_classes):
    X, y = two_classes
    X = np.column_stack([np.full(len(X), 0.1), X, np.zeros(len(X))])
    search = class_search(X, y, settings=AnnealingSettings(max_steps=5), seed=0)
    result = search.run(12)
    assert not np.isin(result.subsets, [0, 13]).any()
    assert not np.isin(result.start_subsets, [0, 13]).any()
    assert search.run(13).size == 13


def test_all_features_is_one_subset(two_classes):
    result = class_search(*two_classes, settings=AnnealingSettings(), seed=0).run(12)
    assert (result.subsets == np.arange(12)).all()
    assert np.unique(result.cross_entropies).size == 1


def test_drift_is_reported_and_small(two_classes):
    result = class_search(*two_classes, settings=QUIET, seed=0).run(6)
    assert 0 < result.drift < 1e-9


@pytest.mark.parametrize("size", [10, 25, 30, 45])
def test_drift_stays_small_where_the_size_nears_or_passes_the_rows(size):
    rng = np.random.default_rng(0)
    y = np.arange(30) % 2
    X = rng.normal(size=(30, 200)) + y[:, None] * (np.arange(200) < 4)
    settings = AnnealingSettings(n_replicas=10, max_steps=10)
    result = class_search(X, y, settings=settings, seed=0).run(size)
    # The incremental values decide on acceptance: they may be off by far less than they differ.
    assert result.drift < 1e-3


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_matrix])
def test_sparse_rows_are_searched_like_dense_ones(form):
    rng = np.random.default_rng(3)
    X = np.where(rng.random((400, 40)) < 0.1, rng.normal(size=(400, 40)) + 1, 0.0)
    y = (X[:, :5].sum(axis=1) + rng.normal(size=400) > 0.5).astype(np.int64)
    dense = class_search(X, y, settings=AnnealingSettings(), seed=0).run(4)
    here = class_search(form(X), y, settings=AnnealingSettings(), seed=0).run(4)
    np.testing.assert_array_equal(here.subsets, dense.subsets)
    np.testing.assert_allclose(here.criterion_values, dense.criterion_values, rtol=1e-10)
    assert here.cross_entropy == pytest.approx(dense.cross_entropy, rel=1e-9)


@pytest.mark.parametrize(("fraction", "noisy"), [(1.0, False), (0.9, True)])
@pytest.mark.parametrize("n_batches", [1, 5])
def test_batches_of_all_rows_are_no_noise(two_classes, n_batches, fraction, noisy):
    settings = AnnealingSettings(n_batches=n_batches, batch_fraction=fraction)
    search = class_search(*two_classes, settings=settings, seed=0).prepare(3)
    assert (search._batches is not None) is noisy


def test_the_number_of_batches_falls_where_they_would_not_fit(two_classes, monkeypatch):
    monkeypatch.setattr("safdr._engine.criterion.BATCH_BYTES", 3 * 8 * 12**2)
    search = class_search(*two_classes, settings=AnnealingSettings(), seed=0).prepare(3)
    assert search._batches is not None
    assert len(search._batches[1][0]) == 3


# ---- Groups -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wishes", "compiled"),
    [
        ({"groups": [[0, 1, 2], [4, 5]]}, True),
        ({"groups": [[0, 1], [4, 5]], "count": "columns"}, False),
        ({"groups": [[0, 1], [4, 5]], "count": "columns", "always_include": [0, 4]}, True),
    ],
)
def test_groups_that_count_the_same_are_searched_by_the_compiled_chains(wishes, compiled):
    X, y = correlated()
    constraints = AllowedSubsets.make(N_FEATURES, **wishes)
    search = class_search(X, y, settings=QUIET, seed=0, constraints=constraints)
    chains = search._chains(6, np.random.default_rng(0), np.random.SeedSequence(0), 1)
    assert isinstance(chains, GroupChains if compiled else FunctionChains)


def test_the_best_groups_are_found():
    X, y = correlated()
    A, D = reference.matrices(X, y, ridge=1e-6)
    constraints = AllowedSubsets.make(N_FEATURES, groups=[[0, 3, 8], [1, 6], [4, 10]])
    for size in range(1, 7):
        every = [constraints.columns_of(row).tolist() for row in constraints.every(size, 1000)]
        optimum = max(reference.fdr(A, D, subset) for subset in every)
        for seed in range(5):
            settings = AnnealingSettings(n_replicas=10, n_batches=1, batch_fraction=1.0)
            search = class_search(X, y, settings=settings, seed=seed, constraints=constraints)
            assert search.run(size).criterion_values.max() == pytest.approx(optimum, rel=1e-9)


def test_batches_are_large_enough_for_the_columns_of_groups(monkeypatch):
    X, y = correlated()
    asked = []

    def batch_share(fraction, n_columns, counts):
        asked.append(n_columns)
        return 1.0

    monkeypatch.setattr("safdr._engine.search.batch_share", batch_share)
    constraints = AllowedSubsets.make(N_FEATURES, groups=[[0, 1, 2, 3], [4, 5]])
    search = class_search(X, y, settings=AnnealingSettings(), seed=0, constraints=constraints)
    search.prepare(3)
    assert asked == [7]
