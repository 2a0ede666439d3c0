"""Means, shares, R² and explained deviance with intervals of 95 %.

An interval is a list ``[value, low, high]``, or ``[value]`` if the rows are too few for one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy
from scipy.stats import chi2, norm, t

FloatArray = NDArray[np.float64]

LEVEL = 0.95
TAIL = (1 - LEVEL) / 2
# Standard errors on either side of an estimate.
Z = float(norm.ppf(1 - TAIL))


def as_weights(weight: Any, n_rows: int) -> FloatArray:
    """Return the weights as floats; ones without weights."""
    return np.ones(n_rows) if weight is None else np.asarray(weight, dtype=np.float64)


def mean_of(values: Any, weight: Any = None) -> float:
    """Return the weighted mean."""
    return float(np.average(np.asarray(values, dtype=np.float64), weights=weight))


def effective_number(weight: FloatArray) -> float:
    """Return the number of equally weighted rows with the same information (Kish)."""
    return float(weight.sum() ** 2 / (weight @ weight))


def share_interval(share: float, n: float) -> list[float]:
    """Return a share of `n` rows with Wilson's interval, which holds near 0 and 1 too."""
    square = Z**2 / n
    middle = (share + square / 2) / (1 + square)
    half = Z * np.sqrt(share * (1 - share) / n + square / (4 * n)) / (1 + square)
    # At the ends the formula gives 0 and 1, but rounding does not.
    low = 0.0 if share <= 0 else max(0.0, float(middle - half))
    high = 1.0 if share >= 1 else min(1.0, float(middle + half))
    return [float(share), low, high]


def rate_interval(happened: Any, weight: Any = None) -> list[float]:
    """Return the share of rows in which something happened, with its interval."""
    weight = as_weights(weight, len(happened))
    return share_interval(mean_of(happened, weight), effective_number(weight))


def mean_interval(values: Any, weight: Any = None) -> list[float]:
    """Return a mean with Student's interval, whose error is that of a ratio of sums."""
    values = np.asarray(values, dtype=np.float64)
    weight = as_weights(weight, len(values))
    n, mean = len(values), mean_of(values, weight)
    if n < 2:
        return [mean]
    error = np.sqrt(n / (n - 1) * ((weight * (values - mean)) ** 2).sum()) / weight.sum()
    half = float(t.ppf(1 - TAIL, n - 1) * error)
    return [mean, mean - half, mean + half]


def count_interval(rates: Any, exposure: Any = None) -> list[float]:
    """Return a rate of counts with Garwood's exact Poisson interval; weights are exposures."""
    exposure = as_weights(exposure, len(rates))
    n, total = float(exposure @ np.asarray(rates, dtype=np.float64)), float(exposure.sum())
    low = chi2.ppf(TAIL, 2 * n) / 2 if n > 0 else 0.0
    high = chi2.ppf(1 - TAIL, 2 * n + 2) / 2
    return [n / total, float(low / total), float(high / total)]


def amount_interval(values: Any, weight: Any = None) -> list[float]:
    """Return a mean of positive amounts with Student's interval from 0 upwards."""
    return [max(0.0, end) for end in mean_interval(values, weight)]


def r2_interval(y: FloatArray, predicted: FloatArray, weight: Any = None) -> list[float]:
    """Return R² with its interval, by the delta method on the scale of log(1 - R²)."""
    return _explained(lambda mean: (y - mean) ** 2, y, predicted, weight)


def poisson_interval(y: FloatArray, predicted: FloatArray, weight: Any = None) -> list[float]:
    """Return the share of the Poisson deviance that is explained, with its interval."""
    return _explained(lambda mean: xlogy(y, y / mean) - y + mean, y, predicted, weight)


def gamma_interval(y: FloatArray, predicted: FloatArray, weight: Any = None) -> list[float]:
    """Return the share of the gamma deviance that is explained, with its interval."""
    return _explained(lambda mean: y / mean - 1 - np.log(y / mean), y, predicted, weight)


def _explained(loss: Any, y: FloatArray, predicted: FloatArray, weight: Any) -> list[float]:
    """Return the share of a loss that predictions explain, with its interval."""
    share = as_weights(weight, len(y))
    share = share / share.sum()
    errors, about_mean = loss(predicted), loss(share @ y)
    variance = share @ about_mean
    lost = float(share @ errors / variance)
    if lost == 0:
        return [1.0]
    half = Z * np.sqrt(((share * (errors - lost * about_mean)) ** 2).sum()) / variance / lost
    return [1 - lost, *(float(1 - lost * np.exp(side * half)) for side in (1, -1))]
