"""The choice of the size: scores against k, what the rule asked for, which features at which k."""

from __future__ import annotations

from typing import Any

import numpy as np

from safdr._estimators.feature_groups import Units
from safdr._estimators.rules import one_sd_threshold
from safdr.display import SelectionDisplay


def describe_size(estimator: Any, units: Units) -> dict[str, Any]:
    """Give the chosen size, the rule and what the other rules would choose.

    Parameters
    ----------
    estimator : AnnealingSelector or AnnealingSelectorCV
        Fitted; the rule of the former, which has none, is None.
    units : Units
        What counts as one feature.

    Returns
    -------
    dict
        `columns` counts the columns of the chosen features, `possible` is the most features that
        constraints allow.
    """
    searched = hasattr(estimator, "cv_results_")
    return {
        "chosen": int(estimator.n_features_),
        "columns": len(estimator.subset_),
        "rule": _rule_name(estimator.rule) if searched else None,
        "by_rule": dict(estimator.n_features_by_rule_) if searched else None,
        "smallest": int(estimator.cv_results_["n_features"].min()) if searched else None,
        "largest": int(estimator.cv_results_["n_features"].max()) if searched else None,
        "possible": units.largest,
    }


def describe_path(estimator: Any) -> list[dict[str, Any]]:
    """Give the scores of each size; empty where only one size was searched.

    Parameters
    ----------
    estimator : AnnealingSelector or AnnealingSelectorCV
        Fitted.

    Returns
    -------
    list of dict
        `threshold` is the mean score from which on the rule takes the size; `cross_entropy` that of
        the search on all rows, which is done at the chosen size only.
    """
    if not hasattr(estimator, "cv_results_"):
        return []
    results = estimator.cv_results_
    scores = np.array([results[f"split{i}_test_score"] for i in range(estimator.n_splits_)])
    thresholds = _thresholds(estimator.rule, scores)
    return [
        {
            "size": int(size),
            "mean": results["mean_test_score"][i],
            "std": results["std_test_score"][i],
            "splits": scores[:, i].tolist(),
            "threshold": thresholds[i],
            "cross_entropy": estimator.cross_entropy_ if size == estimator.n_features_ else None,
        }
        for i, size in enumerate(results["n_features"])
    ]


def describe_selection(estimator: Any, units: Units) -> dict[str, Any]:
    """Give the share of splits in which each feature was chosen at each size.

    Parameters
    ----------
    estimator : AnnealingSelector or AnnealingSelectorCV
        Fitted.
    units : Units
        What counts as one feature.

    Returns
    -------
    dict
        Features in the order in which they come in; those never chosen are left out. A group is one
        feature, whose index is that of its first column.
    """
    if not hasattr(estimator, "cv_results_"):
        return {"sizes": [], "features": [], "indices": [], "share": []}
    counted = SelectionDisplay.from_estimator(estimator)
    order = counted.order_
    return {
        "sizes": counted.n_features.tolist(),
        "features": [units.names[u] for u in order],
        "indices": [int(units.columns[u][0]) for u in order],
        "share": (counted.n_folds_chosen[order] / counted.n_splits).tolist(),
    }


def _rule_name(rule: Any) -> str:
    return rule if isinstance(rule, str) else getattr(rule, "__name__", type(rule).__name__)


def _thresholds(rule: Any, scores: np.ndarray[Any, Any]) -> list[float | None]:
    """The mean score that the rule asks of each size; None for a rule that is a function."""
    means = scores.mean(axis=0)
    best = means.argmax()
    if rule == "one_sd":
        return [one_sd_threshold(scores)] * len(means)
    if rule == "one_se" and len(scores) > 1:
        # The error is that of the differences to the best size, so each size has its own.
        behind = scores[:, [best]] - scores
        errors = behind.std(axis=0, ddof=1) / np.sqrt(len(scores))
        return [float(each) for each in means[best] - errors]
    return [float(means[best])] * len(means) if isinstance(rule, str) else [None] * len(means)
