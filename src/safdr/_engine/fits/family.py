"""Families of losses, and their second-order approximations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.special import expit

from safdr._engine.arrays import FloatArray

# Loss, slope and curvature of each row: at predictors of shape (n_rows,) or (n_rows, n_outputs).
Derivatives: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]


# Share assumed for a class without rows.
LEAST_SHARE = 1e-12


@dataclass(frozen=True)
class Family:
    """A loss of linear predictors. Its compiled twin is in `_core/fits/family.hpp`."""

    name: str
    loss_name: str
    null_model: Callable[[FloatArray, FloatArray], FloatArray]  # intercepts, of y and row shares
    derivatives: Callable[[FloatArray, FloatArray], Derivatives]  # of predictors and y


def _logistic(eta: FloatArray, y: FloatArray) -> Derivatives:
    p = expit(eta)
    return np.logaddexp(0.0, eta) - y * eta, p - y, p * expit(-eta)


def _softmax(eta: FloatArray, y: FloatArray) -> Derivatives:
    own = y.astype(np.int64)[:, None]
    eta = eta - eta.max(axis=1, keepdims=True)
    p = np.exp(eta)
    total = p.sum(axis=1, keepdims=True)
    p /= total
    losses = np.log(total[:, 0]) - np.take_along_axis(eta, own, axis=1)[:, 0]
    return losses, p - (own == np.arange(eta.shape[1])), p * (1.0 - p)


def _squared(eta: FloatArray, y: FloatArray) -> Derivatives:
    return 0.5 * (eta - y) ** 2, eta - y, np.ones_like(eta)


def _log_odds(y: FloatArray, share: FloatArray) -> FloatArray:
    return np.log([(share @ y) / (share @ (1.0 - y))])


def _log_shares(y: FloatArray, share: FloatArray) -> FloatArray:
    return np.log(np.maximum(np.bincount(y.astype(np.int64), share), LEAST_SHARE))


LOGISTIC = Family("logistic", "cross_entropy", _log_odds, _logistic)
SOFTMAX = Family("softmax", "cross_entropy", _log_shares, _softmax)
SQUARED = Family("squared", "squared_error", lambda y, share: np.array([share @ y]), _squared)
