"""Families of losses, and their second-order approximations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.special import expit, xlogy

from safdr._engine.arrays import FloatArray, IntArray

# Loss, slope and curvature of each row, at predictors of shape (n_rows,) or (n_rows, n_outputs).
Derivatives: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]


# Share assumed for a class without rows.
LEAST_SHARE = 1e-12


@dataclass(frozen=True)
class Family:
    """A loss of linear predictors. Its compiled twin is in `_core/fits/family.hpp`."""

    name: str
    loss_name: str
    null_model: Callable[[FloatArray, FloatArray], FloatArray]  # intercepts, of y and row shares
    # Of predictors, y and row shares.
    derivatives: Callable[[FloatArray, FloatArray, FloatArray], Derivatives]


def _logistic(eta: FloatArray, y: FloatArray, share: FloatArray) -> Derivatives:
    p = expit(eta)
    return np.logaddexp(0.0, eta) - y * eta, p - y, p * expit(-eta)


def _softmax(eta: FloatArray, y: FloatArray, share: FloatArray) -> Derivatives:
    own = y.astype(np.int64)[:, None]
    eta = eta - eta.max(axis=1, keepdims=True)
    p = np.exp(eta)
    total = p.sum(axis=1, keepdims=True)
    p /= total
    losses = np.log(total[:, 0]) - np.take_along_axis(eta, own, axis=1)[:, 0]
    return losses, p - (own == np.arange(eta.shape[1])), p * (1.0 - p)


def _squared(eta: FloatArray, y: FloatArray, share: FloatArray) -> Derivatives:
    return 0.5 * (eta - y) ** 2, eta - y, np.ones_like(eta)


def _poisson(eta: FloatArray, y: FloatArray, share: FloatArray) -> Derivatives:
    mean = np.exp(eta)
    return xlogy(y, y) - y - y * eta + mean, mean - y, mean


def _gamma(eta: FloatArray, y: FloatArray, share: FloatArray) -> Derivatives:
    ratio = y * np.exp(-eta)
    return eta - np.log(y) + ratio - 1.0, 1.0 - ratio, ratio


def _cox(eta: FloatArray, y: FloatArray, share: FloatArray) -> Derivatives:
    top, is_event = eta.max(), y > 0
    _, place, events, at_risk = risk_sets(eta - top, y, share)
    risk = np.exp(eta - top)
    hazard = risk * np.cumsum(events / at_risk)[place]
    odds = at_risk / np.where(events > 0, events, 1.0)
    losses = np.where(is_event, np.log(odds)[place] + top - eta, 0.0)
    # The diagonal of the curvature, less what a row takes from itself: weights count as copies.
    return losses, hazard - is_event, hazard


def risk_sets(
    eta: FloatArray, y: FloatArray, weight: FloatArray
) -> tuple[FloatArray, IntArray, FloatArray, FloatArray]:
    """Return the times, which one each row has, and the weight of events and the risk at each."""
    # A time is negative if the row is censored.
    times, place = np.unique(np.abs(y), return_inverse=True)
    risk = np.bincount(place, weight * np.exp(eta))
    events = np.bincount(place, weight * (y > 0))
    at_risk = np.cumsum(risk[::-1])[::-1]
    return times, place, events.astype(np.float64), at_risk.astype(np.float64)


def _log_odds(y: FloatArray, share: FloatArray) -> FloatArray:
    return np.log([(share @ y) / (share @ (1.0 - y))])


def _log_shares(y: FloatArray, share: FloatArray) -> FloatArray:
    return np.log(np.maximum(np.bincount(y.astype(np.int64), share), LEAST_SHARE))


def _log_mean(y: FloatArray, share: FloatArray) -> FloatArray:
    return np.log([share @ y])


LOGISTIC = Family("logistic", "cross_entropy", _log_odds, _logistic)
SOFTMAX = Family("softmax", "cross_entropy", _log_shares, _softmax)
SQUARED = Family("squared", "squared_error", lambda y, share: np.array([share @ y]), _squared)
POISSON = Family("poisson", "half_deviance", _log_mean, _poisson)
GAMMA = Family("gamma", "half_deviance", _log_mean, _gamma)
COX = Family("cox", "partial_likelihood", lambda y, share: np.zeros(1), _cox)
