"""Intervals of 95 %: of shares, of means, of areas under a ROC curve and of R²."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from scipy.stats import norm, t

FloatArray = NDArray[np.float64]

LEVEL = 0.95
# Standard errors on either side of the middle.
SIDES = float(norm.ppf((1 + LEVEL) / 2))


def estimate(value: float, error: float, freedom: float = np.inf) -> dict[str, Any]:
    """A number with its standard error and its interval; Student's where errors were estimated."""
    if not np.isfinite(error):
        return {"value": value, "standard_error": None, "low": None, "high": None}
    half = float(t.ppf((1 + LEVEL) / 2, freedom)) * error
    return {"value": value, "standard_error": error, "low": value - half, "high": value + half}


def mean_of(values: NDArray[Any], weight: FloatArray) -> float:
    """The weighted mean."""
    return float(weight @ values / weight.sum())


def sums_of(weight: FloatArray, places: NDArray[Any], n: int) -> FloatArray:
    """Weight at each of `n` places."""
    return np.asarray(np.bincount(places, weight, n), dtype=np.float64)


def effective_number(weight: FloatArray) -> float:
    """Rows of equal weight that would say as much (Kish)."""
    squares = float(weight @ weight)
    return float(weight.sum() ** 2 / squares) if squares else 0.0


def share_interval(share: float, n: float) -> tuple[float, float]:
    """Wilson's interval of a share of `n` rows, which holds for shares near 0 and 1 too."""
    if n <= 0:
        return 0.0, 1.0
    square = SIDES**2 / n
    middle = (share + square / 2) / (1 + square)
    half = SIDES * np.sqrt(share * (1 - share) / n + square / (4 * n)) / (1 + square)
    return max(0.0, float(middle - half)), min(1.0, float(middle + half))


def mean_interval(values: FloatArray, weight: FloatArray) -> dict[str, Any]:
    """A mean; the error is that of a ratio of sums, so that weights need not be counts."""
    n, total = len(values), weight.sum()
    mean = mean_of(values, weight)
    if n < 2:
        return estimate(mean, np.inf)
    error = np.sqrt(n / (n - 1) * ((weight * (values - mean)) ** 2).sum()) / total
    return estimate(mean, float(error), n - 1)


def r2_with_interval(
    y: FloatArray, predicted: FloatArray, weight: FloatArray | None = None
) -> dict[str, Any]:
    """R² of some predictions, with its 95 % interval.

    It is 1 - a/b with two means of squares a and b, so that its variance follows from those of
    rows by the delta method; on the scale of log(1 - R²), or the interval could exceed 1.
    """
    share = np.full(len(y), 1 / len(y)) if weight is None else weight / weight.sum()
    errors, about_mean = (y - predicted) ** 2, (y - share @ y) ** 2
    variance = share @ about_mean
    if variance == 0:
        raise ValueError(
            f"y_test is {y[0]:g} in every row, so that no R² can be told. Hold out more rows, or "
            "leave X_test and y_test out."
        )
    lost = float(share @ errors / variance)
    if lost == 0:
        return {"value": 1.0, "low": None, "high": None, "method": None}
    spread = np.sqrt(((share * (errors - lost * about_mean)) ** 2).sum()) / variance
    half = SIDES * spread / lost
    low, high = (float(1 - lost * np.exp(side * half)) for side in (1, -1))
    return {"value": 1 - lost, "low": low, "high": high, "method": "delta method, log(1 − R²)"}


