"""Calibration slope of out-of-fold predictions: how far selection makes a model overconfident."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax

from safdr._engine.arrays import FloatArray

MAX_STEPS = 100
MAX_HALVINGS = 60
# Rounding of a log-loss, relative.
ROUNDING = 1e-14
# Error of a mean predicted probability after which one more Newton step is exact to rounding.
NEARLY = 1e-8


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
    more than two, and `y` class codes or values; predictions of all splits and repeats are pooled.
    The splits fit on `train_share` of the rows. The noise-to-signal ratio (1 - slope) / slope falls
    as one over the number of rows (van Houwelingen and le Cessie 1990), so it is multiplied by that
    share.
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
    shares = np.bincount(y, weight, decision.shape[1]).astype(np.float64)
    start = np.append(1.0, np.log(shares))
    intercepts = _fit(decision, shares, weight, start)[1:]
    return coef, intercepts if len(coef) > 1 else intercepts[1:] - intercepts[:1]


def _least_squares(predicted: FloatArray, y: FloatArray, weight: FloatArray) -> float:
    """Return the bounded slope of a least-squares line; several targets share one."""
    centred = predicted - weight @ predicted
    size = float((weight @ centred**2).sum())
    return float(np.clip((weight @ (centred * y)).sum() / size, 0.0, 1.0)) if size > 0 else 1.0


def _softmax(decision: FloatArray, y: NDArray[Any], weight: FloatArray) -> float:
    """Return the bounded slope of a logistic regression with free intercepts.

    The log-loss is convex in the slope, so the signs of its derivative at 0 and 1 tell whether the
    slope lies between them.
    """
    decision = _two_sided(decision)
    shares = np.bincount(y, weight, decision.shape[1]).astype(np.float64)
    # A class without held-out rows says nothing of the slope, and its intercept is not finite; nor
    # does one class alone.
    decision, y = decision[:, shares > 0], np.unique(y, return_inverse=True)[1]
    shares = shares[shares > 0]
    if len(shares) == 1:
        return 1.0
    observed = float(weight @ decision[np.arange(len(y)), y])
    if shares @ (weight @ decision) >= observed:
        return 0.0
    levels = np.log(shares)
    intercepts = _fit(decision, shares, weight, np.append(1.0, levels))[1:]
    p = softmax(decision + intercepts, axis=1)
    if weight @ (p * decision).sum(axis=1) <= observed:
        return 1.0
    slope = _fit(decision, shares, weight, np.append(0.0, levels), observed)[0]
    return float(np.clip(slope, 0.0, 1.0))


def _two_sided(decision: FloatArray) -> FloatArray:
    """Return centred log-odds with one column for each class."""
    if decision.ndim == 1 or decision.shape[1] == 1:
        return np.column_stack([-0.5 * decision, 0.5 * decision])
    return decision - decision.mean(axis=1, keepdims=True)


def _fit(
    decision: FloatArray,
    shares: FloatArray,
    weight: FloatArray,
    start: FloatArray,
    observed: float | None = None,
) -> FloatArray:
    """Return the slope, then the intercepts with mean 0, of least log-loss (Newton).

    Without `observed`, the weighted mean of the decisions for the observed classes, the slope stays
    as it is.
    """
    first = 1 if observed is None else 0
    wanted = np.append(observed or 0.0, shares)

    def loss_at(free: FloatArray) -> tuple[float, FloatArray]:
        eta = free[0] * decision + free[1:]
        logs = logsumexp(eta, axis=1, keepdims=True)
        return float(weight @ logs[:, 0] - wanted[first:] @ free[first:]), np.exp(eta - logs)

    free = start - np.append(0.0, np.full(len(shares), start[1:].mean()))
    loss, p = loss_at(free)
    for _ in range(MAX_STEPS):
        mean = (p * decision).sum(axis=1)
        error = np.append(weight @ mean, weight @ p) - wanted
        # Equal shifts of all intercepts change nothing; the added constants fix them.
        curvature = np.zeros((len(free), len(free)))
        curvature[0, 0] = weight @ ((p * decision**2).sum(axis=1) - mean**2)
        curvature[0, 1:] = curvature[1:, 0] = weight @ (p * (decision - mean[:, None]))
        curvature[1:, 1:] = np.diag(weight @ p) - (p * weight[:, None]).T @ p + 1.0 / len(shares)
        curvature[np.diag_indices_from(curvature)] += 1e-14 * (1.0 + curvature.diagonal())
        step = np.zeros(len(free))
        step[first:] = np.linalg.solve(curvature[first:, first:], error[first:])
        for _ in range(MAX_HALVINGS):
            new_loss, new_p = loss_at(free - step)
            if new_loss <= loss + ROUNDING * abs(loss):
                break
            step = 0.5 * step
        else:
            break
        free, loss, p = free - step, new_loss, new_p
        if np.abs(error[first:]).max() <= NEARLY * (1.0 + abs(wanted[0])):
            break
    free[1:] -= free[1:].mean()
    return free
