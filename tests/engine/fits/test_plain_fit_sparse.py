"""Fits on counts that are zero but for rows of one class, which no coefficients fit best."""

import warnings

import numpy as np
import pytest

from fitting import criterion_of, fitted, unpenalised
from fuzz.cross_entropy import is_separated, smallest_loss
from safdr._engine.fits.logistic import LogisticFitter

# No count is below a hundredth: logits of some thousand need no larger slope.
LARGEST = 1e9


def sparse_counts(seed, n_rows=600, n_features=18):
    """Rows of which one in eleven is of class 0; some features are zero in all of one class."""
    rng = np.random.default_rng(seed)
    y = (np.arange(n_rows) % 11 > 0).astype(int)
    shares = [rng.choice([0.0, 0.02, 0.2], n_features), rng.uniform(0.02, 0.4, n_features)]
    share = np.where(rng.random(n_features) < 0.6, shares, shares[::-1])
    there = rng.random((n_rows, n_features)) < share[y]
    return np.where(there, np.round(rng.gamma(0.7, 2.0, there.shape), 2) + 0.01, 0.0), y


def assert_separated(X, y, fits, i=0):
    """The fit is told to be separated, and is where all but the rows on their way out are best."""
    assert is_separated(X, y, 2)
    assert fits.separated[i]
    assert not fits.converged[i]
    assert np.abs(fits.coefficients[i]).max() < LARGEST
    assert np.abs(fits.intercepts[i]) < LARGEST
    assert fits.losses[i] == pytest.approx(smallest_loss(X, y, 2, np.ones(len(y))), abs=1e-8)


@pytest.mark.parametrize("seed", [0, 142, 222, 443])
def test_slopes_of_counts_of_one_class_stay_finite(seed):
    X, y = sparse_counts(seed)
    assert_separated(X, y, unpenalised(X, y, [range(18)]).fits)


@pytest.mark.parametrize("seed", [17, 98, 231])
def test_so_do_those_of_the_best_of_a_search(seed):
    X, y = sparse_counts(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.warns(UserWarning, match="separate the classes"):
            result = fitted(X, y, size=12, C=np.inf).result_
    assert_separated(X[:, result.subset], y, result, result.best)


def test_one_fit_leaves_no_trace_in_those_after_it():
    X, y = sparse_counts(142)
    model = LogisticFitter(X, y, None, criterion_of(X, y, 2))
    others = np.delete(np.tile(np.arange(18), (18, 1)), np.arange(18) * 19).reshape(18, 17)
    together = model.fit(others)
    for i, subset in enumerate(others):
        assert_separated(X[:, subset], y, together, i)