def mean_auc_with_interval(
    scores: FloatArray, codes: NDArray[np.int64], weight: FloatArray | None = None
) -> dict[str, Any]:
    """Mean area under the ROC curves of each class against the rest, with its 95 % interval.

    DeLong's way: each row has a share in the area of every class, and the variance is that of the
    sums of these shares within the classes. For two classes it is DeLong's own.
    """
    n_classes = scores.shape[1]
    if weight is None:
        weight = np.ones(len(codes))
    n, total = (np.bincount(codes, each, n_classes) for each in (weight > 0, weight))
    shares, areas = np.zeros(len(codes)), np.zeros(n_classes)
    for c in range(n_classes):
        own = codes == c
        share = np.empty(len(codes))
        share[own] = _share_below(scores[own, c], scores[~own, c], weight[~own])
        share[~own] = 1.0 - _share_below(scores[~own, c], scores[own, c], weight[own])
        areas[c] = weight[own] @ share[own] / total[c]
        shares += share / np.where(own, total[c], total.sum() - total[c]) / n_classes
    value = float(areas.mean())
    if value == 1.0:
        return _perfect(value, min(effective_number(weight[codes == c]) for c in range(n_classes)))
    if n.min() < 2:
        return {"value": value, "low": None, "high": None, "method": None}
    means = np.bincount(codes, weight * shares) / total
    squares = (weight * (shares - means[codes])) ** 2
    spread = (np.bincount(codes, squares) * n / (n - 1)).sum()
    return _on_logit_scale(value, float(spread), "DeLong, over all classes, logit scale")


def _share_below(scores: FloatArray, others: FloatArray, weight: FloatArray) -> FloatArray:
    """For each score, the share of the others that are below; equal ones count half."""
    order = np.argsort(others)
    ranked, up_to = others[order], np.concatenate([[0.0], np.cumsum(weight[order])])
    below = up_to[np.searchsorted(ranked, scores, side="left")]
    not_above = up_to[np.searchsorted(ranked, scores, side="right")]
    return (below + not_above) / (2 * up_to[-1])


def interval_of_counts(
    counts: FloatArray, squares: FloatArray | None = None, n_rows: FloatArray | None = None
) -> dict[str, Any]:
    """The area under a ROC curve, from the rows of the negative and the positive class in bins."""
    # DeLong's variance, on the logit scale, so that the interval stays between 0 and 1. Where the
    # scores separate the classes that variance is 0, which would promise too much: of the rows
    # min(m, n) pairs without a common row can be made, all in the right order, and the interval is
    # the exact binomial one for that many successes. Where `counts` are sums of weights, `squares`
    # are those of their squares, and `n_rows` the rows of both classes.
    negative, positive = counts
    n, m = counts.sum(axis=1)
    squares = counts if squares is None else squares
    rows_n, rows_m = (n, m) if n_rows is None else n_rows
    # For the rows of each bin, the share of the other class on the right side of it (those in the
    # same bin count half).
    above = (np.cumsum(negative) - 0.5 * negative) / n
    below = 1.0 - (np.cumsum(positive) - 0.5 * positive) / m
    value = float(positive @ above / m)
    # Sums of weights are rounded.
    if value < 1e-12 or value > 1 - 1e-12:
        return _perfect(round(value), float((counts.sum(axis=1) ** 2 / squares.sum(axis=1)).min()))
    if min(rows_m, rows_n) < 2:
        return {"value": value, "low": None, "high": None, "method": None}
    spread = squares[1] @ (above - value) ** 2 * rows_m / (rows_m - 1) / m**2
    spread += squares[0] @ (below - value) ** 2 * rows_n / (rows_n - 1) / n**2
    return _on_logit_scale(value, spread, "DeLong, logit scale")


def _on_logit_scale(value: float, variance: float, method: str) -> dict[str, Any]:
    half = SIDES * np.sqrt(variance) / (value * (1 - value))
    low, high = (float(expit(logit(value) + side * half)) for side in (-1, 1))
    return {"value": value, "low": low, "high": high, "method": method}


def _perfect(value: float, n_pairs: float) -> dict[str, Any]:
    """The interval where all pairs of rows are in the right order, or all in the wrong one."""
    bound = ((1 - LEVEL) / 2) ** (1 / n_pairs)
    low, high = (bound, 1.0) if value == 1.0 else (0.0, 1.0 - bound)
    return {"value": float(value), "low": low, "high": high, "method": "exact binomial"}
