"""Calibration slope of out-of-fold predictions: a model on selected features is overconfident."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import logsumexp

from safdr._engine.arrays import FloatArray, IntArray


def calibration_slope(
    decision: FloatArray,
    y: NDArray[Any],
    weight: FloatArray,
    *,
    regression: bool,
    train_share: float,
    family: Any = None,
) -> float:
    """Return the factor in [0, 1] for the coefficients of the final model."""
    # `decision` holds the linear predictors of all held-out rows, one column for each class
    # if there are more than two, and `y` class codes or values. The splits fit on
    # `train_share` of the rows. The noise-to-signal ratio (1 - slope) / slope falls as one
    # over the number of rows (van Houwelingen and le Cessie 1990), so it is multiplied by
    # that share.
    kept = weight > 0
    decision, y, weight = decision[kept], y[kept], weight[kept] / weight.sum()
    if regression and family is not None:
        slope = _likelihood_slope(family, decision, y, weight)
    elif regression:
        slope = _least_squares(decision, y, weight)
    else:
        # The intercept of a class without held-out rows is not finite.
        classes, codes = np.unique(y, return_inverse=True)
        slope = _fit(_by_class(decision)[:, classes], codes, weight, (0.0, 1.0))[0]
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
    """Return coefficients times `slope`, one row for each output, and refitted intercepts."""
    weight = np.ones(len(y)) if weight is None else weight
    coef = slope * coef
    decision = np.asarray(X @ coef.T)
    if regression:
        return coef, np.average(y.reshape(len(y), -1) - decision, axis=0, weights=weight)
    intercepts = _fit(_by_class(decision), y, weight / weight.sum(), (1.0, 1.0))[1]
    return coef, intercepts if len(coef) > 1 else intercepts[1:] - intercepts[:1]


def _least_squares(predicted: FloatArray, y: FloatArray, weight: FloatArray) -> float:
    """Return the slope of least squares in [0, 1]; several targets share one."""
    centred = predicted - weight @ predicted
    variance = float((weight @ centred**2).sum())
    return float(np.clip((weight @ (centred * y)).sum() / variance, 0, 1)) if variance > 0 else 1.0


def _likelihood_slope(
    family: Any, decision: FloatArray, y: FloatArray, weight: FloatArray
) -> float:
    """Return the slope of largest likelihood in [0, 1]."""
    origin = float(family.null_model(y, weight)[0])
    decision = decision - weight @ decision

    def loss(free: FloatArray) -> tuple[float, FloatArray]:
        losses, slopes, _ = family.derivatives(free[0] * decision + free[1], y, weight)
        return float(weight @ losses), np.array([(weight * slopes) @ decision, weight @ slopes])

    limits = [(0.0, 1.0), (None, None)]
    return float(minimize(loss, (1.0, origin), jac=True, method="L-BFGS-B", bounds=limits).x[0])


def _by_class(decision: FloatArray) -> FloatArray:
    """Return centred log-odds with one column for each class."""
    if decision.ndim == 1 or decision.shape[1] == 1:
        return np.column_stack([-0.5 * decision, 0.5 * decision])
    return decision - decision.mean(axis=1, keepdims=True)


def _fit(
    decision: FloatArray, codes: IntArray, weight: FloatArray, bounds: tuple[float, float]
) -> tuple[float, FloatArray]:
    """Return the slope within bounds, and the intercepts with mean 0, of least log-loss."""
    # Centred and scaled, so that slope and intercepts have similar curvatures.
    mean = weight @ decision
    scale = float(np.sqrt((weight @ (decision - mean) ** 2).mean())) or 1.0
    decision = (decision - mean) / scale
    shares = np.bincount(codes, weight)
    observed = np.append(weight @ decision[np.arange(len(codes)), codes], shares)

    def loss(free: FloatArray) -> tuple[float, FloatArray]:
        eta = free[0] * decision + free[1:]
        logs: Any = logsumexp(eta, axis=1)
        p = np.exp(eta - logs[:, None])
        gradient: Any = np.append(weight @ (p * decision).sum(axis=1), weight @ p) - observed
        return float(weight @ logs - observed @ free), gradient

    low, high = scale * bounds[0], scale * bounds[1]
    start = np.append(high, np.log(shares))
    limits = [(low, high)] + [(None, None)] * len(shares)
    # Only the gradient ends the fit.
    end = {"ftol": 0.0, "gtol": 1e-11, "maxiter": 500}
    fit: Any = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=limits, options=end)
    slope, intercepts = float(np.clip(fit.x[0] / scale, *bounds)), fit.x[1:] - fit.x[1:].mean()
    return slope, intercepts - slope * mean
