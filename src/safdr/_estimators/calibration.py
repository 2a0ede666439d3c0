"""Calibration slope of out-of-fold predictions: how far selection makes a model overconfident."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import log_softmax

from safdr._engine.arrays import FloatArray

MAX_STEPS = 100
MAX_HALVINGS = 60
# Largest error of a mean predicted probability after the intercepts are fitted.
TOLERANCE = 1e-13


def calibration_slope(
    decision: FloatArray,
    y: NDArray[Any],
    weight: FloatArray | None = None,
    *,
    regression: bool = False,
    train_share: float = 1.0,
) -> float:
    """Return the factor in [0, 1] for the slopes of the final model.

    `decision` holds the linear predictors of held-out rows, one column for each class if there are
    more than two, and `y` class codes or values. The splits fit on `train_share` of the rows, and
    overconfidence shrinks as one over the number of rows: 1 - slope is multiplied by that share.
    """
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=np.float64)
    kept = weight > 0
    decision, y, weight = decision[kept], y[kept], weight[kept] / weight.sum()
    if not np.ptp(decision, axis=0).any():
        return 1.0
    slope = (_least_squares if regression else _softmax)(decision, y, weight)
    return slope / (slope + (1.0 - slope) * train_share)


def scaled(
    coef: FloatArray,
    slope: float,
    X: FloatArray,
    y: NDArray[Any],
    weight: FloatArray | None = None,
    *,
    regression: bool = False,
) -> tuple[FloatArray, FloatArray]:
    """Return the coefficients times `slope`, and the intercepts refitted on the training rows.

    `coef` has one row for each output, as in scikit-learn; several targets are a column of `y`
    each.
    """
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=np.float64)
    kept = weight > 0
    y, weight = y[kept], weight[kept] / weight.sum()
    coef = slope * coef
    decision = np.asarray(X @ coef.T)[kept]
    if regression:
        return coef, weight @ (y.reshape(len(decision), -1) - decision)
    decision = _two_sided(decision)
    intercepts = _intercepts(decision, _shares(y, weight, decision.shape[1]), weight)
    return coef, intercepts if len(coef) > 1 else intercepts[1:] - intercepts[:1]


def _least_squares(predicted: FloatArray, y: FloatArray, weight: FloatArray) -> float:
    """Return the bounded slope of a least-squares line; several targets share one."""
    centred = predicted - weight @ predicted
    size = float((weight @ centred**2).sum())
    return float(np.clip((weight @ (centred * y)).sum() / size, 0.0, 1.0)) if size > 0 else 1.0


def _softmax(decision: FloatArray, y: NDArray[Any], weight: FloatArray) -> float:
    """Return the bounded slope of a logistic regression with free intercepts.

    The log-loss is convex in the slope, so the sign of its derivative says which way to go.
    """
    decision = _two_sided(decision)
    shares = _shares(y, weight, decision.shape[1])
    # A class without held-out rows says nothing of the slope, and its intercept is not finite.
    decision, shares = decision[:, shares > 0], shares[shares > 0]
    observed = float(weight @ decision[np.arange(len(y)), np.searchsorted(np.unique(y), y)])

    def derivative(slope: float) -> float:
        eta = slope * decision
        p = np.exp(log_softmax(eta + _intercepts(eta, shares, weight), axis=1))
        return float(weight @ (p * decision).sum(axis=1)) - observed

    if derivative(1.0) <= 0.0:
        return 1.0
    return 0.0 if derivative(0.0) >= 0.0 else float(brentq(derivative, 0.0, 1.0, xtol=1e-10))


def _two_sided(decision: FloatArray) -> FloatArray:
    """Return centred log-odds with one column for each class."""
    if decision.ndim == 1 or decision.shape[1] == 1:
        return np.column_stack([-0.5 * decision, 0.5 * decision])
    return decision - decision.mean(axis=1, keepdims=True)


def _shares(y: NDArray[Any], weight: FloatArray, n_classes: int) -> FloatArray:
    return np.bincount(y, weight, n_classes).astype(np.float64)


def _intercepts(eta: FloatArray, shares: FloatArray, weight: FloatArray) -> FloatArray:
    """Return intercepts with mean 0 whose mean probabilities are the class shares (Newton)."""

    def loss(b: FloatArray) -> float:
        return float(-weight @ log_softmax(eta + b, axis=1)[:, 0] + b[0] - shares @ b)

    b = np.log(shares) - np.log(shares).mean()
    for _ in range(MAX_STEPS):
        p = np.exp(log_softmax(eta + b, axis=1))
        mean = weight @ p
        if np.abs(mean - shares).max() <= TOLERANCE:
            break
        # Equal shifts of all intercepts change nothing; the constant pins them.
        curvature = np.diag(mean + 1e-12) - (p * weight[:, None]).T @ p + 1.0 / len(b)
        step = np.linalg.solve(curvature, mean - shares)
        before = loss(b)
        for _ in range(MAX_HALVINGS):
            if loss(b - step) <= before:
                break
            step = 0.5 * step
        b = b - step
    return b - b.mean()
