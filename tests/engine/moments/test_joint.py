"""Moments of features and outputs together, against the definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from safdr._engine.moments import joint_moments
from safdr._engine.moments.blocks import IN_PLACE_FEATURES

NAMES = ("weight", "mean", "output_mean", "covariance", "cross", "output_variance")


def plain_moments(X, Y, weight, precision=np.longdouble):
    """The definition, in extended precision (which is slow)."""
    X, Y, weight = (part.astype(precision) for part in (X, Y, weight))
    share = weight / weight.sum()
    mean, output_mean = share @ X, share @ Y
    centred, outputs = X - mean, Y - output_mean
    weighted = centred * share[:, None]
    parts = (
        weight.sum(),
        mean,
        output_mean,
        weighted.T @ centred,
        weighted.T @ outputs,
        share @ outputs**2,
    )
    return dict(zip(NAMES, (np.asarray(part, dtype=np.float64) for part in parts), strict=True))


def assert_same(moments, expected, tol=1e-12):
    """Equal to a share of each array's largest entry."""
    for name in NAMES:
        there = expected[name] if isinstance(expected, dict) else getattr(expected, name)
        limit = tol * np.abs(there).max() + 1e-300
        np.testing.assert_allclose(getattr(moments, name), there, rtol=0, atol=limit, err_msg=name)


def rows_of(seed, n_rows=70, n_features=5, n_outputs=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)) + 5 * rng.normal(size=n_features)
    Y = X[:, :n_outputs] + rng.normal(size=(n_rows, n_outputs)) + 20
    return X, Y, rng.uniform(0.1, 3.0, n_rows)


@given(st.integers(0, 10_000), st.integers(1, 3))
def test_moments_are_those_of_the_definition(seed, n_outputs):
    X, Y, weight = rows_of(seed, n_outputs=n_outputs)
    assert_same(joint_moments(X, Y, weight), plain_moments(X, Y, weight))
    assert_same(joint_moments(X, Y), plain_moments(X, Y, np.ones(len(X))))


@pytest.mark.parametrize(
    ("n_rows", "n_features"), [(14_000, 40), (600, IN_PLACE_FEATURES + 3)], ids=["many", "wide"]
)
def test_blocks_are_joined_without_a_seam(n_rows, n_features):
    X, Y, weight = rows_of(1, n_rows, n_features)
    X += np.linspace(0, 3, n_rows)[:, None]
    Y += np.linspace(0, 9, n_rows)[:, None]
    assert_same(joint_moments(X, Y, weight), plain_moments(X, Y, weight, np.float64))


def test_rows_may_be_numbers_or_a_mask():
    X, Y, weight = rows_of(2)
    mask = np.arange(len(X)) % 3 == 0
    expected = joint_moments(X[mask], Y[mask], weight[mask])
    assert_same(joint_moments(X, Y, weight, rows=mask), expected, tol=0)
    assert_same(joint_moments(X, Y, weight, rows=np.flatnonzero(mask)), expected, tol=0)


@given(st.integers(0, 10_000))
def test_a_weight_counts_as_that_many_rows(seed):
    X, Y, _ = rows_of(seed)
    repeats = np.random.default_rng(seed).integers(0, 4, len(X))
    repeated = joint_moments(np.repeat(X, repeats, axis=0), np.repeat(Y, repeats, axis=0))
    assert_same(joint_moments(X, Y, repeats.astype(float)), repeated)


def test_a_far_mean_costs_no_digits():
    rng = np.random.default_rng(0)
    X, Y = (np.round(1024 * rng.normal(size=(5000, 2))) / 1024 for _ in range(2))
    here, exact = joint_moments(X + 1e8, Y - 1e8), plain_moments(X, Y, np.ones(5000))
    for name in ("covariance", "cross", "output_variance"):
        np.testing.assert_allclose(getattr(here, name), exact[name], rtol=0, atol=1e-10)


def test_what_never_changes_has_variance_exactly_zero():
    X, Y, weight = rows_of(4, n_rows=9000)
    X[:, 1], Y[:, 0] = 0.1, 1 / 3
    moments = joint_moments(X, Y, weight)
    assert (moments.covariance[1] == 0).all()
    assert moments.output_variance[0] == 0
    assert moments.output_mean[0] == 1 / 3


def test_the_covariance_goes_where_it_is_asked_to():
    X, Y, _ = rows_of(5)
    out = np.full((5, 5), np.nan)
    assert joint_moments(X, Y, out=out).covariance is out
    np.testing.assert_array_equal(out, joint_moments(X, Y).covariance)


def test_the_rows_are_not_changed():
    X, Y, weight = rows_of(6)
    before = X.copy(), Y.copy()
    joint_moments(X, Y, weight)
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(Y, before[1])


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_parts_add_up_to_the_whole(order):
    X, Y, weight = rows_of(3)
    X[:, 2] = 0.1
    X[:, 1] += 1e3
    parts = [joint_moments(X[i::3], Y[i::3], weight[i::3]) for i in order]
    total = parts[0] + parts[1] + parts[2]
    assert_same(total, joint_moments(X, Y, weight), tol=1e-11)
    assert total.covariance[2, 2] == 0
