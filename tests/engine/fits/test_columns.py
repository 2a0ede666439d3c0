"""Standardised columns: the mean and variance over all classes that they are made with."""

import numpy as np
import pytest

from safdr._engine.fits.columns import total_variance
from safdr._engine.moments import within_moments


def test_total_variance_is_that_of_all_rows(rng):
    X = rng.normal(size=(80, 4)) * [1, 10, 100, 0.1] + 3
    X[:30] += 2
    weight = rng.uniform(0.5, 2, 80)
    mean, variance = total_variance(within_moments(X, np.repeat([0, 1], [30, 50]), 2, weight))
    np.testing.assert_allclose(mean, np.average(X, axis=0, weights=weight), rtol=1e-12)
    expected = np.average((X - np.average(X, axis=0, weights=weight)) ** 2, axis=0, weights=weight)
    np.testing.assert_allclose(variance, expected, rtol=1e-12)


@pytest.mark.parametrize("constant", [-7e-6, 0.1, 1e8 + 1 / 3])
def test_a_column_that_never_changes_has_no_variance_over_all_classes(constant, rng):
    # Shares of classes rarely add up to one exactly.
    for n_rows in range(20, 60):
        codes = np.arange(n_rows) % 5
        X = np.column_stack([rng.normal(size=n_rows), np.full(n_rows, constant)])
        weight = rng.uniform(0.1, 4.0, n_rows)
        mean, variance = total_variance(within_moments(X, codes, 5, weight))
        assert variance[1] == 0.0
        assert mean[1] == constant
