"""Held-out rows: discrimination, calibration, thresholds, segments, refitted coefficients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safdr.measures import calibration, intervals, ranking, segments, survival
from safdr.measures.inference import fit_least_squares, fit_logistic
from safdr.report.reading import Found
from safdr.report.scores import FloatArray, Predicted, score_of

MEAN_INTERVALS = {
    "explained_poisson_deviance": intervals.count_interval,
    "explained_gamma_deviance": intervals.amount_interval,
    "r2": intervals.mean_interval,
}


def describe_rows(
    rows: Predicted, by: Mapping[str, Any] | None, model: Found, columns: FloatArray
) -> Found:
    """Return all measures of held-out rows; `columns` are those of the terms, in their order."""
    result: Found = {"n": len(rows.y)} | ({} if rows.weight is None else {"weighted": True})
    if rows.y.ndim > 1:
        return result | {"note": "Scores of several outputs are not measured."}
    if len(np.unique(rows.y)) < max(2, len(rows.classes)):
        note = "The held-out rows do not hold every class: nothing can be measured."
        return result | {"note": note}
    if rows.score_name == "concordance":
        result["survival"] = survival.thirds(rows.y, rows.score, rows.weight)
    elif not rows.classes:
        interval = _mean_interval(rows)
        result |= calibration.errors(rows.y, rows.score, rows.weight, interval)
    elif len(rows.classes) == 2:
        result |= _two_classes(rows)
    elif rows.probabilities is not None:
        result |= _classes(rows, rows.probabilities)
    result["segments"] = [
        _segments(rows, name, values) for name, values in (() if by is None else by.items())
    ]
    result["coefficients"] = _refit(rows, model, columns)
    return {key: value for key, value in result.items() if value != []}


def _two_classes(rows: Predicted) -> Found:
    positive = rows.y == 1
    result = ranking.roc_curve(rows.score, positive, rows.weight)
    probability = None if rows.probabilities is None else rows.probabilities[:, 1]
    result["thresholds"] = ranking.thresholds(rows.score, positive, rows.weight, probability)
    if probability is not None:
        result |= calibration.calibration(positive, probability, rows.weight)
    return result


def _classes(rows: Predicted, probabilities: FloatArray) -> Found:
    result = calibration.classes(rows.y, probabilities, rows.weight)
    for label, entry in zip(rows.classes, result["classes"], strict=True):
        entry["name"] = label
    correct, top = rows.score == rows.y, probabilities.max(axis=1)
    return result | calibration.calibration(correct, top, rows.weight)


def _segments(rows: Predicted, name: str, values: Any) -> Found:
    if len(values) != len(rows.kept):
        raise ValueError(f"by[{name!r}] must hold {len(rows.kept)} values; got {len(values)}.")
    labels, codes = segments.segments_of(values)
    masks = (codes[rows.kept] == i for i in range(len(labels)))
    listed = [_segment(rows, label, mask) for label, mask in zip(labels, masks, strict=True)]
    return {"column": str(name), "rows": listed}


def _mean_interval(rows: Predicted) -> Any:
    """Return the function for means of the target with their intervals."""
    return MEAN_INTERVALS.get(rows.score_name, intervals.rate_interval)


def _segment(rows: Predicted, label: str, mask: NDArray[np.bool_]) -> Found:
    result: Found = {"name": label, "n": int(mask.sum())}
    if not mask.any():
        return result
    if rows.score_name == "concordance":
        return result | {"score": score_of(rows, mask)}
    observed, predicted = _observed(rows, mask)
    weight = None if rows.weight is None else rows.weight[mask]
    ends = _mean_interval(rows)(observed, weight)
    result |= dict(zip(("observed", "low", "high"), ends, strict=False))
    if predicted is not None:
        result["predicted"] = intervals.mean_of(predicted, weight)
    score = score_of(rows, mask)
    return result | ({"score": score} if score else {})


def _observed(rows: Predicted, mask: NDArray[np.bool_]) -> tuple[Any, Any]:
    """Return observed and predicted numbers, rates of the positive class, or accuracies."""
    y, score, p = rows.y[mask], rows.score[mask], rows.probabilities
    if not rows.classes:
        return y, score
    if len(rows.classes) == 2:
        return y == 1, None if p is None else p[mask, 1]
    return score == y, None if p is None else p[mask].max(axis=1)


def _refit(rows: Predicted, model: Found, columns: FloatArray) -> list[Found]:
    """Return the coefficients of the same terms on these rows; empty if they have none.

    Weights could mean repeated rows or importance, whose standard errors differ.
    """
    if model.get("link") not in ("logit", "identity") or rows.weight is not None:
        return []
    fit = fit_logistic if model["link"] == "logit" else fit_least_squares
    refitted = fit(columns[rows.kept], rows.y)
    if refitted is None:
        return []
    return [
        {"feature": term["feature"], "model": term["coefficients"][0]} | entry
        for term, entry in zip(model["terms"], refitted[1:], strict=True)
    ]
