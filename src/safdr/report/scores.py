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


def held_out_auc(estimator: Any, X: Any, y: Any) -> dict[str, Any]:
    """Area under the ROC curve on held-out rows, with a 95 % interval.

    Of a source, `y` names the labels.
    """
    if isinstance(y, str):
        counts = estimator.count_scores(X, y)
        return interval_of_counts(counts) | {"n_rows": int(counts.sum())}
    positive = _checked_labels(estimator.classes_, y) == estimator.classes_[1]
    scores = _scores_of(estimator, X)
    found = auc_with_interval(scores[positive], scores[~positive])
    return found | {"n_rows": len(positive)}


def held_out_auc_of_each(estimator: Any, X: Any, y: Any) -> dict[str, Any]:
    """The mean of the areas of each class against the rest."""
    _check_at_hand(estimator, y)
    labels = _checked_labels(estimator.classes_, y)
    scores = np.asarray(estimator.predict_proba(X), dtype=np.float64)
    codes = np.searchsorted(estimator.classes_, labels)
    return mean_auc_with_interval(scores, codes) | {"n_rows": len(codes)}


def held_out_r2(estimator: Any, X: Any, y: Any) -> dict[str, Any]:
    """The share of the variance that is explained."""
    _check_at_hand(estimator, y)
    values = np.asarray(y, dtype=np.float64)
    found = r2_with_interval(values, np.asarray(estimator.predict(X)))
    return found | {"n_rows": len(values)}


def held_out_score(estimator: Any, X: Any, y: Any) -> dict[str, Any]:
    """Any other score, without an interval."""
    score = float(estimator.score(X, y))
    return {"value": score, "low": None, "high": None, "method": None, "n_rows": len(y)}


def r2_with_interval(y: FloatArray, predicted: FloatArray) -> dict[str, Any]:
    """R² of some predictions, with its 95 % interval.

    It is 1 - a/b with two means of squares a and b, so that its variance follows from those of
    rows by the delta method; on the scale of log(1 - R²), or the interval could exceed 1.
    """
    errors, about_mean = (y - predicted) ** 2, (y - y.mean()) ** 2
    variance = about_mean.mean()
    if variance == 0:
        raise ValueError(
            f"y_test is {y[0]:g} in every row, so that no R² can be told. Hold out more rows, or "
            "leave X_test and y_test out."
        )
    lost = float(errors.mean() / variance)
    if lost == 0:
        return {"value": 1.0, "low": None, "high": None, "method": None}
    spread = np.sqrt(((errors - lost * about_mean) ** 2).mean() / len(y)) / variance
    half = norm.ppf((1 + LEVEL) / 2) * spread / lost
    low, high = (float(1 - lost * np.exp(side * half)) for side in (1, -1))
    return {"value": 1 - lost, "low": low, "high": high, "method": "delta method, log(1 − R²)"}


def mean_auc_with_interval(scores: FloatArray, codes: NDArray[np.int64]) -> dict[str, Any]:
    """Mean area under the ROC curves of each class against the rest, with its 95 % interval.

    DeLong's way: each row has a share in the area of every class, and the variance is that of the
    sums of these shares within the classes. For two classes it is DeLong's own.
    """
    n_classes = scores.shape[1]
    n = np.bincount(codes, minlength=n_classes)
    shares, areas = np.zeros(len(codes)), np.zeros(n_classes)
    for c in range(n_classes):
        own = codes == c
        share = np.empty(len(codes))
        share[own] = _share_below(scores[own, c], scores[~own, c])
        share[~own] = 1.0 - _share_below(scores[~own, c], scores[own, c])
        areas[c] = share[own].mean()
        shares += share / np.where(own, n[c], len(codes) - n[c]) / n_classes
    value = float(areas.mean())
    if value == 1.0:
        return _perfect(value, int(n.min()))
    if n.min() < 2:
        return {"value": value, "low": None, "high": None, "method": None}
    means = np.bincount(codes, shares) / n
    spread = (np.bincount(codes, (shares - means[codes]) ** 2) * n / (n - 1)).sum()
    return _on_logit_scale(value, float(spread), "DeLong, over all classes, logit scale")


def _share_below(scores: FloatArray, others: FloatArray) -> FloatArray:
    """For each score, the share of the others that are below; equal ones count half."""
    ranked = np.sort(others)
    below = np.searchsorted(ranked, scores, side="left")
    not_above = np.searchsorted(ranked, scores, side="right")
    return (below + not_above) / (2 * len(others))


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
        return _perfect(value, min(m, n))
    if min(m, n) < 2:
        return {"value": value, "low": None, "high": None, "method": None}
    spread = positive @ (above - value) ** 2 / (m - 1) / m
    spread += negative @ (below - value) ** 2 / (n - 1) / n
    return _on_logit_scale(value, spread, "DeLong, logit scale")


def _on_logit_scale(value: float, variance: float, method: str) -> dict[str, Any]:
    half = norm.ppf((1 + LEVEL) / 2) * np.sqrt(variance) / (value * (1 - value))
    low, high = (float(expit(logit(value) + side * half)) for side in (-1, 1))
    return {"value": value, "low": low, "high": high, "method": method}


def _perfect(value: float, n_pairs: float) -> dict[str, Any]:
    """The interval where all pairs of rows are in the right order, or all in the wrong one."""
    bound = ((1 - LEVEL) / 2) ** (1 / n_pairs)
    low, high = (bound, 1.0) if value == 1.0 else (0.0, 1.0 - bound)
    return {"value": value, "low": low, "high": high, "method": "exact binomial"}


def _checked_labels(classes: NDArray[Any], y: Any) -> NDArray[Any]:
    """The labels; all classes must be there, and no other."""
    labels = np.asarray(y)
    present = np.unique(labels)
    if not np.array_equal(present, classes):
        these = "both" if len(classes) == 2 else "all"
        raise ValueError(
            f"y_test must hold {these} classes that the selector was fitted to, "
            f"{classes.tolist()}, and no other; got {present[:5].tolist()}. Hold out more rows, in "
            f"equal shares of {these} classes (train_test_split(..., stratify=y)), or leave X_test "
            "and y_test out."
        )
    return labels


def _check_at_hand(estimator: Any, y: Any) -> None:
    """Refuse a source, whose scores are counted for two classes alone."""
    if isinstance(y, str):
        raise ValueError(
            "X_test and y_test must be rows in memory, unless there are two classes; got a source. "
            f"Pass some rows that the {type(estimator).__name__} was not fitted to."
        )


def _scores_of(estimator: Any, X: Any) -> FloatArray:
    """What ranks the rows: log-odds where the model gives them, else probabilities."""
    if hasattr(estimator, "decision_function"):
        return np.asarray(estimator.decision_function(X), dtype=np.float64)
    return np.asarray(estimator.predict_proba(X), dtype=np.float64)[:, 1]
