"""The ridge that the number of rows asks for."""

import numpy as np
import pytest
from sklearn.covariance import oas

from safdr._engine.criterion import fisher_criterion, r2_criterion
from safdr._engine.moments import joint_moments, within_moments
from safdr._engine.shrinkage import auto_ridge

# Of the recipe: another factor, or other bounds, would change the answers of every user.
MULTIPLE, LARGEST_AUTO, SMALLEST_AUTO = 3.0, 10.0, 1e-6


def correlated(rng, n_rows, n_features):
    X = rng.normal(size=(n_rows, n_features)) @ rng.normal(size=(n_features, n_features))
    return (X - X.mean(axis=0)) / X.std(axis=0)


@pytest.mark.parametrize(("n_rows", "n_features"), [(30, 8), (200, 20), (25, 60)])
def test_the_intensity_is_that_of_scikit_learn(rng, n_rows, n_features):
    Z = correlated(rng, n_rows, n_features)
    _, intensity = oas(Z, assume_centered=True)
    expected = MULTIPLE * intensity / (1 - intensity)
    assert auto_ridge(Z.T @ Z / n_rows, n_rows) == pytest.approx(expected, rel=1e-9)


def test_many_rows_need_none_and_few_are_capped(rng):
    R = np.full((4, 4), 0.5) + 0.5 * np.eye(4)
    ridges = [auto_ridge(R, n) for n in (2, 10, 100, 10_000, 1e9)]
    assert ridges[0] == LARGEST_AUTO
    assert sorted(ridges, reverse=True) == ridges
    assert ridges[-1] == SMALLEST_AUTO
    assert auto_ridge(np.eye(4), 1e9) == LARGEST_AUTO  # nothing to keep
    assert auto_ridge(np.eye(1), 10) == SMALLEST_AUTO


def test_constant_features_count_for_nothing(rng):
    Z = correlated(rng, 50, 6)
    R = Z.T @ Z / 50
    wider = np.zeros((9, 9))
    wider[:6, :6] = R
    assert auto_ridge(wider, 50) == pytest.approx(auto_ridge(R, 50))


def test_heavy_tails_do_not_blow_it_up(rng):
    normal, heavy = rng.normal(size=(2000, 20)), rng.standard_t(2, size=(2000, 20))
    mixing = rng.normal(size=(20, 20))
    of = [
        r2_criterion(joint_moments(X @ mixing, X[:, :1]), ridge="auto").ridge
        for X in (normal, heavy)
    ]
    assert of[1] < 2 * of[0] < 0.1


def test_a_rare_class_asks_for_more(rng):
    X = correlated(rng, 1000, 10)
    even = within_moments(X, np.arange(1000) % 2, 2)
    uneven = within_moments(X, (np.arange(1000) < 30).astype(np.int64), 2)
    ridges = [fisher_criterion(moments, ridge="auto").ridge for moments in (even, uneven)]
    assert ridges[1] > 3 * ridges[0]


def test_the_ridge_is_on_the_diagonal(rng):
    moments = within_moments(correlated(rng, 60, 5), np.arange(60) % 2, 2)
    criterion = fisher_criterion(moments, ridge="auto")
    assert np.diag(criterion.A) == pytest.approx(1 + criterion.ridge)
    assert pytest.approx(criterion.A) == fisher_criterion(moments, ridge=criterion.ridge).A


def test_weights_count_as_rows(rng):
    X, codes = correlated(rng, 60, 5), np.arange(60) % 2
    twice = within_moments(np.vstack([X, X]), np.tile(codes, 2), 2)
    weighted = within_moments(X, codes, 2, np.full(60, 0.5))
    once = fisher_criterion(weighted, ridge="auto", rows_a_weight=4.0).ridge
    assert once == pytest.approx(fisher_criterion(twice, ridge="auto").ridge)
