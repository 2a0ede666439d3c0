"""How well scores rank rows: areas under ROC curves, the curve itself, decision thresholds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from sklearn import metrics

from safdr.measures.intervals import TAIL, FloatArray, Z, as_weights, effective_number

MAX_POINTS = 101
# Shares of the rows at or above a threshold.
SHARES = (0.01, 0.02, 0.05, *(i / 10 for i in range(1, 10)))


def auc_interval(scores: Any, positive: Any, weight: Any = None) -> list[float]:
    """Return the area under the ROC curve with DeLong's interval on the logit scale."""
    positive = np.asarray(positive, dtype=bool)
    weight = as_weights(weight, len(positive))
    _, codes = np.unique(scores, return_inverse=True)
    counts, squares = (_by_class(codes, positive, each) for each in (weight, weight**2))
    return _interval(counts, squares, _sums(positive, weight > 0, 2))


def auc_interval_of_classes(
    probabilities: FloatArray, codes: NDArray[np.int64], weight: Any = None
) -> list[float]:
    """Return the mean area of each class against the rest, with DeLong's interval."""
    # Each row has a placement value in the area of every class. The variance is that of the
    # sums of these values within the classes.
    n_classes = probabilities.shape[1]
    weight = as_weights(weight, len(codes))
    n, total = (np.bincount(codes, each, n_classes) for each in (weight > 0, weight))
    sums, areas = np.zeros(len(codes)), np.zeros(n_classes)
    for c in range(n_classes):
        inside, p = codes == c, probabilities[:, c]
        place = np.empty(len(codes))
        place[inside] = _share_below(p[inside], p[~inside], weight[~inside])
        place[~inside] = 1.0 - _share_below(p[~inside], p[inside], weight[inside])
        areas[c] = weight[inside] @ place[inside] / total[c]
        sums += place / np.where(inside, total[c], total.sum() - total[c]) / n_classes
    value = float(areas.mean())
    if value == 1.0:
        return _perfect(1, min(effective_number(weight[codes == c]) for c in range(n_classes)))
    if n.min() < 2:
        return [value]
    means = np.bincount(codes, weight * sums) / total
    squares = np.bincount(codes, (weight * (sums - means[codes])) ** 2)
    return _on_logit_scale(value, float((squares * n / (n - 1)).sum()))


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
    positive = np.asarray(positive, dtype=bool)
    distinct, first, codes = np.unique(scores, return_index=True, return_inverse=True)
    counts = _by_class(codes, positive, as_weights(weight, len(positive)))
    negatives, positives = counts.sum(axis=1)
    if not negatives or not positives:
        return []
    shown = distinct if values is None else np.asarray(values)[first]
    false, true = _rates(counts)
    flagged = (negatives * false + positives * true) / (negatives + positives)
    wanted = {int(np.abs(flagged - share).argmin()) for share in SHARES}
    return [
        {
            "threshold": float(shown[i]),
            "flagged": float(flagged[i]),
            "precision": float(positives * true[i] / (negatives * false[i] + positives * true[i])),
            "recall": float(true[i]),
            "false_positive_rate": float(false[i]),
        }
        for i in sorted(wanted, reverse=True)
        if 0 < flagged[i] < 1
    ]


def _by_class(codes: Any, positive: NDArray[np.bool_], weight: FloatArray) -> FloatArray:
    n = int(codes.max()) + 1
    return _sums(positive * n + codes, weight, 2 * n).reshape(2, n)


def _sums(codes: Any, weight: Any, n: int) -> FloatArray:
    return np.asarray(np.bincount(codes, weight, n), dtype=np.float64)


def _rates(counts: FloatArray) -> FloatArray:
    """Share of each class at or above each score, and above all of them."""
    from_above = np.cumsum(counts[:, ::-1], axis=1)[:, ::-1]
    return np.hstack([from_above / from_above[:, :1], np.zeros((2, 1))])


def _interval(counts: FloatArray, squares: FloatArray, n_rows: FloatArray) -> list[float]:
    """DeLong's interval, from sums of weights and of their squares by class and score."""
    negative, positive = counts
    n, m = counts.sum(axis=1)
    # For the rows of each score, the share of the other class on the right side; ties count half.
    above = (np.cumsum(negative) - 0.5 * negative) / n
    below = 1.0 - (np.cumsum(positive) - 0.5 * positive) / m
    value = float(positive @ above / m)
    # Sums of weights are rounded.
    if value < 1e-12 or value > 1 - 1e-12:
        return _perfect(round(value), float((counts.sum(axis=1) ** 2 / squares.sum(axis=1)).min()))
    if min(n_rows) < 2:
        return [value]
    spread = squares[1] @ (above - value) ** 2 * n_rows[1] / (n_rows[1] - 1) / m**2
    spread += squares[0] @ (below - value) ** 2 * n_rows[0] / (n_rows[0] - 1) / n**2
    return _on_logit_scale(value, float(spread))


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
