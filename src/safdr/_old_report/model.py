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
from sklearn.svm import SVC, NuSVC

from safdr._estimators.models import LogisticModel
from safdr.result import FeatureGroups

FloatArray = NDArray[np.float64]

# Models whose linear formula is the log-odds, so that exp(coefficient) is an odds ratio.
LOG_ODDS_MODELS = (LogisticModel, LogisticRegression, LinearDiscriminantAnalysis)


def describe_model(
    estimator: Any, X: FloatArray, names: list[str], groups: FeatureGroups
) -> dict[str, Any]:
    """The columns of the chosen features, strongest first, and the intercept.

    Columns of a group stand together, where the strongest of them belongs. Of more than two
    classes each has its own coefficients: lists in the order of the classes, in the place of single
    numbers. Where the model is not linear, all are NaN and the features keep the order of the
    columns.
    """
    subset = np.asarray(estimator.subset_)
    coefficients, intercepts = _linear_formula(estimator, len(subset))
    deviations = X[:, subset].std(axis=0)
    feature_of = groups.feature_of[subset]
    # Of classes, whose coefficients sum to zero, their deviation.
    strength = np.sqrt(((coefficients * deviations) ** 2).mean(axis=0))
    order = _by_strength(strength, feature_of)
    titles = {i: name for i, name in enumerate(groups.names(names)) if i in set(groups.groups)}
    numbers = _of_one if len(coefficients) == 1 else _of_classes
    is_log_odds = _is_log_odds(estimator.estimator_)
    features = [
        {
            "name": names[subset[i]],
            "index": int(subset[i]),
            "group": titles.get(int(feature_of[i])),
            "standard_deviation": deviations[i],
            "strength": strength[i],
            **numbers(coefficients[:, i], deviations[i], is_log_odds),
        }
        for i in order
    ]
    of_groups = _group_effects(coefficients, X[:, subset], feature_of[order], order, titles)
    described = {"features": features, "group_effects": of_groups}
    if len(intercepts) == 1:
        return {**described, "intercept": intercepts[0], "intercepts": None}
    return {**described, "intercept": None, "intercepts": intercepts}


def _group_effects(
    coefficients: FloatArray,
    X: FloatArray,
    feature_of: NDArray[np.int64],
    order: list[int],
    titles: dict[int, str],
) -> list[dict[str, Any]]:
    """What the columns of a group do together: the deviation of their sum over the rows.

    It has no sign; of more than two classes there is one for each.
    """
    found = []
    for feature, title in titles.items():
        own = [i for i, of in zip(order, feature_of, strict=True) if of == feature]
        if own:
            effects = (X[:, own] @ coefficients[:, own].T).std(axis=0)
            found.append({"name": title, "n_columns": len(own), "effects": effects})
    return found


def _of_one(coefficients: FloatArray, deviation: float, is_log_odds: bool) -> dict[str, Any]:
    """Numbers of a feature that has one coefficient."""
    coefficient = coefficients[0]
    effects = np.array([coefficient, coefficient * deviation])
    with np.errstate(over="ignore"):
        ratio, ratio_per_deviation = np.exp(effects) if is_log_odds else (nan, nan)
    return {
        "coefficient": coefficient,
        "odds_ratio": ratio,
        "odds_ratio_per_deviation": ratio_per_deviation,
        "standardised_coefficient": coefficient * deviation,
        "coefficients": None,
        "standardised_coefficients": None,
    }


def _of_classes(coefficients: FloatArray, deviation: float, _: bool) -> dict[str, Any]:
    """Numbers of a feature that has a coefficient for each class."""
    return {
        "coefficient": None,
        "odds_ratio": None,
        "odds_ratio_per_deviation": None,
        "standardised_coefficient": None,
        "coefficients": coefficients,
        "standardised_coefficients": coefficients * deviation,
    }


def _by_strength(strength: FloatArray, feature_of: NDArray[np.int64]) -> list[int]:
    """The strongest column first, and with it all of its group."""
    # NaN sorts last and the sort is stable: without coefficients the columns keep their order.
    order = np.argsort(-strength, kind="stable").tolist()
    rank = {f: place for place, f in reversed(list(enumerate(feature_of[order].tolist())))}
    return sorted(order, key=lambda i: rank[int(feature_of[i])])


def _linear_formula(estimator: Any, size: int) -> tuple[FloatArray, FloatArray]:
    """Coefficients and intercepts on the original scale, a row for each score that the model gives.

    One row of NaN where the model is not linear.
    """
    model, n_classes = estimator.estimator_, len(getattr(estimator, "classes_", ()))
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    scalers = [step for step in steps[:-1] if step not in (None, "passthrough")]
    coefficients = np.atleast_2d(getattr(steps[-1], "coef_", nan))
    wanted = (n_classes if n_classes > 2 else 1, size)
    is_linear = hasattr(steps[-1], "coef_") and coefficients.shape == wanted
    is_linear &= all(isinstance(scaler, StandardScaler) for scaler in scalers)
    # Of more than two classes these have rows for pairs of them.
    if not is_linear or (n_classes > 2 and isinstance(steps[-1], SVC | NuSVC)):
        return np.full((1, size), nan), np.full(1, nan)
    intercepts = np.array(np.atleast_1d(steps[-1].intercept_), dtype=np.float64)
    intercepts = np.broadcast_to(intercepts, len(coefficients)).copy()
    # Undone from the last to the first: z = (x - mean) / scale.
    for scaler in reversed(scalers):
        coefficients = coefficients / (1.0 if scaler.scale_ is None else scaler.scale_)
        if scaler.with_mean:
            intercepts -= coefficients @ scaler.mean_
    return np.asarray(coefficients, dtype=np.float64), intercepts


def _is_log_odds(model: Any) -> bool:
    """Whether the last step gives log-odds."""
    return isinstance(model[-1] if isinstance(model, Pipeline) else model, LOG_ODDS_MODELS)
