"""Predicted against observed: probabilities, classes and continuous targets."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from safdr.measures.intervals import (
    FloatArray,
    as_weights,
    mean_interval,
    mean_of,
    rate_interval,
)
from safdr.measures.ranking import auc_interval


def assign_bins(values: FloatArray, weight: Any = None, n_bins: int = 10) -> NDArray[np.int64]:
    """Return bin indices of about equal weight, from low to high; ties share a bin."""
    distinct, place = np.unique(values, return_inverse=True)
    sums = np.bincount(place, as_weights(weight, len(values)), len(distinct))
    middle = (np.cumsum(sums) - sums / 2) / sums.sum()
    codes = np.minimum((n_bins * middle).astype(np.int64), n_bins - 1)[place]
    bins: NDArray[np.int64] = np.unique(codes, return_inverse=True)[1]
    return bins


def calibration(happened: Any, probability: FloatArray, weight: Any = None) -> dict[str, Any]:
    """Return the Brier score, and predicted and observed rates by deciles."""
    happened = np.asarray(happened, dtype=bool)
    weight = as_weights(weight, len(happened))
    bins = _bins(happened, probability, weight, rate_interval)
    outside = sum(not each["low"] <= each["predicted"] <= each["high"] for each in bins)
    brier = mean_of((probability - happened) ** 2, weight)
    return {"calibration": {"brier": brier, "n_outside": outside}, "bins": bins}


def errors(
    y: FloatArray, predicted: FloatArray, weight: Any = None, interval: Any = mean_interval
) -> dict[str, Any]:
    """Return the size of errors of a continuous target, and observed means by deciles."""
    weight, left = as_weights(weight, len(y)), y - predicted
    sizes = {"rmse": float(np.sqrt(mean_of(left**2, weight))), "mae": mean_of(np.abs(left), weight)}
    # A bin of one row has no interval.
    bins = [b for b in _bins(y, predicted, weight, interval) if "low" in b]
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
    confusion = confusion.reshape(n_classes, n_classes)
    with np.errstate(invalid="ignore"):
        precision = np.diag(confusion) / confusion.sum(axis=0)
        recall = np.diag(confusion) / confusion.sum(axis=1)
    return {
        "accuracy": rate_interval(right, weight),
        "most_frequent": float(confusion.sum(axis=1).max() / weight.sum()),
        "confusion": confusion.tolist(),
        "classes": [
            {
                "n": int((codes == c).sum()),
                "predicted": mean_of(probabilities[:, c], weight),
                "observed": mean_of(codes == c, weight),
                "auc": auc_interval(probabilities[:, c], codes == c, weight),
                "precision": precision[c],
                "recall": recall[c],
            }
            for c in range(n_classes)
        ],
    }


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
