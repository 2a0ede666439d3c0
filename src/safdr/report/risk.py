"""Held-out rows: discrimination, calibration, thresholds, segments, refitted coefficients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safdr.measures import calibration, intervals, ranking, segments
from safdr.measures.inference import Coefficients, fit_least_squares, fit_logistic
from safdr.report.reading import Predicted

FloatArray = NDArray[np.float64]
Found = dict[str, Any]

# R² of fewer rows says nothing.
MIN_ROWS_FOR_R2 = 10


def default_score(classes: Sequence[Any]) -> tuple[str, float]:
    """Return the name of the default score, and its value by chance."""
    return ("r2", 0.0) if not classes else ("roc_auc" if len(classes) == 2 else "roc_auc_ovr", 0.5)


def score_of(found: Predicted, rows: NDArray[np.bool_] | None = None) -> list[float]:
    """Return the default score of some rows with its interval; nothing if it is undefined."""
    rows = np.ones(len(found.y), dtype=bool) if rows is None else rows
    y, score = found.y[rows], found.score[rows]
    weight = None if found.weight is None else found.weight[rows]
    if not found.classes:
        enough = len(y) >= MIN_ROWS_FOR_R2 and y.ndim == 1 and np.ptp(y) > 0
        return intervals.r2_interval(y, score, weight) if enough else []
    if np.bincount(y, minlength=len(found.classes)).min() < 1:
        return []
    if len(found.classes) == 2:
        return ranking.auc_interval(score, y == 1, weight)
    if found.probabilities is None:
        return []
    return ranking.auc_interval_of_classes(found.probabilities[rows], y, weight)


def describe_rows(
    found: Predicted, by: Mapping[str, Any], model: Found, columns: FloatArray
) -> Found:
    """Return all measures of held-out rows; `columns` are those of the terms, in their order."""
    told: Found = {"n": len(found.y)} | ({} if found.weight is None else {"weighted": True})
    if found.y.ndim > 1:
        return told
    if not found.has_all_classes:
        told["note"] = "The held-out rows do not hold every class: nothing can be measured."
        return told
    if not found.classes:
        told |= _numbers(found)
    elif len(found.classes) == 2:
        told |= _two_classes(found)
    elif found.probabilities is not None:
        told |= _classes(found)
    if by:
        told["segments"] = [_segments(found, name, values) for name, values in by.items()]
    if refitted := _refit(found, model, columns):
        told["coefficients"] = refitted
    return told


def _numbers(found: Predicted) -> Found:
    errors = calibration.errors(found.y, found.score, found.weight)
    return {"errors": {"rmse": errors["rmse"], "mae": errors["mae"]}, "bins": errors["bins"]}


def _two_classes(found: Predicted) -> Found:
    positive = found.y == 1
    curve = ranking.roc_curve(found.score, positive, found.weight)
    told: Found = {"roc": {"fpr": curve["fpr"], "tpr": curve["tpr"]}, "ks": curve["ks"]}
    probability = None if found.probabilities is None else found.probabilities[:, 1]
    told["thresholds"] = ranking.thresholds(found.score, positive, found.weight, probability)
    return told if probability is None else told | _calibrated(positive, probability, found.weight)


def _calibrated(happened: Any, probability: FloatArray, weight: FloatArray | None) -> Found:
    fit = calibration.calibration(happened, probability, weight)
    kept = ("p_value", "n_outside", "brier", "log_loss")
    return {"bins": fit["bins"], "calibration": {key: fit[key] for key in kept if key in fit}}


def _classes(found: Predicted) -> Found:
    assert found.probabilities is not None
    told = calibration.classes(found.y, found.probabilities, found.weight)
    each = [{"name": label} | own for label, own in zip(found.classes, told["each"], strict=True)]
    right, top = found.score == found.y, found.probabilities.max(axis=1)
    return {
        "accuracy": told["accuracy"],
        "most_frequent": told["most_frequent"],
        "confusion": told["confusion"],
        "classes": each,
    } | _calibrated(right, top, found.weight)


def _segments(found: Predicted, name: str, values: Any) -> Found:
    if len(values) != len(found.kept):
        raise ValueError(f"by[{name!r}] must hold {len(found.kept)} values; got {len(values)}.")
    labels, codes = segments.segments_of(values)
    rows = [(label, codes[found.kept] == i) for i, label in enumerate(labels)]
    return {"column": str(name), "rows": [_segment(found, label, own) for label, own in rows]}


def _segment(found: Predicted, label: str, own: NDArray[np.bool_]) -> Found:
    told: Found = {"name": label, "n": int(own.sum())}
    if not own.any():
        return told
    weight = None if found.weight is None else found.weight[own]
    if not found.classes:
        observed, predicted = found.y[own], found.score[own]
        mean = intervals.mean_interval(observed, weight)
    else:
        observed, predicted = _observed(found, own)
        n = intervals.effective_number(intervals.as_weights(weight, int(own.sum())))
        mean = intervals.share_interval(intervals.mean_of(observed, weight), n)
    told |= dict(zip(("observed", "low", "high"), mean, strict=False))
    if predicted is not None:
        told["predicted"] = intervals.mean_of(predicted, weight)
    score = score_of(found, own)
    return told | ({"score": score} if score else {})


def _observed(found: Predicted, own: NDArray[np.bool_]) -> tuple[Any, Any]:
    """Return what happened and what was predicted: the positive class, or a right prediction."""
    p = found.probabilities
    if len(found.classes) == 2:
        return found.y[own] == 1, None if p is None else p[own, 1]
    return found.score[own] == found.y[own], None if p is None else p[own].max(axis=1)


def _refit(found: Predicted, model: Found, columns: FloatArray) -> list[Found]:
    """Return the coefficients of the same terms on these rows; nothing if they have none."""
    if model.get("link") not in ("logit", "identity") or not len(columns):
        return []
    fit = fit_logistic if model["link"] == "logit" else fit_least_squares
    again: Coefficients | None = fit(columns[found.kept], found.y, found.weight)
    if again is None:
        return []
    parts = (again.values, again.errors, again.low, again.high, again.p_values)
    names = ("estimate", "error", "low", "high", "p_value")
    return [
        {"feature": term["feature"], "model": term["coefficients"][0]}
        | {name: float(part[i + 1]) for name, part in zip(names, parts, strict=True)}
        for i, term in enumerate(model["terms"])
    ]


def shift(found: Predicted, base: Predicted) -> float | None:
    """Return the population stability index of scores against those of the training rows."""
    if found.y.ndim > 1 or len(found.classes) > 2:
        return None
    return segments.stability_index(found.score, base.score, found.weight, base.weight)
