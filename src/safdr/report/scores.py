"""How well the model predicts: on the validation splits, and on rows that it never saw."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from scipy.stats import norm

FloatArray = NDArray[np.float64]

LEVEL = 0.95


def validation_score(estimator: Any) -> dict[str, Any] | None:
    """Score of the chosen size over the validation splits; None where there were none."""
    results = getattr(estimator, "cv_results_", None)
    if results is None:
        return None
    chosen = int(np.flatnonzero(results["n_features"] == estimator.n_features_)[0])
    return {
        "mean": results["mean_test_score"][chosen],
        "std": results["std_test_score"][chosen],
        "splits": [results[f"split{i}_test_score"][chosen] for i in range(estimator.n_splits_)],
    }


def held_out(estimator: Any, scoring: str, X: Any, y: Any) -> tuple[dict[str, Any], int]:
    """Score on held-out rows, with a 95 % interval where it is the area under the curve; how many.

    Where `y` names a column of a source, it is that area.
    """
    if isinstance(y, str):
        counts = estimator.count_scores(X, y)
        return interval_of_counts(counts), int(counts.sum())
    if scoring != "roc_auc":
        score = float(estimator.score(X, y))
        return {"value": score, "low": None, "high": None, "method": None}, len(y)
    positive = _is_positive(estimator.classes_, y)
    scores = _scores_of(estimator, X)
    return auc_with_interval(scores[positive], scores[~positive]), len(y)


def auc_with_interval(positive: FloatArray, negative: FloatArray) -> dict[str, Any]:
    """Area under the ROC curve of some scores, with its 95 % interval."""
    scores, place = np.unique(np.concatenate([negative, positive]), return_inverse=True)
    codes = np.repeat([0, 1], [len(negative), len(positive)])
    counts = np.bincount(codes * len(scores) + place, minlength=2 * len(scores))
    return interval_of_counts(counts.reshape(2, -1).astype(np.float64))


def interval_of_counts(counts: FloatArray) -> dict[str, Any]:
    """The same from the rows of both classes, the negative first, in bins from low to high scores.

    DeLong's variance, on the logit scale, so that the interval stays between 0 and 1. Where the
    scores separate the classes that variance is 0, which would promise too much: of the rows
    min(m, n) pairs without a common row can be made, all in the right order, and the interval is
    the exact binomial one for that many successes.
    """
    negative, positive = counts
    n, m = counts.sum(axis=1)
    # For the rows of each bin, the share of the other class on the right side of it (those in the
    # same bin count half).
    above = (np.cumsum(negative) - 0.5 * negative) / n
    below = 1.0 - (np.cumsum(positive) - 0.5 * positive) / m
    value = float(positive @ above / m)
    if value in (0.0, 1.0):
        bound = ((1 - LEVEL) / 2) ** (1 / min(m, n))
        low, high = (bound, 1.0) if value == 1.0 else (0.0, 1.0 - bound)
        return {"value": value, "low": low, "high": high, "method": "exact binomial"}
    if min(m, n) < 2:
        return {"value": value, "low": None, "high": None, "method": None}
    spread = positive @ (above - value) ** 2 / (m - 1) / m
    spread += negative @ (below - value) ** 2 / (n - 1) / n
    half = norm.ppf((1 + LEVEL) / 2) * np.sqrt(spread) / (value * (1 - value))
    low, high = (float(expit(logit(value) + side * half)) for side in (-1, 1))
    return {"value": value, "low": low, "high": high, "method": "DeLong, logit scale"}


def _is_positive(classes: NDArray[Any], y: Any) -> NDArray[np.bool_]:
    """Which rows are of the second class; both must be there, and no other."""
    labels = np.asarray(y)
    present = np.unique(labels)
    if len(present) != 2 or not np.isin(present, classes).all():
        raise ValueError(
            f"y_test must hold both classes that the selector was fitted to, {classes.tolist()}, "
            f"and no other; got {present[:5].tolist()}. Hold out more rows, in equal shares of "
            "both classes (train_test_split(..., stratify=y)), or leave X_test and y_test out."
        )
    return np.asarray(labels == classes[1])


def _scores_of(estimator: Any, X: Any) -> FloatArray:
    """What ranks the rows: log-odds where the model gives them, else probabilities."""
    if hasattr(estimator, "decision_function"):
        return np.asarray(estimator.decision_function(X), dtype=np.float64)
    return np.asarray(estimator.predict_proba(X), dtype=np.float64)[:, 1]
