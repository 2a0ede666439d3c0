"""Fits to sparse rows are those to the same rows made dense."""

import numpy as np
import pytest
from scipy import sparse

from fitting import criterion_of
from safdr._engine.fits.columns import SPARSE_COLUMNS_AT_ONCE
from safdr._engine.fits.logistic import LogisticFitter

FIELDS = ("coefficients", "intercepts", "losses", "separated", "converged", "n_iter")


def problem(n_rows=500, n_features=30):
    """Mostly zeros, of which five columns tell the class."""
    rng = np.random.default_rng(0)
    X = np.where(rng.random((n_rows, n_features)) < 0.1, rng.normal(size=(n_rows, 1)) + 1, 0.0)
    y = (X[:, :5].sum(axis=1) + rng.normal(size=n_rows) > 0.5).astype(np.int64)
    return X, y, rng.uniform(0.5, 2.0, n_rows)


def random_subsets(n_features, n_subsets, size):
    rng = np.random.default_rng(1)
    return np.sort([rng.permutation(n_features)[:size] for _ in range(n_subsets)], axis=1)


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_array, sparse.csr_matrix])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_same_moments_give_the_same_bits(form, weighted):
    X, y, weight = problem()
    weight = weight if weighted else None
    criterion = criterion_of(X, y, 2, weight)
    subsets = random_subsets(30, 12, 4)
    dense = LogisticFitter(X, y, weight, criterion).fit(subsets)
    here = LogisticFitter(form(X), y, weight, criterion).fit(subsets)
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(here, name), getattr(dense, name), err_msg=name)


def test_more_columns_than_are_made_dense_at_a_time():
    X, y, _ = problem(n_rows=130, n_features=3 * SPARSE_COLUMNS_AT_ONCE)
    subsets = random_subsets(X.shape[1], 90, 3)
    assert len(np.unique(subsets)) > 2 * SPARSE_COLUMNS_AT_ONCE
    criterion = criterion_of(X, y, 2)
    dense = LogisticFitter(X, y, None, criterion).fit(subsets, best_only=True)
    here = LogisticFitter(sparse.csr_array(X), y, None, criterion).fit(subsets, best_only=True)
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(here, name), getattr(dense, name), err_msg=name)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.bool_])
def test_entries_of_other_types_are_fitted_in_double_precision(dtype):
    X, y, _ = problem()
    X = (X != 0).astype(dtype)
    criterion = criterion_of(X.astype(float), y, 2)
    dense = LogisticFitter(X.astype(float), y, None, criterion).fit(random_subsets(30, 3, 4))
    here = LogisticFitter(sparse.csr_array(X), y, None, criterion).fit(random_subsets(30, 3, 4))
    np.testing.assert_array_equal(here.coefficients, dense.coefficients)
