"""Models without a penalty, with standard errors of their coefficients.

Coefficients are dictionaries, the intercept first: estimate, error, low, high and p_value.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.stats import t
from sklearn.linear_model import LogisticRegression

from safdr.measures.intervals import TAIL, FloatArray

# Rows of the rarer class (regression: rows) for each coefficient: with fewer, normal intervals are
# too short (Peduzzi et al. 1996).
ROWS_PER_COEFFICIENT = 10
# A coefficient per standard deviation with a larger error has no finite optimum.
LARGEST_ERROR = 25.0


Coefficients = list[dict[str, float]]


def fit_logistic(X: Any, y: Any) -> Coefficients | None:
    """Fit a logistic model; None if rows are too few, separated or collinear."""
    y = np.asarray(y, dtype=np.float64)
    design, back = _standardised(X, min(y.sum(), len(y) - y.sum()))
    if design is None:
        return None
    how: dict[str, Any] = {"C": np.inf, "fit_intercept": False, "tol": 1e-10, "max_iter": 60}
    model = LogisticRegression(solver="newton-cholesky", **how)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # separated classes
        model.fit(design, y)
    p = model.predict_proba(design)[:, 1]
    covariance = np.linalg.pinv(design.T @ ((p * (1 - p))[:, None] * design))
    errors = np.sqrt(np.diag(covariance))[1:]
    if not ((errors > 0) & (errors < LARGEST_ERROR)).all():
        return None
    return _per_unit(model.coef_[0], covariance, back, np.inf)


def fit_least_squares(X: Any, y: Any) -> Coefficients | None:
    """Fit by least squares; None if rows are too few or columns collinear."""
    y = np.asarray(y, dtype=np.float64)
    design, back = _standardised(X, len(y))
    if design is None:
        return None
    inverse = np.linalg.inv(design.T @ design)
    free = inverse @ (design.T @ y)
    left, freedom = y - design @ free, len(y) - design.shape[1]
    return _per_unit(free, inverse * (left @ left / freedom), back, freedom)


def _standardised(X: Any, n_events: float) -> tuple[FloatArray | None, FloatArray]:
    """Ones and standardised columns, and the matrix that leads back to coefficients per unit."""
    X = np.asarray(X, dtype=np.float64)
    n_columns = X.shape[1] + 1
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    back = np.eye(n_columns)
    if n_events < ROWS_PER_COEFFICIENT * n_columns or not np.ptp(X, axis=0).all():
        return None, back
    back[1:, 1:] /= deviation[:, None]
    back[0, 1:] = -mean / deviation
    design = np.column_stack([np.ones(len(X)), (X - mean) / deviation])
    return (design if np.linalg.cond(design) < 1e10 else None), back


def _per_unit(
    free: FloatArray, covariance: FloatArray, back: FloatArray, freedom: float
) -> Coefficients:
    values, errors = back @ free, np.sqrt(np.diag(back @ covariance @ back.T))
    half = t.ppf(1 - TAIL, freedom) * errors
    p_values = 2 * t.sf(np.abs(values / errors), freedom)
    names = ("estimate", "error", "low", "high", "p_value")
    rows = np.column_stack([values, errors, values - half, values + half, p_values]).tolist()
    return [dict(zip(names, row, strict=True)) for row in rows]
