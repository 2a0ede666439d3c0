"""Moments are those of the definition, whatever rows are stored in and however they are read."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from helpers import data, engine, references

PRODUCERS = pytest.mark.parametrize("producer", list(engine.CLASS_MOMENTS))
JOINT_PRODUCERS = pytest.mark.parametrize("producer", list(engine.JOINT_MOMENTS))
N_CLASSES = 3


def class_moments(producer, X, codes, weight=None):
    return engine.CLASS_MOMENTS[producer](X, codes, N_CLASSES, weight)


def assert_defined(found, X, codes, weight=None, tol=1e-10):
    """Errors relative to the standard deviations within the classes."""
    weights, means, covariances = references.class_moments(X, codes, weight)
    spread = np.sqrt(covariances.sum(axis=0).diagonal())
    spread[spread == 0] = 1.0
    np.testing.assert_allclose(found.weight, weights, rtol=1e-12)
    far = np.maximum(1.0, np.abs(X).max(axis=0) / spread)
    assert (np.abs(found.mean - means) <= tol * far * spread).all()
    error = np.abs(found.within - covariances.sum(axis=0)) / np.outer(spread, spread)
    assert (error <= tol).all()


def problem(seed=0, n_rows=400, n_features=6, zeros=False):
    rng = np.random.default_rng(seed)
    X, codes = data.class_rows(rng, n_rows, n_features, N_CLASSES)
    if zeros:
        X[rng.random(X.shape) < 0.85] = 0.0
    return X, codes


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("zeros", [False, True])
@PRODUCERS
def test_class_moments_are_the_definition(producer, zeros, weighted):
    for seed in range(3):
        X, codes = problem(seed, zeros=zeros)
        weight = np.random.default_rng(seed).uniform(0.01, 4.0, len(X)) if weighted else None
        assert_defined(class_moments(producer, X, codes, weight), X, codes, weight)


@PRODUCERS
def test_weights_equal_copies_and_zero_equals_absence(producer):
    X, codes = problem(zeros=True)
    counts = data.repeats_of_rows(np.random.default_rng(1), len(X))
    found = class_moments(producer, X, codes, counts.astype(float))
    assert_defined(found, np.repeat(X, counts, axis=0), np.repeat(codes, counts))


@PRODUCERS
def test_far_means_lose_no_digits(producer):
    X, codes = problem()
    X = X + 1e6 * np.arange(6) + 1e5 * codes[:, None]
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(X))
    for w in (None, weight):
        assert_defined(class_moments(producer, X, codes, w), X, codes, w, tol=1e-6)


@PRODUCERS
def test_rows_in_the_worst_order(producer):
    X, codes = problem(n_rows=900)
    order = np.argsort(codes, kind="stable")
    X, codes = X[order], codes[order]
    X += np.linspace(0, 1e4, len(X))[:, None]
    assert_defined(class_moments(producer, X, codes), X, codes, tol=1e-9)


@PRODUCERS
def test_a_constant_column_has_no_variance_at_all(producer):
    X, codes = problem(n_rows=3000)
    X[:, 1], X[:, 3], X[:, 4] = 0.1, 1e10 / 3, np.array([0.3, -7e5 / 9, 0.0])[codes]
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(X))
    for w in (None, weight):
        found = class_moments(producer, X, codes, w)
        assert (np.diag(found.within)[[1, 3, 4]] == 0.0).all()
        assert (np.diag(found.within)[[0, 2, 5]] > 0.1).all()


@PRODUCERS
def test_a_class_without_rows_weighs_nothing(producer):
    X, codes = problem()
    codes = np.where(codes == 1, 2, codes)
    found = class_moments(producer, X, codes)
    assert found.weight[1] == 0.0
    assert np.isfinite(found.within).all()
    _, _, covariances = references.class_moments(X, codes)
    np.testing.assert_allclose(found.within, covariances.sum(axis=0), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_single_precision_rows_are_summed_in_double(weighted):
    X, codes = problem(n_rows=5000)
    X = (X + 100.0).astype(np.float32)
    weight = np.random.default_rng(0).uniform(0.1, 2.0, len(X)) if weighted else None
    assert_defined(class_moments("rows", X, codes, weight), X.astype(float), codes, weight, 1e-9)


@pytest.mark.parametrize("n_features", [3, 1100])
def test_more_rows_than_one_block_and_many_features(n_features):
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(600 if n_features > 3 else 200_000, n_features)), None
    codes = data.labels(rng, len(X), 2)
    X[codes == 1, :2] += 50.0
    found = engine.CLASS_MOMENTS["rows"](X, codes, 2, None)
    np.testing.assert_array_equal(found.within, found.within.T)
    expected = np.cov(X[codes == 0].T, bias=True) + np.cov(X[codes == 1].T, bias=True)
    np.testing.assert_allclose(found.within, expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("producer", ["rows", "sparse"])
def test_rows_without_a_class_do_not_count_and_no_row_changes(producer):
    X, codes = problem(zeros=True)
    X.flags.writeable = False
    codes = np.where(np.arange(len(X)) % 5 == 0, -1, codes)
    kept = codes >= 0
    assert_defined(class_moments(producer, X, codes), X[kept], codes[kept])


@pytest.mark.parametrize("buckets", [[1, 4], [0]])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_sum_of_buckets_has_the_moments_of_their_rows(buckets, weighted):
    X, codes = problem(n_rows=3000)
    X[:, 0] += 1e6
    X[:, 1] = np.where(np.arange(len(X)) % 300 == 0, 1e5, 0.1)
    weight = np.random.default_rng(1).uniform(0.1, 5, len(X)) if weighted else None
    _, rows = engine.moments_of_buckets(X, codes, N_CLASSES, weight, buckets)
    X[rows, 1] = 0.1  # constant in these buckets: rounding must not look like a variance
    found, rows = engine.moments_of_buckets(X, codes, N_CLASSES, weight, buckets)
    assert not found.within[1].any()
    assert (found.mean[:, 1] == 0.1).all()
    others = np.array([0, 2, 3, 4, 5])
    some = found.within[np.ix_(others, others)]
    found = found._replace(mean=found.mean[:, others], within=some)
    of_rows = None if weight is None else weight[rows]
    assert_defined(found, X[np.ix_(rows, others)], codes[rows], of_rows, 1e-8)


def test_entries_of_sparse_rows_may_repeat_and_be_integers():
    X, codes = problem(zeros=True)
    X = np.round(4 * X)
    once = sparse.coo_array(X.astype(np.int32))
    twice = sparse.csr_array(
        (np.tile(once.data, 2), tuple(np.tile(each, 2) for each in once.coords)), shape=X.shape
    )
    found = engine.CLASS_MOMENTS["rows"](twice, codes, N_CLASSES, None)
    assert_defined(found, 2 * X, codes)


@pytest.mark.parametrize("kind", ["rows", "sparse"])
def test_rows_are_never_copied_as_a_whole(kind):
    X = np.zeros((40_000, 300))
    X[::50] = np.random.default_rng(0).normal(size=(800, 300))
    codes, rows = np.arange(30_000) % 2, np.arange(30_000)
    X = sparse.csr_array(X)[rows] if kind == "sparse" else engine.take_rows(X, rows)
    tracemalloc.start()
    try:
        engine.CLASS_MOMENTS["rows"](X, codes, 2, None)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 30_000 * 300 * 8 / 3


def test_no_second_matrix_of_many_features():
    X, codes = np.random.default_rng(0).normal(size=(40, 1500)), np.arange(40) % 2
    tracemalloc.start()
    try:
        engine.CLASS_MOMENTS["rows"](X, codes, 2, None)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1.5 * 8 * 1500**2


# ---- Features and outputs -----------------------------------------------------------------------


def assert_joint(found, X, Y, weight=None, tol=1e-10):
    K = X.shape[1]
    weight = np.ones(len(X)) if weight is None else weight
    mean, joint = references.weighted_covariance(np.column_stack([X, Y]), weight)
    spread = np.sqrt(np.diag(joint))
    unit = np.where(spread > 0, spread, 1.0)
    assert found.weight == pytest.approx(weight.sum())
    np.testing.assert_allclose(found.mean / unit[:K], mean[:K] / unit[:K], rtol=1e-9, atol=tol)
    for block, expected, scale in (
        (found.covariance, joint[:K, :K], np.outer(unit[:K], unit[:K])),
        (found.cross, joint[:K, K:], np.outer(unit[:K], unit[K:])),
        (found.output_variance, joint.diagonal()[K:], unit[K:] ** 2),
    ):
        np.testing.assert_allclose(block / scale, expected / scale, atol=tol)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("zeros", [False, True])
@JOINT_PRODUCERS
def test_joint_moments_are_the_definition(producer, zeros, weighted):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, Y = data.output_rows(rng, 400, 5, 2)
        if zeros:
            X[rng.random(X.shape) < 0.85] = 0.0
        weight = rng.uniform(0.01, 4.0, len(X)) if weighted else None
        assert_joint(engine.JOINT_MOMENTS[producer](X, Y, weight), X, Y, weight)


@JOINT_PRODUCERS
def test_joint_weights_equal_copies(producer):
    rng = np.random.default_rng(0)
    X, Y = data.output_rows(rng, 300, 5, 2)
    counts = data.repeats_of_rows(rng, len(X))
    found = engine.JOINT_MOMENTS[producer](X, Y, counts.astype(float))
    assert_joint(found, np.repeat(X, counts, axis=0), np.repeat(Y, counts, axis=0))


@JOINT_PRODUCERS
def test_joint_moments_far_from_zero(producer):
    X, Y = data.output_rows(np.random.default_rng(0), 900, 5, 2)
    X, Y = X + 1e6, Y - 1e6
    X[:, 3] = 1e10 / 3
    found = engine.JOINT_MOMENTS[producer](X, Y, None)
    assert found.covariance[3, 3] == 0.0
    assert_joint(found, X, Y, tol=1e-6)
