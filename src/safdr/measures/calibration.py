"""Predicted against observed: probabilities, classes and continuous targets."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from safdr.measures.intervals import (
    FloatArray,
    as_weights,
    mean_interval,
    mean_of,
    rate_interval,
)
from safdr.measures.ranking import auc_interval

# A probability of 0 has no logarithm.
SMALLEST = 1e-15


def assign_bins(values: FloatArray, weight: Any = None, n_bins: int = 10) -> NDArray[np.int64]:
    """Return bin indices of about equal weight, from low to high; ties share a bin."""
    distinct, place = np.unique(values, return_inverse=True)
    sums = np.bincount(place, as_weights(weight, len(values)), len(distinct))
    middle = (np.cumsum(sums) - sums / 2) / sums.sum()
    codes = np.minimum((n_bins * middle).astype(np.int64), n_bins - 1)[place]
    bins: NDArray[np.int64] = np.unique(codes, return_inverse=True)[1]
    return bins


def calibration(happened: Any, probability: FloatArray, weight: Any = None) -> dict[str, Any]:
    """Return losses of probabilities, and predicted and observed rates by deciles."""
    # `p_value` is that of the Hosmer–Lemeshow statistic of rows that the model was not
    # fitted to.
    happened = np.asarray(happened, dtype=bool)
    weight = as_weights(weight, len(happened))
    right = np.where(happened, probability, 1 - probability)
    bins = _bins(happened, probability, weight, rate_interval)
    losses: dict[str, Any] = {
        "brier": mean_of((probability - happened) ** 2, weight),
        "log_loss": -mean_of(np.log(np.maximum(right, SMALLEST)), weight),
        "n_outside": sum(not b["low"] <= b["predicted"] <= b["high"] for b in bins),
    }
    p_value = hosmer_lemeshow(happened, probability, weight)
    if p_value is not None:
        losses["p_value"] = p_value
    return {"calibration": losses, "bins": bins}


def hosmer_lemeshow(
    happened: NDArray[np.bool_], probability: FloatArray, weight: FloatArray
) -> float | None:
    """Return the p-value of observed against predicted counts by deciles."""
    # A decile that expects less than about one row of either class is left out, for its
    # count is not close to normal. No bin left: None.
    codes = assign_bins(probability, weight)
    excess = np.bincount(codes, weight * (happened - probability))
    variance = np.bincount(codes, weight**2 * probability * (1 - probability))
    used = variance >= (np.square(weight).sum() / weight.sum()) ** 2
    if not used.any():
        return None
    return float(chi2.sf(np.sum(excess[used] ** 2 / variance[used]), used.sum()))


def errors(y: FloatArray, predicted: FloatArray, weight: Any = None) -> dict[str, Any]:
    """Return the size of errors of a continuous target, and observed means by deciles."""
    weight, left = as_weights(weight, len(y)), y - predicted
    sizes = {"rmse": float(np.sqrt(mean_of(left**2, weight))), "mae": mean_of(np.abs(left), weight)}
    # A bin of one row has no interval.
    bins = [b for b in _bins(y, predicted, weight, mean_interval) if "low" in b]
    return {"errors": sizes, "bins": bins}


def classes(
    codes: NDArray[np.int64], probabilities: FloatArray, weight: Any = None
) -> dict[str, Any]:
    """Return accuracy, confusion matrix (rows: observed), and each class against the rest."""
    weight = as_weights(weight, len(codes))
    n_classes = probabilities.shape[1]
    predicted = probabilities.argmax(axis=1)
    right = predicted == codes
    confusion = np.bincount(codes * n_classes + predicted, weight, n_classes**2)
    return {
        "accuracy": rate_interval(right, weight),
        "most_frequent": float(np.bincount(codes, weight).max() / weight.sum()),
        "confusion": confusion.reshape(n_classes, n_classes).tolist(),
        "classes": [
            _one_class(codes == c, probabilities[:, c], predicted == c, weight)
            for c in range(n_classes)
        ],
    }


def _one_class(
    inside: NDArray[np.bool_],
    probability: FloatArray,
    flagged: NDArray[np.bool_],
    weight: FloatArray,
) -> dict[str, Any]:
    observed, share, hit = (mean_of(mask, weight) for mask in (inside, flagged, inside & flagged))
    entry: dict[str, Any] = {
        "n": int(inside.sum()),
        "predicted": mean_of(probability, weight),
        "observed": observed,
    }
    if 0 < observed < 1:
        entry["auc"] = auc_interval(probability, inside, weight)
    if share:
        entry["precision"] = hit / share
    if observed:
        entry["recall"] = hit / observed
    return entry


def _bins(
    observed: NDArray[Any], predicted: FloatArray, weight: FloatArray, interval: Any
) -> list[dict[str, Any]]:
    """Return the mean prediction and the observed mean of each bin with its interval."""
    codes, bins = assign_bins(predicted, weight), []
    for rows in (codes == i for i in range(codes.max() + 1)):
        ends = interval(observed[rows], weight[rows])
        mean = {"n": int(rows.sum()), "predicted": mean_of(predicted[rows], weight[rows])}
        bins.append(mean | dict(zip(("observed", "low", "high"), ends, strict=False)))
    return bins
