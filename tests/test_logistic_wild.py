"""Values of a billion beside ones, as some financial ratios have them."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from safdr.design import middle
from safdr.logistic import LogisticData
from safdr.moments import within_moments


def wild(seed, n_rows=300, n_features=20):
    rng = np.random.default_rng(seed)
    X = np.where(
        rng.random((n_rows, n_features)) < 0.02,
        10 ** rng.uniform(3, 10, (n_rows, n_features)),
        rng.normal(size=(n_rows, n_features)),
    )
    y = (X[:, 0] + rng.logistic(size=n_rows) > 1.5).astype(np.int64)
    size = int(rng.integers(4, 12))
    return X, y, np.array([np.sort(rng.permutation(n_features)[:size]) for _ in range(30)])


def reached_by(fits, X, y, subsets):
    """Cross-entropy of the coefficients, as they are on the original scale."""
    margin = np.where(y == 1, 1, -1) * (
        np.einsum("rsk,sk->sr", X[:, subsets], fits.coefficients) + fits.intercepts[:, None]
    )
    return np.logaddexp(0, -margin).mean(axis=1)


# Fits that need not be exact are in single precision.
@pytest.mark.parametrize(("best_only", "tol"), [(False, 1e-7), (True, 1e-5)])
def test_no_cross_entropy_is_below_what_the_coefficients_reach(best_only, tol):
    for seed in range(60):
        X, y, subsets = wild(seed)
        fits = LogisticData(X, y, None, within_moments(X, y, 2)).fit(subsets, best_only=best_only)
        off = np.abs(reached_by(fits, X, y, subsets) - fits.cross_entropies)
        assert (fits.cross_entropies <= np.log(2) + 1e-9).all()
        assert (off < tol)[~fits.separated].all()
        assert off[np.argmin(fits.cross_entropies)] < 1e-7


def test_columns_are_centred_where_most_of_their_values_are(rng):
    X = rng.normal(size=(1000, 5)) + np.arange(5.0)
    X[::50, 1] = 1e12
    X[:, 2] = (X[:, 2] > 5).astype(float)
    np.testing.assert_allclose(middle(X), [0, 1, 0, 3, 4], atol=0.3)
    np.testing.assert_array_equal(middle(csr_array(X)), middle(X))
    np.testing.assert_array_equal(middle(X[:3]), np.median(X[:3], axis=0))
