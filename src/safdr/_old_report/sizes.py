"""The choice of the size: scores against k, what the rule asked for, which features at which k."""

from __future__ import annotations

from typing import Any

import numpy as np

from safdr.display import SelectionDisplay
from safdr.result import FeatureGroups


def describe_size(estimator: Any, groups: FeatureGroups) -> dict[str, Any]:
    """The chosen size, the rule, and what the other rules would choose."""
    searched = hasattr(estimator, "cv_results_")
    return {
        "chosen": int(estimator.n_features_),
        "columns": len(estimator.subset_),
        "rule": _rule_name(estimator.rule) if searched else None,
        "by_rule": dict(estimator.n_features_by_rule_) if searched else None,
        "note": estimator.rule_note_ if searched else None,
        "smallest": int(estimator.cv_results_["n_features"].min()) if searched else None,
        "largest": int(estimator.cv_results_["n_features"].max()) if searched else None,
        "possible": groups.max_features,
    }


def describe_path(estimator: Any, loss: str) -> list[dict[str, Any]]:
    """The scores of each size, and the mean score from which on the rule takes it.

    Empty where only one size was searched. The search on all rows, and so its loss, is of
    the chosen size only.
    """
    if not hasattr(estimator, "cv_results_"):
        return []
    results = estimator.cv_results_
    scores = np.array([results[f"split{i}_test_score"] for i in range(estimator.n_splits_)])
    thresholds = _thresholds(estimator, scores)
    return [
        {
            "size": int(size),
            "mean": results["mean_test_score"][i],
            "std": results["std_test_score"][i],
            "splits": scores[:, i].tolist(),
            "threshold": thresholds[i],
            loss: estimator.loss_ if size == estimator.n_features_ else None,
        }
        for i, size in enumerate(results["n_features"])
    ]


def describe_selection(estimator: Any, names: list[str], groups: FeatureGroups) -> dict[str, Any]:
    """The share of splits in which each feature was chosen at each size.

    Features come in the order in which they come in; those never chosen are left out. The index of
    a group is that of its first column.
    """
    if not hasattr(estimator, "cv_results_"):
        return {"sizes": [], "features": [], "indices": [], "share": []}
    counted = SelectionDisplay.from_estimator(estimator)
    order = counted.order_
    return {
        "sizes": counted.n_features.tolist(),
        "features": [names[i] for i in order],
        "indices": [int(groups.columns[i][0]) for i in order],
        "share": (counted.counts[order] / counted.n_splits).tolist(),
    }


def _rule_name(rule: Any) -> str:
    return rule if isinstance(rule, str) else getattr(rule, "__name__", type(rule).__name__)


def _thresholds(estimator: Any, scores: np.ndarray[Any, Any]) -> list[float | None]:
    """Return the mean score that the rule requires, for each size; None for a callable."""
    return [estimator.threshold_] * scores.shape[1]
