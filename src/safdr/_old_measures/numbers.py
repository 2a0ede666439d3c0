"""How far predictions of a quantity are off."""

from __future__ import annotations

from typing import Any

import numpy as np

from safdr._old_measures.calibration import bins_of
from safdr._old_measures.inference import fit_numbers, with_intercept
from safdr._old_measures.intervals import (
    FloatArray,
    estimate,
    mean_interval,
    mean_of,
    r2_with_interval,
)

QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
N_BARS = 24


def errors_of(
    y: FloatArray, predicted: FloatArray, weight: FloatArray, *, weighted: bool
) -> dict[str, Any]:
    """R², the size of errors, their spread, and what is observed by tenths of the predictions."""
    left = y - predicted
    varies = bool(np.ptp(y) > 0)
    found = None
    if np.ptp(predicted) > 0:
        found = fit_numbers(with_intercept(predicted[:, None]), y, weight, robust=weighted)
    return {
        "r2": r2_with_interval(y, predicted, weight) if varies else None,
        "root_mean_squared_error": float(np.sqrt(mean_of(left**2, weight))),
        "mean_absolute_error": mean_of(np.abs(left), weight),
        "bias": mean_interval(left, weight),
        "slope": _part(found, 1),
        "intercept": _part(found, 0),
        "residual_quantiles": dict(
            zip(map(str, QUANTILES), quantiles(left, weight, QUANTILES), strict=True)
        ),
        "histogram": _histogram(left, weight / weight.sum()),
        "bins": _by_bin(y, predicted, weight),
    }


def _part(found: Any, place: int) -> dict[str, Any] | None:
    if found is None:
        return None
    return estimate(
        float(found.values[0, place]), float(found.errors[0, place]), float(found.freedom)
    )


def quantiles(values: FloatArray, weight: FloatArray, wanted: Any) -> list[float]:
    """The least values with so much weight up to them."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weight[order])
    places = np.searchsorted(reached, np.asarray(wanted) * reached[-1] * (1 - 1e-12))
    found: list[float] = values[order[np.minimum(places, len(order) - 1)]].tolist()
    return found


def _histogram(left: FloatArray, share: FloatArray) -> dict[str, Any]:
    """Residuals between their outer quantiles; those beyond are in the first and the last bar."""
    low, high = quantiles(left, share, (0.005, 0.995))
    if low == high:
        low, high = low - 0.5, high + 0.5
    shares, edges = np.histogram(np.clip(left, low, high), N_BARS, (low, high), weights=share)
    return {"edges": edges, "shares": shares}


def _by_bin(y: FloatArray, predicted: FloatArray, weight: FloatArray) -> list[dict[str, Any]]:
    bins = bins_of(predicted, weight)
    found = []
    for i in range(bins.max() + 1):
        own = bins == i
        mean = mean_interval(y[own], weight[own])
        squares = (y - predicted)[own] ** 2
        least, most = quantiles(y[own], weight[own], (0.05, 0.95))
        found.append(
            {
                "n_rows": int(own.sum()),
                "expected": mean_of(predicted[own], weight[own]),
                "observed": mean["value"],
                "low": mean["low"],
                "high": mean["high"],
                "least": least,
                "most": most,
                "root_mean_squared_error": float(np.sqrt(mean_of(squares, weight[own]))),
            }
        )
    return found
