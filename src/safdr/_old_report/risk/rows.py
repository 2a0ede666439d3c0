"""Rows of the report with their predictions, whatever the task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safdr._old_measures.intervals import FloatArray
from safdr._old_report.scores import scores_of
from safdr._old_report.tasks import MORE_CLASSES, REGRESSION, ReportTask


@dataclass(frozen=True, eq=False)
class GivenRows:
    """Some rows as they are given."""

    X: Any
    y: Any
    weight: Any = None
    # Values of columns to tell segments by.
    by: Mapping[str, Any] = field(default_factory=dict)
    # Whether they are some of the rows that are meant.
    is_sample: bool = False


def checked_weight(given: Any, y: Any, name: str) -> Any:
    """Weights as numbers, one for each row; those of a source are its own."""
    if given is None or isinstance(y, str):
        return given
    weight = np.asarray(given, dtype=np.float64)
    right = weight.shape == (len(y),) and np.isfinite(weight).all() and (weight >= 0).all()
    if not right or not weight.any():
        raise ValueError(
            f"{name} must hold a finite number for each of the {len(y)} rows, none below 0 and not "
            f"all 0; got shape {weight.shape}. Pass the weight of each row, or leave it out."
        )
    return weight


@dataclass(frozen=True, eq=False)
class Predicted:
    """Outcomes and predictions of rows that have a weight."""

    weight: FloatArray
    weighted: bool
    # Which of the given rows these are.
    kept: NDArray[np.bool_]
    # Codes of classes, or numbers.
    y: NDArray[Any]
    # What ranks rows, or says how many there are of a kind: log-odds, the most probable class, or
    # the prediction.
    score: FloatArray
    # Of each class; None where the model gives none, and of a quantity.
    probabilities: FloatArray | None
    # What happened and what was expected of each row: the second of two classes, that the most
    # probable class is right, or a quantity.
    happened: FloatArray
    expected: FloatArray | None

    @property
    def n_classes(self) -> int:
        """Of the target; 2 where the model gives no probabilities."""
        return 2 if self.probabilities is None else self.probabilities.shape[1]

    @property
    def n_codes(self) -> int:
        """Of how many kinds scores are; 0 where they are numbers."""
        return self.n_classes if self.n_classes > 2 else 0


def predict(estimator: Any, task: ReportTask, rows: GivenRows) -> Predicted:
    """Let the model predict some rows."""
    y = np.asarray(rows.y)
    weight = np.ones(len(y)) if rows.weight is None else np.asarray(rows.weight, dtype=np.float64)
    kept = weight > 0
    given = weight[kept], rows.weight is not None, kept
    if task is REGRESSION:
        values = y.astype(np.float64)[kept]
        predicted = np.asarray(estimator.predict(rows.X), dtype=np.float64)[kept]
        return Predicted(*given, values, predicted, None, values, predicted)
    codes = np.searchsorted(estimator.classes_, y)[kept]
    probabilities = None
    if hasattr(estimator, "predict_proba"):
        probabilities = np.asarray(estimator.predict_proba(rows.X), dtype=np.float64)[kept]
    if task is MORE_CLASSES:
        assert probabilities is not None  # or there was no score to choose by
        taken = probabilities.argmax(axis=1)
        happened = (taken == codes).astype(np.float64)
        return Predicted(
            *given, codes, taken.astype(np.float64), probabilities, happened, probabilities.max(1)
        )
    expected = None if probabilities is None else probabilities[:, 1]
    score = scores_of(estimator, rows.X)[kept]
    return Predicted(*given, codes, score, probabilities, (codes == 1).astype(np.float64), expected)
