"""How the model does in segments of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from safdr._old_measures.drift import stability_index
from safdr._old_measures.intervals import (
    effective_number,
    interval_of_counts,
    mean_auc_with_interval,
    mean_interval,
    mean_of,
    r2_with_interval,
    share_interval,
)
from safdr._old_measures.ranking import Ranked
from safdr._old_measures.slices import segments_of
from safdr._old_report.risk.rows import GivenRows, Predicted
from safdr._old_report.tasks import MORE_CLASSES, REGRESSION, ReportTask

# Of fewer rows R² says nothing.
LEAST_FOR_R2 = 10

Mask = NDArray[np.bool_]


def describe_segments(task: ReportTask, rows: GivenRows, found: Predicted) -> list[dict[str, Any]]:
    """The held-out rows, by each column that was asked for."""
    told = []
    for name, values in rows.by.items():
        labels, codes = segments_of(_checked(values, found, f"by[{name!r}]"))
        parts = [(label, codes[found.kept] == i) for i, label in enumerate(labels)]
        told.append(
            {
                "column": str(name),
                "segments": [_part(task, found, own, label) for label, own in parts],
            }
        )
    return told


def _checked(values: Any, found: Predicted, name: str) -> Any:
    if len(values) != len(found.kept):
        raise ValueError(
            f"{name} must hold one value for each of the {len(found.kept)} rows; got {len(values)}."
        )
    return values


def _part(task: ReportTask, found: Predicted, own: Mask, label: str) -> dict[str, Any]:
    """Some of the rows: how many, expected and observed, the score."""
    weight, n_rows = found.weight[own], int(own.sum())
    nothing = dict.fromkeys(("observed", "low", "high", "expected", "score"))
    told = {"name": label, "n_rows": n_rows, "share": weight.sum() / found.weight.sum(), **nothing}
    if not n_rows:
        return told
    observed = mean_interval(found.happened[own], weight)
    low, high = observed["low"], observed["high"]
    if task is not REGRESSION:
        low, high = share_interval(observed["value"], effective_number(weight))
    return told | {
        "observed": observed["value"],
        "low": low,
        "high": high,
        "expected": None if found.expected is None else mean_of(found.expected[own], weight),
        "score": _score(task, found, own),
    }


def drift(found: Predicted, base: Predicted) -> dict[str, Any] | None:
    """How far scores, or the classes that are predicted, have moved from those of other rows."""
    return stability_index(found.score, found.weight, base.score, base.weight, n_codes=base.n_codes)


def _score(task: ReportTask, found: Predicted, own: Mask) -> dict[str, Any] | None:
    """AUC or R²; None where some rows can't tell."""
    y, weight = found.y[own], found.weight[own]
    if task is REGRESSION:
        enough = len(y) >= LEAST_FOR_R2 and np.ptp(y) > 0
        return r2_with_interval(y, found.score[own], weight) if enough else None
    if task is MORE_CLASSES:
        assert found.probabilities is not None
        counts = np.bincount(y, minlength=found.probabilities.shape[1])
        if counts.min() < 2:
            return None
        return mean_auc_with_interval(found.probabilities[own], y, weight)
    if np.bincount(y, minlength=2).min() < 2:
        return None
    ranked = Ranked.of(found.score[own], y == 1, weight)
    return interval_of_counts(ranked.counts, ranked.squares, ranked.n_rows)
