"""Moments of sparse rows are those of the same rows made dense."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from safdr._engine.criterion import fisher_criterion, r2_criterion
from safdr._engine.moments import joint_moments, within_moments
from safdr._engine.moments.blocks import MOST_ENTRIES, mostly_zero
from safdr._engine.moments.sparse import FEATURES_AT_ONCE

FORMS = [sparse.csr_array, sparse.csc_array, sparse.csr_matrix, sparse.csc_matrix]
N_ROWS, N_FEATURES, N_CLASSES = 90, 12, 3


def rows_of(seed, density=0.1, n_features=N_FEATURES):
    """Mostly zeros, with a column that has none, far from zero; codes, and weights."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((N_ROWS, n_features)) < density, rng.normal(size=(N_ROWS, 1)) + 2, 0.0)
    X[:, 3] = 1000 + rng.normal(size=N_ROWS)
    return X, rng.integers(-1, N_CLASSES, N_ROWS), rng.uniform(0.1, 3.0, N_ROWS)


def assert_same(here, there, names):
    for name in names:
        left, right = getattr(here, name), getattr(there, name)
        limit = 1e-13 * np.abs(right).max()
        np.testing.assert_allclose(left, right, rtol=1e-10, atol=limit, err_msg=name)


def assert_same_within(here, there):
    assert_same(here, there, ("weight", "mean", "squares", "within"))
    np.testing.assert_array_equal(here.within, here.within.T)


def assert_same_joint(here, there):
    assert_same(here, there, ("weight", "mean", "output_mean", "cross", "output_variance"))
    assert_same(here, there, ("covariance",))
    np.testing.assert_array_equal(here.covariance, here.covariance.T)


@pytest.mark.parametrize("form", FORMS)
@given(st.integers(0, 10_000), st.sampled_from([0.02, 0.1, 0.9]), st.booleans())
def test_moments_within_the_classes(form, seed, density, weighted):
    X, codes, weight = rows_of(seed, density)
    weight = weight if weighted else None
    assert mostly_zero(form(X)) == (density < MOST_ENTRIES)
    here = within_moments(form(X), codes, N_CLASSES, weight)
    assert_same_within(here, within_moments(X, codes, N_CLASSES, weight))


@pytest.mark.parametrize("form", FORMS)
@given(st.integers(0, 10_000), st.sampled_from([0.02, 0.1, 0.9]), st.booleans())
def test_moments_of_features_and_outputs(form, seed, density, weighted):
    X, codes, weight = rows_of(seed, density)
    weight = weight if weighted else None
    Y = np.column_stack([X @ np.arange(N_FEATURES), X[:, 3]])
    here = joint_moments(form(X), Y, weight, rows=codes >= 0)
    assert_same_joint(here, joint_moments(X, Y, weight, rows=codes >= 0))


@given(st.integers(0, 10_000))
def test_values_of_the_criteria(seed):
    X, codes, weight = rows_of(seed)
    Y = X[:, :1] + np.random.default_rng(seed).normal(size=(N_ROWS, 1))
    for of in (
        lambda rows: fisher_criterion(within_moments(rows, codes, N_CLASSES, weight), ridge=1e-6),
        lambda rows: r2_criterion(joint_moments(rows, Y, weight), ridge=1e-6),
    ):
        here, there = of(sparse.csr_array(X)), of(X)
        assert here.value([0, 3, 7]) == pytest.approx(there.value([0, 3, 7]), rel=1e-10)
        np.testing.assert_array_equal(here.redundant, there.redundant)


def test_more_features_than_are_taken_at_once():
    X, codes, weight = rows_of(0, n_features=2 * FEATURES_AT_ONCE + 17)
    here = within_moments(sparse.csc_array(X), codes, N_CLASSES, weight)
    assert_same_within(here, within_moments(X, codes, N_CLASSES, weight))


@pytest.mark.parametrize("value", [0.1, 1 / 3, -7.7e8, 0.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_constant_column_has_variance_exactly_zero(value, weighted):
    X, codes, weight = rows_of(1)
    X[:, 5], X[:, 6] = value, np.where(codes == 1, value, 0.0)
    moments = within_moments(sparse.csr_array(X), codes, N_CLASSES, weight if weighted else None)
    assert (moments.within[5:7] == 0).all()
    assert (moments.squares[:, 5:7] == 0).all()
    assert (moments.mean[:, 5] == value).all()
    assert moments.mean[:, 6].tolist() == [0, value, 0]


def test_a_far_mean_costs_no_digits():
    rng = np.random.default_rng(0)
    X = np.zeros((4000, 9))
    X[:, 0] = np.round(1024 * rng.normal(size=4000)) / 1024
    X[::50, 1] = 1.0
    codes = np.zeros(4000, dtype=np.int64)
    exact = np.cov(X[:, :2].T, bias=True)
    X[:, 0] += 1e8
    here = within_moments(sparse.csr_array(X), codes, 1)
    np.testing.assert_allclose(here.within[:2, :2], exact, rtol=0, atol=1e-12)


def test_a_single_zero_far_from_the_rest_costs_few_digits():
    rng = np.random.default_rng(0)
    X = np.zeros((5000, 8))
    X[:, 0] = 1e6 + rng.normal(size=5000)
    X[77, 0] = 0.0
    codes = np.zeros(5000, dtype=np.int64)
    here = within_moments(sparse.csc_array(X), codes, 1)
    assert here.within[0, 0] == pytest.approx(X[:, 0].var(), rel=1e-10)


def test_entries_given_twice_are_added_and_the_rows_left_alone():
    entries = (np.array([1.0, 2.0, 5.0, 1.5]), ([0, 0, 3, 4], [1, 1, 0, 2]))
    twice = sparse.coo_array(entries, shape=(8, 6))
    X = sparse.csr_array((twice.data, twice.col.copy(), [0, 2, 2, 2, 3, 4, 4, 4, 4]), shape=(8, 6))
    assert X.nnz == 4
    codes = np.zeros(8, dtype=np.int64)
    here = within_moments(X, codes, 1)
    assert_same_within(here, within_moments(twice.toarray(), codes, 1))
    assert X.nnz == 4
    assert X.data.tolist() == [1.0, 2.0, 5.0, 1.5]


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.bool_])
def test_entries_of_other_types_are_counted_in_double_precision(dtype):
    rng = np.random.default_rng(2)
    X = (rng.random((60, 9)) < 0.1).astype(dtype)
    codes = np.arange(60) % 2
    here = within_moments(sparse.csr_array(X), codes, 2)
    assert here.within.dtype == np.float64
    assert_same_within(here, within_moments(X.astype(float), codes, 2))


def test_a_class_without_rows_or_weight_adds_nothing():
    X, codes, weight = rows_of(3)
    weight[codes == 0] = 0.0
    here = within_moments(sparse.csr_array(X), codes, N_CLASSES + 1, weight)
    assert here.weight[[0, 3]].tolist() == [0, 0]
    assert_same_within(here, within_moments(X, codes, N_CLASSES + 1, weight))


def test_rows_are_never_made_dense_as_a_whole():
    X = sparse.csr_array(sparse.random(20_000, 600, density=0.01, random_state=0))
    codes = np.arange(20_000) % 2
    tracemalloc.start()
    within_moments(X, codes, 2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.25 * 8 * 20_000 * 600
