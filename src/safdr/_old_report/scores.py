"""How well the model predicts: on the validation splits, and on rows that it never saw."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from safdr._old_measures.intervals import (
    FloatArray,
    interval_of_counts,
    mean_auc_with_interval,
    r2_with_interval,
)
from safdr._old_measures.ranking import Ranked


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


def held_out_auc(estimator: Any, X: Any, y: Any, weight: FloatArray | None) -> dict[str, Any]:
    """Area under the ROC curve on held-out rows, with a 95 % interval."""
    positive = checked_labels(estimator.classes_, y, weight) == estimator.classes_[1]
    found = Ranked.of(scores_of(estimator, X), positive, _ones_or(weight, positive))
    interval = interval_of_counts(found.counts, found.squares, found.n_rows)
    return interval | {"n_rows": len(positive)}


def held_out_auc_of_each(
    estimator: Any, X: Any, y: Any, weight: FloatArray | None
) -> dict[str, Any]:
    """The mean of the areas of each class against the rest."""
    check_at_hand(estimator, y)
    labels = checked_labels(estimator.classes_, y, weight)
    scores = np.asarray(estimator.predict_proba(X), dtype=np.float64)
    codes = np.searchsorted(estimator.classes_, labels)
    return mean_auc_with_interval(scores, codes, weight) | {"n_rows": len(codes)}


def held_out_r2(estimator: Any, X: Any, y: Any, weight: FloatArray | None) -> dict[str, Any]:
    """The share of the variance that is explained."""
    check_at_hand(estimator, y)
    values = np.asarray(y, dtype=np.float64)
    found = r2_with_interval(values, np.asarray(estimator.predict(X)), weight)
    return found | {"n_rows": len(values)}


def _ones_or(weight: FloatArray | None, rows: NDArray[Any]) -> FloatArray:
    return np.ones(len(rows)) if weight is None else weight


def held_out_score(estimator: Any, X: Any, y: Any, weight: FloatArray | None) -> dict[str, Any]:
    """Any other score, without an interval."""
    if weight is not None:
        raise ValueError(
            "sample_weight_test goes with the default scoring; got a selector with scoring="
            f"{estimator.scoring!r}. Leave one of them out."
        )
    score = float(estimator.score(X, y))
    return {"value": score, "low": None, "high": None, "method": None, "n_rows": len(y)}


def checked_labels(classes: NDArray[Any], y: Any, weight: FloatArray | None) -> NDArray[Any]:
    """The labels; all classes must be there, with some weight, and no other."""
    labels = np.asarray(y)
    present = np.unique(labels if weight is None else labels[weight > 0])
    if not np.array_equal(present, classes):
        these = "both" if len(classes) == 2 else "all"
        raise ValueError(
            f"y_test must hold {these} classes that the selector was fitted to, "
            f"{classes.tolist()}, and no other; got {present[:5].tolist()}. Hold out more rows, in "
            f"equal shares of {these} classes (train_test_split(..., stratify=y)), or leave X_test "
            "and y_test out."
        )
    return labels


def check_at_hand(estimator: Any, y: Any) -> None:
    """Refuse a source, whose scores are counted for two classes alone."""
    if isinstance(y, str):
        raise ValueError(
            "X_test and y_test must be rows in memory, unless there are two classes; got a source. "
            f"Pass some rows that the {type(estimator).__name__} was not fitted to."
        )


def scores_of(estimator: Any, X: Any) -> FloatArray:
    """What ranks the rows: log-odds where the model gives them, else probabilities."""
    if hasattr(estimator, "decision_function"):
        return np.asarray(estimator.decision_function(X), dtype=np.float64)
    return np.asarray(estimator.predict_proba(X), dtype=np.float64)[:, 1]
