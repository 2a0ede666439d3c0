"""The part of the content that is about model risk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from safdr._old_measures.calibration import calibration
from safdr._old_measures.classes import against_the_rest, classes_apart
from safdr._old_measures.intervals import FloatArray
from safdr._old_measures.numbers import errors_of
from safdr._old_measures.ranking import Ranked, cut_offs, discrimination
from safdr._old_report.risk.coefficients import describe_coefficients
from safdr._old_report.risk.parts import describe_segments, drift
from safdr._old_report.risk.rows import GivenRows, Predicted, predict
from safdr._old_report.tasks import MORE_CLASSES, REGRESSION, ReportTask

NO_ROWS = (
    "No rows were held out, and those that chose the features would flatter them. Hold some out: "
    "X_test and y_test, or a --test-size above 0."
)
COUNTED = (
    "The held-out rows were counted where they are, by class and score. Calibration, coefficients "
    "and segments need rows in memory: pass some of them as X_test and y_test."
)

PARTS = (*("discrimination", "calibration", "classes", "errors", "coefficients", "stability"),)


def describe_risk(
    estimator: Any,
    task: ReportTask,
    features: Sequence[Mapping[str, Any]],
    train: GivenRows,
    held_out: GivenRows | FloatArray | None,
) -> dict[str, Any]:
    """Every number of the sections on model risk; `held_out` may be counts by class and score."""
    told: dict[str, Any] = {
        "reason": None,
        "n_rows": 0,
        "weighted": False,
        "is_sample": False,
        **dict.fromkeys(PARTS),
        "cut_offs": [],
        "segments": [],
    }
    if held_out is None:
        return told | {"reason": NO_ROWS}
    if not isinstance(held_out, GivenRows):
        ranked = Ranked.of_counts(held_out)
        found = discrimination(ranked)
        return told | {
            "reason": COUNTED,
            "n_rows": int(held_out.sum()),
            "discrimination": found,
            "cut_offs": cut_offs(ranked),
        }
    base, tested = predict(estimator, task, train), predict(estimator, task, held_out)
    return told | {
        "n_rows": len(tested.y),
        "weighted": tested.weighted,
        "is_sample": held_out.is_sample,
        **_of_task(task, tested),
        "coefficients": describe_coefficients(estimator, task, features, held_out, tested),
        "stability": drift(tested, base),
        "segments": describe_segments(task, held_out, tested),
    }


def _of_task(task: ReportTask, found: Predicted) -> dict[str, Any]:
    """What is asked of two classes, of more, and of a quantity."""
    if task is REGRESSION:
        return {"errors": errors_of(found.y, found.score, found.weight, weighted=found.weighted)}
    if task is MORE_CLASSES:
        assert found.probabilities is not None
        given = found.y, found.probabilities, found.weight
        return {"classes": {**classes_apart(*given), "each": against_the_rest(*given)}}
    return _of_two(found)


def _of_two(found: Predicted) -> dict[str, Any]:
    """Cut-offs are probabilities, where the model gives them; log-odds have fewer ties."""
    positive = found.y == 1
    ranked = Ranked.of(found.score, positive, found.weight, found.expected)
    told = {"discrimination": discrimination(ranked), "cut_offs": cut_offs(ranked)}
    if found.expected is not None:
        told["calibration"] = calibration(
            positive, found.expected, found.weight, weighted=found.weighted
        )
    return told
