"""The model on the chosen features as a formula: coefficients on the scale of the data."""

from __future__ import annotations

from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from safdr.result import FeatureGroups

FloatArray = NDArray[np.float64]

# Models whose linear formula is the log-odds, so that exp(coefficient) is an odds ratio.
LOG_ODDS_MODELS = (LogisticRegression, LinearDiscriminantAnalysis)


def describe_model(
    estimator: Any, X: FloatArray, names: list[str], groups: FeatureGroups
) -> dict[str, Any]:
    """The columns of the chosen features, strongest first, and the intercept.

    Columns of a group stand together, where the strongest of them belongs. Where the model is not
    linear, coefficients and intercept are NaN and the features keep the order of the columns.
    """
    subset = np.asarray(estimator.subset_)
    coefficients, intercept = _linear_formula(estimator.estimator_, len(subset))
    deviations = X[:, subset].std(axis=0)
    standardised = coefficients * deviations
    with np.errstate(over="ignore"):
        ratios = np.exp(coefficients) if _is_log_odds(estimator.estimator_) else coefficients * nan
    feature_of = groups.feature_of[subset]
    order = _by_strength(np.abs(standardised), feature_of)
    titles = {i: name for i, name in enumerate(groups.names(names)) if i in set(groups.groups)}
    features = [
        {
            "name": names[subset[i]],
            "index": int(subset[i]),
            "group": titles.get(int(feature_of[i])),
            "coefficient": coefficients[i],
            "odds_ratio": ratios[i],
            "standard_deviation": deviations[i],
            "standardised_coefficient": standardised[i],
        }
        for i in order
    ]
    return {"features": features, "intercept": intercept}


def _by_strength(strength: FloatArray, feature_of: NDArray[np.int64]) -> list[int]:
    """The strongest column first, and with it all of its group."""
    # NaN sorts last and the sort is stable: without coefficients the columns keep their order.
    order = np.argsort(-strength, kind="stable").tolist()
    rank = {f: place for place, f in reversed(list(enumerate(feature_of[order].tolist())))}
    return sorted(order, key=lambda i: rank[int(feature_of[i])])


def _linear_formula(model: Any, size: int) -> tuple[FloatArray, float]:
    """Coefficients and intercept on the original scale; NaN where the model is not linear."""
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    scalers = [step for step in steps[:-1] if step not in (None, "passthrough")]
    coefficients = np.ravel(getattr(steps[-1], "coef_", nan))
    if len(coefficients) != size or not all(isinstance(s, StandardScaler) for s in scalers):
        return np.full(size, nan), nan
    intercept = float(np.ravel(steps[-1].intercept_)[0])
    # Undone from the last to the first: z = (x - mean) / scale.
    for scaler in reversed(scalers):
        coefficients = coefficients / (1.0 if scaler.scale_ is None else scaler.scale_)
        if scaler.with_mean:
            intercept -= float(coefficients @ scaler.mean_)
    return np.asarray(coefficients, dtype=np.float64), intercept


def _is_log_odds(model: Any) -> bool:
    """Whether the last step gives log-odds."""
    return isinstance(model[-1] if isinstance(model, Pipeline) else model, LOG_ODDS_MODELS)
