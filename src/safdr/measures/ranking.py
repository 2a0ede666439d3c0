"""How well scores rank rows: areas under ROC curves, the curve itself, decision thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from sklearn import metrics

from safdr.measures.intervals import TAIL, FloatArray, Z, as_weights, effective_number, mean_of

MAX_POINTS = 101
# Shares of the rows at or above a threshold.
SHARES = (0.01, 0.02, 0.05, *(i / 10 for i in range(1, 10)))


def auc_interval(scores: Any, positive: Any, weight: Any = None) -> list[float]:
    """Return the area under the ROC curve with DeLong's interval on the logit scale."""
    positive = np.asarray(positive, dtype=bool)
    pairs = [(np.asarray(scores), positive)]
    return _delong(pairs, positive.astype(np.int64), as_weights(weight, len(positive)))


def auc_interval_of_classes(
    probabilities: FloatArray, codes: NDArray[np.int64], weight: Any = None
) -> list[float]:
    """Return the mean area of each class against the rest, with DeLong's interval."""
    pairs = [(p, codes == c) for c, p in enumerate(probabilities.T)]
    return _delong(pairs, codes, as_weights(weight, len(codes)))


def roc_curve(scores: Any, positive: Any, weight: Any = None) -> dict[str, Any]:
    """Return at most 101 points of the ROC curve, and its largest height over the diagonal."""
    false, true, _ = metrics.roc_curve(positive, scores, sample_weight=weight)
    height = true - false
    points = np.linspace(0, len(false) - 1, MAX_POINTS - 1).round().astype(int)
    points = np.unique([*points, np.argmax(height)])
    return {
        "roc": {"fpr": false[points].tolist(), "tpr": true[points].tolist()},
        "ks": float(height.max()),
    }


def thresholds(
    scores: Any, positive: Any, weight: Any = None, values: Any = None
) -> list[dict[str, float]]:
    """Return precision and recall of about ten shares of the rows at or above a threshold."""
    # `values` are printed in place of the scores, such as probabilities in place of log-
    # odds.
    _, first = np.unique(scores, return_index=True)
    shown = np.asarray(scores if values is None else values)[first][::-1]
    how = {"sample_weight": weight, "drop_intermediate": False}
    false, true, _ = (each[1:] for each in metrics.roc_curve(positive, scores, **how))
    rate = mean_of(positive, weight)
    flagged = (1 - rate) * false + rate * true
    wanted = {int(np.abs(flagged - share).argmin()) for share in SHARES}
    return [
        {
            "threshold": float(shown[i]),
            "flagged": float(flagged[i]),
            "precision": float(rate * true[i] / flagged[i]),
            "recall": float(true[i]),
            "false_positive_rate": float(false[i]),
        }
        for i in sorted(wanted)
        if 0 < flagged[i] < 1
    ]


def _delong(
    pairs: Sequence[tuple[Any, NDArray[np.bool_]]], codes: NDArray[np.int64], weight: FloatArray
) -> list[float]:
    """Return the mean area of scores for masks of rows; `codes` are the classes of the rows."""
    # Each row has a placement value in every area. The variance is that of the sums of these
    # values within the classes.
    n, total = (np.bincount(codes, each) for each in (weight > 0, weight))
    sums, areas = np.zeros(len(codes)), []
    for scores, inside in pairs:
        place, m = np.empty(len(codes)), weight[inside].sum()
        place[inside] = _share_below(scores[inside], scores[~inside], weight[~inside])
        place[~inside] = 1.0 - _share_below(scores[~inside], scores[inside], weight[inside])
        areas.append(weight[inside] @ place[inside] / m)
        sums += place / np.where(inside, m, total.sum() - m) / len(pairs)
    value = float(np.mean(areas))
    # Sums of weights are rounded.
    if value < 1e-12 or value > 1 - 1e-12:
        numbers = (effective_number(weight[codes == c]) for c in range(len(n)))
        return _perfect(round(value), min(numbers))
    if n.min() < 2:
        return [value]
    means = np.bincount(codes, weight * sums) / total
    squares = np.bincount(codes, (weight * (sums - means[codes])) ** 2)
    return _on_logit_scale(value, float((squares * n / (n - 1)).sum()))


def _on_logit_scale(value: float, variance: float) -> list[float]:
    half = Z * np.sqrt(variance) / (value * (1 - value))
    return [value, *(float(expit(logit(value) + side * half)) for side in (-1, 1))]


def _perfect(value: int, n_pairs: float) -> list[float]:
    """Return the exact binomial interval of pairs of rows without a row in common."""
    # DeLong's variance is 0 if the scores separate the classes.
    bound = float(TAIL ** (1 / n_pairs))
    return [1.0, bound, 1.0] if value else [0.0, 0.0, 1.0 - bound]


def _share_below(scores: FloatArray, others: FloatArray, weight: FloatArray) -> FloatArray:
    """Share of the others below each score; ties count half."""
    order = np.argsort(others)
    ranked, sums = others[order], np.concatenate([[0.0], np.cumsum(weight[order])])
    below, not_above = (sums[np.searchsorted(ranked, scores, side=s)] for s in ("left", "right"))
    return np.asarray((below + not_above) / (2 * sums[-1]))
