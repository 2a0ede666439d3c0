"""Other good sets on rows held out: what the model of the task, fitted to each, scores there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import clone

from safdr._old_measures.intervals import (
    interval_of_counts,
    mean_auc_with_interval,
    r2_with_interval,
)
from safdr._old_measures.ranking import Ranked
from safdr._old_report.risk.rows import GivenRows

FloatArray = NDArray[np.float64]

# Predictions of a model that is fitted again differ by less, as a share of their spread.
SAME = 1e-4


def add_held_out(
    alternatives: list[dict[str, Any]],
    estimator: Any,
    rows: GivenRows,
    held_out: GivenRows | None,
    test: dict[str, Any] | None,
) -> None:
    """Add `held_out` to each set; None where its model can't be fitted here.

    That is told by the chosen set: with weights of classes, or of rows that are read in passes, the
    selector predicts something else.
    """
    scores: list[float] = []
    linear = estimator.estimator is None and estimator.result_.coefficients is not None
    if test is not None and held_out is not None and linear and not isinstance(held_out.y, str):
        subsets = [np.asarray(each["indices"]) for each in alternatives]
        predicted = list(_predictions(estimator, subsets, rows, held_out.X))
        known = _predicted_by(estimator, held_out.X)
        if np.allclose(predicted[0], known, rtol=SAME, atol=SAME * known.std()):
            scores = [_score(each, held_out, estimator) for each in predicted]
    for i, each in enumerate(alternatives):
        each["held_out"] = scores[i] if scores else None


def _predicted_by(estimator: Any, X: Any) -> FloatArray:
    """Log-odds of two classes, probabilities of more, or numbers."""
    classes = getattr(estimator, "classes_", None)
    if classes is None:
        return np.asarray(estimator.predict(X))
    return np.asarray(
        estimator.decision_function(X) if len(classes) == 2 else estimator.predict_proba(X)
    )


def _predictions(
    estimator: Any, subsets: list[NDArray[np.int64]], rows: GivenRows, X_test: Any
) -> Iterator[FloatArray]:
    """The same of the final model, fitted again to each set."""
    classes = getattr(estimator, "classes_", None)
    for subset in subsets:
        X, X_new = rows.X[:, subset], _columns(X_test, subset)
        if estimator.clip_limits_ is not None:
            limits = estimator.clip_limits_[:, subset]
            X, X_new = np.clip(X, *limits), np.clip(X_new, *limits)
        model = clone(estimator.estimator_).fit(X, rows.y, sample_weight=rows.weight)
        if classes is None:
            yield np.asarray(model.predict(X_new))
        else:
            predict = model.decision_function if len(classes) == 2 else model.predict_proba
            yield np.asarray(predict(X_new))


def _columns(X: Any, used: NDArray[np.int64]) -> FloatArray:
    """Some columns of rows of any kind, as numbers."""
    if issparse(X):
        return np.asarray(X.tocsr()[:, used].toarray(), dtype=np.float64)
    return np.asarray(X, dtype=np.float64)[:, used]


def _score(predicted: FloatArray, held_out: GivenRows, estimator: Any) -> float:
    """The default score of the task."""
    y, classes = np.asarray(held_out.y), getattr(estimator, "classes_", None)
    weight = np.ones(len(y)) if held_out.weight is None else np.asarray(held_out.weight, float)
    if classes is None:
        return float(r2_with_interval(y.astype(np.float64), predicted, weight)["value"])
    if len(classes) == 2:
        ranked = Ranked.of(predicted, y == classes[1], weight)
        return float(interval_of_counts(ranked.counts)["value"])
    codes = np.searchsorted(classes, y)
    return float(mean_auc_with_interval(predicted, codes, weight)["value"])
