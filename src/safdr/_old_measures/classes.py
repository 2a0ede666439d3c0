"""How well more than two classes are told apart: together, and each against the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from safdr._old_measures.calibration import NEAREST, rates_by_bin
from safdr._old_measures.intervals import FloatArray, effective_number, mean_of, share_interval, sums_of
from safdr._old_measures.ranking import Ranked, discrimination


def confusion(
    codes: NDArray[np.int64], predicted: NDArray[np.int64], weight: FloatArray, n_classes: int
) -> FloatArray:
    """Weight of the rows of each class (rows) that are taken for each (columns)."""
    cells = sums_of(weight, codes * n_classes + predicted, n_classes**2)
    return cells.reshape(n_classes, n_classes)


def classes_apart(
    codes: NDArray[np.int64], probabilities: FloatArray, weight: FloatArray
) -> dict[str, Any]:
    """Accuracy, log-loss, and whether the probability of the most probable class holds."""
    taken = probabilities.argmax(axis=1)
    right = taken == codes
    accuracy = mean_of(right, weight)
    low, high = share_interval(accuracy, effective_number(weight))
    own = probabilities[np.arange(len(codes)), codes]
    commonest = np.bincount(codes, weight, probabilities.shape[1]).max() / weight.sum()
    return {
        "accuracy": {"value": accuracy, "low": low, "high": high},
        # Of someone who always says the commonest class.
        "accuracy_of_commonest": float(commonest),
        "log_loss": -mean_of(np.log(np.maximum(own, NEAREST)), weight),
        "confusion": confusion(codes, taken, weight, probabilities.shape[1]),
        "bins": rates_by_bin(right, probabilities.max(axis=1), weight),
    }


def against_the_rest(
    codes: NDArray[np.int64], probabilities: FloatArray, weight: FloatArray
) -> list[dict[str, Any]]:
    """AUC, Gini, KS, Brier score, expected and observed share, precision and recall of each."""
    taken = probabilities.argmax(axis=1)
    return [
        _of_class(codes == c, probabilities[:, c], taken == c, weight)
        for c in range(probabilities.shape[1])
    ]


def _of_class(
    own: NDArray[np.bool_], probability: FloatArray, taken: NDArray[np.bool_], weight: FloatArray
) -> dict[str, Any]:
    found = discrimination(Ranked.of(probability, own, weight)) or {}
    observed, flagged, hit = (mean_of(each, weight) for each in (own, taken, own & taken))
    return {
        "n_rows": int(own.sum()),
        "auc": found.get("auc"),
        "gini": found.get("gini"),
        "ks": found.get("ks"),
        "brier": mean_of((probability - own) ** 2, weight),
        "expected": mean_of(probability, weight),
        "observed": observed,
        "precision": hit / flagged if flagged else None,
        "recall": hit / observed if observed else None,
    }
