"""Do the coefficients hold? Those of a model on rows that did not choose the features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import t

from safdr._old_measures.inference import (
    LARGEST_ERROR,
    ROWS_PER_COEFFICIENT,
    Coefficients,
    centred,
    fit_classes,
    fit_numbers,
    variance_inflation,
    with_intercept,
)
from safdr._old_measures.intervals import LEVEL, FloatArray
from safdr._old_report.numbers import counted
from safdr._old_report.risk.rows import GivenRows, Predicted
from safdr._old_report.tasks import REGRESSION, ReportTask

METHODS = {
    (False, False): "inverse information",
    (False, True): "sandwich",
    (True, False): "least squares",
    (True, True): "sandwich (HC1)",
}


def describe_coefficients(
    estimator: Any,
    task: ReportTask,
    features: Sequence[Mapping[str, Any]],
    rows: GivenRows,
    found: Predicted,
) -> dict[str, Any]:
    """Estimates, standard errors and intervals on the held-out rows, or why there are none."""
    columns = _columns(estimator, [f["index"] for f in features], rows)[found.kept]
    inflation = variance_inflation(columns, found.weight)
    deviations = _deviations(columns, found.weight)
    varies = deviations > 0
    reason = _too_few(task, found, int(varies.sum()))
    if any(f["strength"] is None or np.isnan(f["strength"]) for f in features):
        reason = "The model is not a linear formula."
    fitted = None
    if reason is None:
        scaled = columns[:, varies] / deviations[varies]
        fitted, reason = _fit(task, scaled, found, inflation[varies])
    told = [
        _described(f, fitted, place if varies[i] else None, deviations[i])
        for i, (f, place) in enumerate(zip(features, np.cumsum(varies), strict=True))
    ]
    return {
        "reason": reason,
        "n_rows": len(found.weight),
        "method": None if fitted is None else METHODS[task is REGRESSION, found.weighted],
        "features": [
            {**each, "vif": float(vif) if varies[i] else None}
            for i, (each, vif) in enumerate(zip(told, inflation, strict=True))
        ],
    }


def _columns(estimator: Any, indices: Sequence[int], rows: GivenRows) -> FloatArray:
    """The chosen columns as the model sees them: between the limits within which values count."""
    columns = np.asarray(rows.X, dtype=np.float64)[:, indices]
    limits = estimator.clip_limits_
    if limits is not None:
        columns = np.clip(columns, *limits[:, indices])
    model = estimator.estimator_
    if hasattr(model, "data_min_"):
        place = np.searchsorted(estimator.subset_, indices)
        columns = np.clip(columns, model.data_min_[place], model.data_max_[place])
    return columns


def _deviations(columns: FloatArray, weight: FloatArray) -> FloatArray:
    share = weight / weight.sum()
    found: FloatArray = np.sqrt(share @ (columns - share @ columns) ** 2)
    # What is left of a constant column is rounding.
    return np.where(np.ptp(columns, axis=0) > 0, found, 0.0)


def _too_few(task: ReportTask, found: Predicted, n_columns: int) -> str | None:
    """Why nothing can be said; None where there are rows enough."""
    needed = ROWS_PER_COEFFICIENT * (n_columns + 1)
    n = (
        len(found.y)
        if task is REGRESSION
        else int(np.bincount(found.y, minlength=found.n_classes).min())
    )
    if n >= needed:
        return None
    of_class = "" if task is REGRESSION else " of the rarest class"
    return (
        f"{counted(n, 'held-out row')}{of_class} {'is' if n == 1 else 'are'} too few for standard "
        f"errors: {ROWS_PER_COEFFICIENT} for each of {counted(n_columns + 1, 'coefficient')} "
        f"would be {needed:,}."
    )


def _fit(
    task: ReportTask, scaled: FloatArray, found: Predicted, inflation: FloatArray
) -> tuple[Coefficients | None, str | None]:
    X = with_intercept(scaled - scaled.mean(axis=0))
    if np.linalg.matrix_rank(X) < X.shape[1]:
        return None, "The chosen columns are collinear on the held-out rows."
    if task is REGRESSION:
        return fit_numbers(X, found.y, found.weight, robust=found.weighted), None
    fitted = fit_classes(X, found.y, found.n_classes, found.weight, robust=found.weighted)
    # Ties among columns make errors large too, and are no separation.
    if fitted is None or (fitted.errors[:, 1:] / np.sqrt(inflation)).max() > LARGEST_ERROR:
        return None, (
            "The chosen columns separate the classes of the held-out rows, at least in part: "
            "coefficients without a penalty have no finite optimum there."
        )
    return (fitted if found.n_classes == 2 else centred(fitted)), None


def _described(
    feature: Mapping[str, Any], fitted: Coefficients | None, place: Any, deviation: float
) -> dict[str, Any]:
    """One feature: per unit, and per standard deviation of the training rows, as elsewhere."""
    own = {"name": feature["name"], "index": feature["index"], "reason": None, "p_value": None}
    by_class = feature["coefficients"] is not None
    model = np.atleast_1d(feature["coefficients"] if by_class else feature["coefficient"])
    told = {"model": model, **dict.fromkeys(("estimate", "standard_error", "low", "high"))}
    within: Any = None
    if place is None:
        own["reason"] = "constant in the held-out rows"
    elif fitted is not None:
        value, error = (each[:, place] / deviation for each in (fitted.values, fitted.errors))
        half = t.ppf((1 + LEVEL) / 2, fitted.freedom) * error
        told |= {
            "estimate": value,
            "standard_error": error,
            "low": value - half,
            "high": value + half,
        }
        inside = np.abs(value - model) <= half
        within = inside if by_class else bool(inside[0])
        p_value = 2 * t.sf(np.abs(value / error), fitted.freedom)
        own["p_value"] = p_value if by_class else float(p_value[0])
    spread = feature["standard_deviation"]
    return {
        **own,
        **_written(told, 1.0, by_class),
        "standardised": _written(told, spread, by_class),
        "within": within,
    }


def _written(told: Mapping[str, Any], unit: float, by_class: bool) -> dict[str, Any]:
    """Numbers for so many units; one, or a list by class."""
    scaled = {key: None if each is None else each * unit for key, each in told.items()}
    if by_class:
        return scaled
    return {key: None if each is None else float(each[0]) for key, each in scaled.items()}
