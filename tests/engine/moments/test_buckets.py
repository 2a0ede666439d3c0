"""Moments of buckets against moments of the rows in them, made at once."""

import numpy as np
import pytest

from safdr._engine.moments import ClassMoments, joint_moments, triangle
from safdr._engine.moments.buckets import BucketMoments

N_BUCKETS = 6


def in_chunks(X, codes, weight, lengths, n_classes=2, buckets=None):
    """Bucket moments of rows that come in chunks."""
    found = BucketMoments(N_BUCKETS, n_classes, X.shape[1])
    start = 0
    for length in lengths:
        some = slice(start, start + length)
        of_rows = None if weight is None else weight[some]
        found.add(list(X[some].T), buckets[some], codes[some], of_rows)
        start += length
    assert start == len(X)
    return found


def slow_moments(X, codes, weight=None):
    """Moments of two classes, in extended precision where there is one."""
    weights, means, scatters = [], [], []
    for label in range(2):
        rows = X[codes == label].astype(np.longdouble)
        w = np.ones(len(rows)) if weight is None else weight[codes == label]
        mean = np.where(np.ptp(rows, axis=0) == 0, rows[0], np.average(rows, axis=0, weights=w))
        weights.append(w.sum())
        means.append(mean.astype(float))
        scatters.append((((rows - mean).T * w) @ (rows - mean)).astype(float))
    return ClassMoments(np.array(weights), np.array(means), np.array(scatters))


def nasty(kind, rng, n=3000):
    """Rows that arrive in the worst order."""
    X = rng.normal(size=(n, 4))
    codes = rng.integers(0, 2, n)
    if kind == "offsets":
        X += [1e9, -1e6, 0, 1.7e9]
    elif kind == "sorted by class":
        codes = np.sort(codes)
        X[:, 0] += 1e8 * codes
    elif kind == "begins far off":
        X[:200] *= 1e-3
        X[200:] += 1e6
    elif kind == "drifts":
        X += np.linspace(0, 1e7, n)[:, None]
    elif kind == "constant":
        X[:, 0], X[:, 1] = 0.1, np.where(codes == 1, 0.3, 1e10 / 3)
    elif kind == "one class comes late":
        codes[:2500] = 0
        X[2500:] += 1e5
    return X, codes


@pytest.fixture(params=[128, 3], ids=["one block", "two blocks"])
def block_rows(request, monkeypatch):
    """How many rows of a matrix are kept together."""
    monkeypatch.setattr(triangle, "BLOCK_ROWS", request.param)


KINDS = (
    *("plain", "offsets", "sorted by class", "begins far off", "drifts", "constant"),
    "one class comes late",
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True])
def test_any_sum_of_buckets_has_the_moments_of_its_rows(kind, weighted, block_rows):
    rng = np.random.default_rng(KINDS.index(kind))
    X, codes = nasty(kind, rng)
    weight = rng.uniform(0.1, 5, len(X)) if weighted else None
    buckets = rng.integers(0, N_BUCKETS, len(X))
    found = in_chunks(X, codes, weight, [1, 7, 492, 1500, 1000], buckets=buckets)
    for some in (np.arange(N_BUCKETS), np.array([1, 4]), np.array([0])):
        rows = np.isin(buckets, some)
        of_rows = None if weight is None else weight[rows]
        wanted = slow_moments(X[rows], codes[rows], of_rows)
        got = found.classes(some)
        deviation = np.sqrt(np.einsum("cii->ci", wanted.scatter) / wanted.weight[:, None])
        np.testing.assert_allclose(got.weight, wanted.weight, rtol=1e-13)
        error = np.abs(got.mean - wanted.mean)
        assert np.all(error <= 1e-9 * deviation + 4e-16 * np.abs(wanted.mean))
        unit = wanted.weight[:, None, None] * deviation[:, :, None] * deviation[:, None, :]
        assert np.all(np.abs(got.scatter - wanted.scatter) <= 1e-9 * unit)
    if kind == "constant":  # to the last bit, or rounding would look like a variance
        assert not found.classes(np.arange(N_BUCKETS)).scatter[:, :2, :2].any()


def test_a_column_that_is_constant_in_some_buckets_has_no_variance_there():
    """Rounding would look like a feature that separates the classes."""
    rng = np.random.default_rng(0)
    codes, buckets = rng.integers(0, 2, 3000), rng.integers(0, N_BUCKETS, 3000)
    X = np.full((3000, 2), 0.1)
    X[:, 1] = rng.normal(size=3000)
    X[np.flatnonzero(buckets == 5)[[7, 20, 90]], 0] = [1.0, -3.0, 1e5]
    found = in_chunks(X, codes, rng.uniform(0.1, 5, 3000), [1, 999, 2000], buckets=buckets)
    moments = found.classes(np.arange(5))
    assert moments.mean[:, 0].tolist() == [0.1, 0.1]
    assert not moments.scatter[:, 0].any()
    assert not moments.scatter[:, :, 0].any()
    assert found.classes(np.arange(N_BUCKETS)).scatter[:, 0, 0].min() > 0


@pytest.mark.parametrize("kind", KINDS)
def test_parts_are_added_in_any_order(kind, block_rows):
    rng = np.random.default_rng(7)
    X, codes = nasty(kind, rng)
    buckets = rng.integers(0, N_BUCKETS, len(X))
    parts = [
        in_chunks(X[a:b], codes[a:b], None, [b - a], buckets=buckets[a:b])
        for a, b in ((0, 200), (200, 2600), (2600, 3000))
    ]
    every = np.arange(N_BUCKETS)
    wanted = slow_moments(X, codes)
    deviation = np.sqrt(np.einsum("cii->ci", wanted.scatter) / wanted.weight[:, None])
    unit = wanted.weight[:, None, None] * deviation[:, :, None] * deviation[:, None, :]
    for order in ([0, 1, 2], [2, 0, 1], [1, 2, 0]):
        before = [part.classes(every).scatter.copy() for part in parts]
        a, b, c = (parts[i] for i in order)
        total = a + b + c
        assert total.counts.sum() == len(X)
        assert np.all(np.abs(total.classes(every).scatter - wanted.scatter) <= 1e-9 * unit)
        np.testing.assert_array_equal(total.low.min(axis=0), X.min(axis=0))
        # Sums are not changed by being added.
        for part, was in zip(parts, before, strict=True):
            np.testing.assert_array_equal(part.classes(every).scatter, was)


def test_outputs_come_after_the_features():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(500, 3)) + 100, rng.normal(size=(500, 1)) - 5
    buckets, weight = rng.integers(0, N_BUCKETS, 500), rng.uniform(1, 2, 500)
    none = np.zeros(500, dtype=int)
    found = in_chunks(np.c_[X, y], none, weight, [100, 400], n_classes=1, buckets=buckets)
    rows = buckets < 3
    got = found.joint(np.arange(3), 3)
    wanted = joint_moments(X[rows], y[rows], weight[rows])
    for name in ("weight", "mean", "output_mean", "output_variance", "cross", "covariance"):
        np.testing.assert_allclose(
            getattr(got, name), getattr(wanted, name), rtol=1e-11, atol=1e-12
        )
