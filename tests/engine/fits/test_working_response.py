"""The log-loss made quadratic near the model of all features."""

import numpy as np
import pytest
from scipy.special import expit

from safdr._engine.criterion import fisher_criterion, r2_criterion
from safdr._engine.fits.logistic import LogisticFitter
from safdr._engine.fits.working_response import LEAST_CURVATURE, working_response
from safdr._engine.moments import joint_moments, within_moments


def fitter_of(X, y, penalty):
    criterion = fisher_criterion(within_moments(X, y, 2), ridge=1e-6)
    return LogisticFitter(X, y, None, criterion, penalty)


def test_weighted_least_squares_give_the_model_itself(rng, two_classes):
    """At the optimum Newton's step is none: regression of the response is the model."""
    X, y = two_classes
    fitter = fitter_of(X, y, 0.0)
    weight, response = working_response(fitter, X, y == 1)
    root = np.sqrt(weight)[:, None]
    Z = np.column_stack([X, np.ones(len(X))])
    slopes = np.linalg.lstsq(Z * root, response * root[:, 0], rcond=None)[0]
    fits = fitter.fit(np.arange(X.shape[1])[None])
    assert slopes[:-1] == pytest.approx(fits.coefficients[0], rel=1e-6, abs=1e-8)
    assert slopes[-1] == pytest.approx(fits.intercepts[0], rel=1e-6)


def test_what_is_left_unexplained_is_the_loss_to_second_order(rng, two_classes):
    """Small changes of the model cost as much in the one as in the other."""
    X, y = two_classes
    fitter = fitter_of(X, y, 0.0)
    fits = fitter.fit(np.arange(X.shape[1])[None])
    weight, response = working_response(fitter, X, y == 1)
    logits = X @ fits.coefficients[0] + fits.intercepts[0]
    moved = logits + 0.02 * (X - X.mean(axis=0)) @ rng.normal(size=X.shape[1])
    costs = [np.mean(np.logaddexp(0, eta) - y * eta) for eta in (logits, moved)]
    squares = [np.mean(weight * (response - eta) ** 2) / 8 for eta in (logits, moved)]
    assert costs[1] - costs[0] == pytest.approx(squares[1] - squares[0], rel=0.02)


def test_rows_that_the_model_is_sure_of_stay_in_sight(rng):
    y = np.arange(100) % 2
    X = np.column_stack([100.0 * y + rng.normal(size=100), rng.normal(size=100)])
    weight, response = working_response(fitter_of(X, y, 1e-6), X, y == 1)
    assert weight.min() == LEAST_CURVATURE
    assert np.isfinite(response).all()


def test_the_criterion_ranks_subsets_as_their_losses_do(rng):
    X = rng.normal(size=(2000, 6))
    y = (rng.random(2000) < expit(X @ [1.0, 0.8, 0.6, 0.4, 0.2, 0.0])).astype(np.int64)
    fitter = fitter_of(X, y, 1e-4)
    weight, response = working_response(fitter, X, y == 1)
    criterion = r2_criterion(joint_moments(X, response[:, None], weight), ridge=1e-6)
    subsets = np.array([[0, 1], [0, 5], [2, 3], [4, 5]])
    values = [criterion.value(subset) for subset in subsets]
    losses = fitter.fit(subsets).losses
    assert np.argsort(values).tolist() == np.argsort(-losses).tolist()
