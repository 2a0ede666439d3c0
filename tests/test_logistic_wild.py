"""Values of a billion beside ones, as some financial ratios have them."""

import numpy as np
import pytest

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


@pytest.mark.parametrize("best_only", [False, True])
def test_no_cross_entropy_is_below_what_the_coefficients_reach(best_only):
    for seed in range(60):
        X, y, subsets = wild(seed)
        fits = LogisticData(X, y, None, within_moments(X, y, 2)).fit(subsets, best_only=best_only)
        margin = np.where(y == 1, 1, -1) * (
            np.einsum("rsk,sk->sr", X[:, subsets], fits.coefficients) + fits.intercepts[:, None]
        )
        reached = np.logaddexp(0, -margin).mean(axis=1)
        assert (fits.cross_entropies <= np.log(2) + 1e-9).all()
        assert (np.abs(reached - fits.cross_entropies) < 1e-7)[~fits.separated].all()
