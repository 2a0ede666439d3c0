"""Whether probabilities hold: what was expected against what was observed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit
from scipy.stats import chi2

from safdr._old_measures.inference import fit_classes, with_intercept
from safdr._old_measures.intervals import (
    FloatArray,
    effective_number,
    estimate,
    mean_of,
    share_interval,
)

N_BINS = 10
# Probabilities of 0 and 1 have no log-odds.
NEAREST = 1e-15


def bins_of(values: FloatArray, weight: FloatArray, n_bins: int = N_BINS) -> NDArray[np.int64]:
    """Number of each row's bin, of about equal weight, from low to high; ties stay together."""
    distinct, place = np.unique(values, return_inverse=True)
    own = np.bincount(place, weight, len(distinct))
    middle = (np.cumsum(own) - own / 2) / own.sum()
    used = np.minimum((n_bins * middle).astype(np.int64), n_bins - 1)[place]
    found: NDArray[np.int64] = np.unique(used, return_inverse=True)[1]
    return found


def calibration(
    happened: NDArray[np.bool_], probability: FloatArray, weight: FloatArray, *, weighted: bool
) -> dict[str, Any]:
    """Brier score, log-loss, the calibration regression, and rates by tenths of the rows."""
    expected, observed = mean_of(probability, weight), mean_of(happened, weight)
    brier = mean_of((probability - happened) ** 2, weight)
    ends = share_interval(observed, effective_number(weight))
    bins = rates_by_bin(happened, probability, weight)
    return {
        "brier": brier,
        # Against the same probability, the observed rate, for all rows.
        "brier_skill": _against(brier, observed * (1 - observed)),
        "log_loss": _log_loss(happened, probability, weight),
        "expected": expected,
        "observed": observed,
        "observed_interval": ends,
        "ratio": _ratio(expected, observed, ends),
        **calibration_regression(happened, probability, weight, weighted=weighted),
        "bins": bins,
        "n_outside": sum(not each["low"] <= each["expected"] <= each["high"] for each in bins),
        "misfit": misfit(happened, probability, weight),
    }


def _against(loss: float, least: float) -> float | None:
    return 1 - loss / least if least > 0 else None


def _log_loss(happened: NDArray[np.bool_], probability: FloatArray, weight: FloatArray) -> float:
    own = np.where(happened, probability, 1 - probability)
    return -mean_of(np.log(np.maximum(own, NEAREST)), weight)


def _ratio(expected: float, observed: float, ends: tuple[float, float]) -> dict[str, Any] | None:
    """Observed for each that is expected."""
    if expected <= 0:
        return None
    return {
        "value": observed / expected,
        "low": ends[0] / expected,
        "high": ends[1] / expected,
    }


def calibration_regression(
    happened: NDArray[np.bool_], probability: FloatArray, weight: FloatArray, *, weighted: bool
) -> dict[str, Any]:
    """Slope of the outcome's log-odds on the predicted ones, and the shift that is left at slope 1.

    A slope below 1 says that predictions are too extreme, a shift below 0 that they are too high.
    None where the rows can't tell: all of one class, equal predictions, or separated.
    """
    told: dict[str, Any] = {"slope": None, "shift": None}
    if happened.all() or not happened.any():
        return told
    odds = logit(np.clip(probability, NEAREST, 1 - NEAREST))
    codes = happened.astype(np.int64)
    ones = np.ones((len(odds), 1))
    shift = fit_classes(ones, codes, 2, weight, offset=odds, robust=weighted)
    spread = odds.std()
    found = None
    if spread > 1e-9:
        # Per standard deviation, so that errors say whether there is an optimum.
        scaled = with_intercept((odds / spread)[:, None])
        found = fit_classes(scaled, codes, 2, weight, robust=weighted)
    if found is not None and found.errors.max() < 1e3:
        slope = estimate(found.values[0, 1] / spread, found.errors[0, 1] / spread)
        told["slope"] = slope
    if shift is not None:
        told["shift"] = estimate(shift.values[0, 0], shift.errors[0, 0])
    return told


def misfit(
    happened: NDArray[np.bool_], probability: FloatArray, weight: FloatArray
) -> dict[str, Any]:
    """Sum of squares over tenths of the rows, which is chi-squared where the probabilities hold.

    Nothing was fitted to these rows, so each tenth is a degree of freedom. One that expects less
    than about one row of either class is no normal number, and left out.
    """
    bins = bins_of(probability, weight)
    excess = np.bincount(bins, weight * (happened - probability))
    variance = np.bincount(bins, weight**2 * probability * (1 - probability))
    told = variance >= (np.square(weight).sum() / weight.sum()) ** 2
    statistic = float(np.sum(excess[told] ** 2 / variance[told]))
    df = int(told.sum())
    p_value = float(chi2.sf(statistic, df)) if df else None
    return {"statistic": statistic, "degrees_of_freedom": df, "p_value": p_value}


def rates_by_bin(
    happened: NDArray[np.bool_], probability: FloatArray, weight: FloatArray
) -> list[dict[str, Any]]:
    """Expected and observed rate of each tenth of the rows by probability."""
    bins = bins_of(probability, weight)
    found = []
    for i in range(bins.max() + 1):
        own = bins == i
        observed = mean_of(happened[own], weight[own])
        low, high = share_interval(observed, effective_number(weight[own]))
        found.append(
            {
                "n_rows": int(own.sum()),
                "from": float(probability[own].min()),
                "to": float(probability[own].max()),
                "expected": mean_of(probability[own], weight[own]),
                "observed": observed,
                "low": low,
                "high": high,
            }
        )
    return found
