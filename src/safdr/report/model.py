"""The model of a selection as terms: coefficients of the columns as they stand in the table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from safdr.report.reading import Features, Found

FloatArray = NDArray[np.float64]

KINDS = {
    "LogisticModel": "logistic",
    "LinearModel": "linear",
    "LogLinearModel": "log-linear",
    "CoxModel": "proportional hazards",
}
# Rows on which the terms must reproduce the predictions of the model.
CHECKED_ROWS = 200


def describe_model(
    model: Any,
    subset: Sequence[int],
    columns: FloatArray,
    weight: FloatArray,
    features: Features,
    sources: Sequence[Found],
) -> tuple[Found, list[int]]:
    """Return the model with its terms, the strongest feature first, and the column of each."""
    # `columns` are the training rows of the subset, `sources` say how columns are made.
    last = model[-1] if isinstance(model, Pipeline) else model
    kind = KINDS.get(type(last).__name__, type(last).__name__)
    several = len(getattr(model, "classes_", ())) > 2
    result: Found = {"kind": "softmax" if kind == "logistic" and several else kind}
    penalty = getattr(last, "C", None)
    if isinstance(penalty, float) and np.isfinite(penalty):
        result["C"] = penalty
    formula = _formula(model, len(subset))
    if formula is None:
        return result, []
    coefficients, intercepts = formula
    low, high = np.full((2, len(subset)), [[-np.inf], [np.inf]])
    if getattr(last, "clips", False):
        low, high = last.data_min_, last.data_max_
    link = _link(model, columns, np.clip(columns, low, high) @ coefficients.T + intercepts)
    if link is None:
        return result, []
    if link:
        result["link"] = link
    if getattr(last, "clip", False) and len(intercepts) == 1:
        result["range"] = [float(last.target_min_), float(last.target_max_)]
    sd = np.sqrt(np.average((columns - np.average(columns, 0, weight)) ** 2, 0, weight))
    of_column = features.of_column[list(subset)]
    order = _by_strength(coefficients * sd, of_column)
    names = [features.names[of_column[i]] for i in order]
    terms = [dict(sources[int(subset[i])]) for i in order]
    for i, term, name in zip(order, terms, names, strict=True):
        b = coefficients[:, i]
        term |= {"coefficients": b, "per_sd": b * sd[i], "sd": sd[i]}
        term |= {"of": name} if name != term["feature"] else {}
        if "equals" not in term and np.isfinite([low[i], high[i]]).all():
            term |= {"low": low[i], "high": high[i]}
    result |= {"intercepts": intercepts, "terms": terms}
    return result, [int(subset[i]) for i in order]


def _by_strength(effects: FloatArray, feature_of: NDArray[np.int64]) -> list[int]:
    """Return the order of columns by effect, those of a feature together."""
    strength = np.sqrt((effects**2).sum(axis=0))
    total = {f: np.sqrt((strength[feature_of == f] ** 2).sum()) for f in set(feature_of.tolist())}
    return sorted(
        range(len(strength)), key=lambda i: (-total[feature_of[i]], feature_of[i], -strength[i])
    )


def _formula(model: Any, size: int) -> tuple[FloatArray, FloatArray] | None:
    """Return coefficients and intercepts on the original scale, a row for each score."""
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    scalers = [step for step in steps[:-1] if step not in (None, "passthrough")]
    if not hasattr(steps[-1], "coef_") or not all(isinstance(s, StandardScaler) for s in scalers):
        return None
    coefficients = np.atleast_2d(np.asarray(steps[-1].coef_, dtype=np.float64))
    if coefficients.shape[1] != size or not np.isfinite(coefficients).all():
        return None
    intercepts = np.broadcast_to(np.ravel(steps[-1].intercept_), len(coefficients)).astype(float)
    for scaler in reversed(scalers):
        coefficients = coefficients / (1.0 if scaler.scale_ is None else scaler.scale_)
        if scaler.with_mean:
            intercepts = intercepts - coefficients @ scaler.mean_
    return coefficients, intercepts


def _link(model: Any, columns: FloatArray, sums: FloatArray) -> str | None:
    """Return the link by which sums give the predictions, "" for scores, None for other models."""
    sample = np.linspace(0, len(columns) - 1, min(CHECKED_ROWS, len(columns))).astype(int)
    sums, rows = sums[sample], columns[sample]

    def same(values: FloatArray, wanted: Any) -> bool:
        wanted = np.reshape(wanted, (len(rows), -1))
        return values.shape == wanted.shape and np.allclose(values, wanted, atol=1e-9)

    if not hasattr(model, "classes_"):
        if hasattr(model, "cumulative_hazard_"):
            return "log_hazard" if same(sums, model.predict(rows)) else None
        if sums.shape[1] == 1 and same(np.exp(np.minimum(sums, 700)), model.predict(rows)):
            return "log"
        clips = getattr(model, "clip", False)
        predicted = np.clip(sums, model.target_min_, model.target_max_) if clips else sums
        link = "identity" if sums.shape[1] == 1 else ""
        return link if same(predicted, model.predict(rows)) else None
    if hasattr(model, "predict_proba"):
        probabilities = model.predict_proba(rows)
        if same(expit(sums), probabilities[:, 1:]):
            return "logit"
        if same(softmax(sums, axis=1), probabilities):
            return "softmax"
    decision = getattr(model, "decision_function", None)
    return "" if decision is not None and same(sums, decision(rows)) else None
