"""From a fitted selector to a plain dict: every number of the report is computed below here."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from safdr.display.base import column_names
from safdr._old_measures.intervals import FloatArray, interval_of_counts
from safdr._old_report.annealing import describe_alternatives, describe_trace
from safdr._old_report.certainty import describe_near_ties, describe_proof
from safdr._old_report.leaks import describe_leaks
from safdr._old_report.model import describe_model
from safdr._old_report.other_sets import add_held_out
from safdr._old_report.provenance import describe_provenance, fingerprint
from safdr._old_report.risk.describe import describe_risk
from safdr._old_report.risk.rows import GivenRows
from safdr._old_report.score_tests import describe_tests
from safdr._old_report.scores import held_out_score, validation_score
from safdr._old_report.sizes import describe_path, describe_selection, describe_size
from safdr._old_report.stability import describe_stability
from safdr._old_report.substitutes import describe_substitutes
from safdr._old_report.tasks import TWO_CLASSES, ReportTask, task_of_estimator
from safdr._old_report.warnings import describe_warnings
from safdr._old_report.what_if import describe_what_if
from safdr.result import FeatureGroups, NearTies, Stability

SCHEMA_VERSION = 1


def describe(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    feature_names: Sequence[str] | None,
    held_out: GivenRows | None,
    sample_weight: Any,
    title: str | None,
    preparation: Mapping[str, Iterable[Any]],
    seconds: float | None,
    near_ties: NearTies | None,
    stability: Stability | None,
    substitutes: Any,
    warnings: Iterable[Mapping[str, Any]],
    what_if: Any,
) -> dict[str, Any]:
    """The content of the report, fit for JSON; see `SelectionReport.to_dict`."""
    task = task_of_estimator(estimator)
    _check_loss(estimator, task)
    rows, labels = _checked_rows(estimator, X, y)
    names = _checked_names(estimator, feature_names)
    groups = estimator.feature_groups_
    target = _describe_target(estimator, y, labels)
    scoring = _scoring(estimator, task)
    counts, test = _tested(estimator, task, scoring, held_out)
    model = describe_model(estimator, rows, names, groups)
    train = GivenRows(X, y, sample_weight)
    validation = validation_score(estimator)
    alternatives = describe_alternatives(estimator, names, task.loss)
    by_default = test if scoring == task.scoring else None
    learnt = GivenRows(rows, labels, sample_weight)
    add_held_out(alternatives, estimator, learnt, held_out, by_default)
    classes = getattr(estimator, "classes_", None)
    content = {
        "schema_version": SCHEMA_VERSION,
        "title": title or _title(target["name"]),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "task": task.name,
        "task_note": None,
        "target": target,
        "rows": {"train": len(labels), "test": 0 if test is None else test["n_rows"]},
        "n_features": groups.n_features,
        "n_columns": len(names),
        "groups": _describe_groups(groups, names),
        **model,
        "leaks": describe_leaks(np.asarray(estimator.subset_), rows, labels, names, classes),
        "separated": bool(estimator.result_.separated[estimator.result_.best]),
        "size": describe_size(estimator, groups),
        "scores": {
            "scoring": scoring,
            "validation": validation,
            "test": test,
            **describe_tests(test, validation, task.chance if scoring == task.scoring else None),
        },
        "risk": describe_risk(
            estimator, task, model["features"], train, held_out if counts is None else counts
        ),
        "path": describe_path(estimator, task.loss),
        "selection": describe_selection(estimator, groups.names(names), groups),
        "trace": describe_trace(estimator),
        "alternatives": alternatives,
        "proof": describe_proof(estimator, names),
        "near_ties": describe_near_ties(estimator, near_ties, names),
        "stability": describe_stability(stability, groups, names),
        "substitutes": describe_substitutes(estimator, substitutes, groups, names),
        "what_if": describe_what_if(estimator, what_if, train, near_ties, stability, names),
        "chosen_by": _describe_choice(estimator),
        "calibration_slope": getattr(estimator, "calibration_slope_", None),
        "duplicates": _describe_duplicates(estimator, names),
        **{name: list(entries) for name, entries in preparation.items()},
        **describe_provenance(estimator),
        "data_fingerprint": fingerprint(rows, labels, names, measured=task.name == "regression"),
        "seconds": seconds,
    }
    content["warnings"] = describe_warnings(content, warnings)
    return jsonable(content)


def _tested(
    estimator: Any, task: ReportTask, scoring: str, rows: GivenRows | None
) -> tuple[FloatArray | None, dict[str, Any] | None]:
    """Counts of held-out rows that are read in passes, and the score of held-out rows."""
    if rows is None:
        return None, None
    if isinstance(rows.y, str) and task is TWO_CLASSES:
        # Of these only the default is told.
        counts = estimator.count_scores(rows.X, rows.y)
        return counts, interval_of_counts(counts) | {"n_rows": int(counts.sum())}
    held_out = task.held_out if scoring == task.scoring else held_out_score
    weight = None if rows.weight is None else np.asarray(rows.weight, dtype=np.float64)
    return None, held_out(estimator, rows.X, rows.y, weight)


def _check_loss(estimator: Any, task: ReportTask) -> None:
    """Refuse a selector whose choice the report has no words for."""
    if estimator.result_.loss_name != task.loss:
        raise ValueError(
            f"SelectionReport.from_estimator compares subsets by their {task.loss_words}, and this "
            f"selector chose by another loss ({estimator.result_.loss_name!r}). Read its result_, "
            "or fit it with an estimator that has predict_proba."
        )


def _describe_groups(groups: FeatureGroups, names: list[str]) -> list[dict[str, Any]]:
    """Groups of columns that enter together."""
    titles = groups.names(names)
    return [
        {
            "name": titles[i],
            "indices": groups.columns[i].tolist(),
            "features": [names[j] for j in groups.columns[i]],
        }
        for i in groups.groups
    ]


def _describe_choice(estimator: Any) -> dict[str, Any]:
    """What the search maximizes, and whose loss makes the final choice."""
    result, n_columns = estimator.result_, estimator.n_features_in_
    return {
        # None is that of the task.
        "criterion": _name_of(estimator.criterion) if callable(estimator.criterion) else None,
        # Whether the other replicas anneal on the log-loss.
        "log_loss": result.n_replicas > len(result.start_subsets),
        # Columns that the screen kept; None if it kept all.
        "screened": result.n_screened if result.n_screened < n_columns else None,
        "ridge": estimator.ridge_,
        "C": None if math.isinf(estimator.C_) else estimator.C_,
        "model": None if estimator.estimator is None else _name_of(estimator.estimator),
        "cost": estimator.feature_cost is not None,
        # Whether predicted numbers are clipped to the range of the training targets.
        "clips_predictions": estimator.estimator is None
        and bool(getattr(estimator.estimator_, "clip", False)),
    }


def _describe_duplicates(estimator: Any, names: list[str]) -> list[dict[str, Any]]:
    """Pairs of duplicate columns: the one that may be selected, and the one that is left out."""
    return [
        {"kept": names[kept], "left_out": names[out], "indices": [kept, out]}
        for kept, out in estimator.duplicates_
    ]


def _name_of(thing: Any) -> str:
    if isinstance(thing, str):
        return thing
    return str(getattr(thing, "__name__", type(thing).__name__))


def _checked_rows(estimator: Any, X: Any, y: Any) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """The training rows as arrays; an error where they can't be those of the fit."""
    if issparse(X):
        raise ValueError("X must be dense for a report; got a sparse matrix. Pass X.toarray().")
    rows, labels = np.asarray(X, dtype=np.float64), np.asarray(y)
    wanted = int(estimator.n_features_in_)
    if rows.ndim != 2 or rows.shape[1] != wanted:
        raise ValueError(
            f"X must be the rows that the selector was fitted to, with {wanted} columns; got the "
            f"shape {rows.shape}."
        )
    if labels.shape != rows.shape[:1]:
        raise ValueError(
            f"y must hold one label or number for each of the {len(rows)} rows of X; got the shape "
            f"{labels.shape}."
        )
    if not hasattr(estimator, "classes_"):
        return rows, labels.astype(np.float64)
    unknown = np.setdiff1d(labels, estimator.classes_)
    if len(unknown):
        raise ValueError(
            f"y must hold the labels that the selector was fitted to, "
            f"{estimator.classes_.tolist()}; got {unknown[:5].tolist()} too."
        )
    return rows, labels


def _checked_names(estimator: Any, given: Sequence[str] | None) -> list[str]:
    """One name a column, as text."""
    wanted = int(estimator.n_features_in_)
    names = column_names(estimator).tolist() if given is None else list(given)
    if len(names) != wanted:
        raise ValueError(
            f"feature_names must hold one name for each of the {wanted} columns of X; got "
            f"{len(names)}."
        )
    return [str(name) for name in names]


def _describe_target(estimator: Any, y: Any, labels: NDArray[Any]) -> dict[str, Any]:
    """Name of the target where it has one, its classes, of two the negative first, and their rows.

    Where it has none, its mean and its deviation.
    """
    name = getattr(y, "name", None)
    classes = getattr(estimator, "classes_", np.array([]))
    target = {
        "name": None if name is None else str(name),
        "classes": classes.tolist(),
        "counts": {str(label): int((labels == label).sum()) for label in classes},
    }
    if not len(classes):
        target |= {"mean": labels.mean(), "standard_deviation": labels.std()}
    return target


def _title(target: str | None) -> str:
    return "Feature selection" if target is None else f"Which features predict {target}?"


def _scoring(estimator: Any, task: ReportTask) -> str:
    """Name of the score, as scikit-learn has it where it does."""
    scoring = getattr(estimator, "scoring", None)
    if scoring is None:
        return task.scoring
    return scoring if isinstance(scoring, str) else str(estimator.scorer_name_)


def jsonable(value: Any) -> Any:
    """Plain Python types, exact; None for what is not a finite number."""
    if isinstance(value, Mapping):
        return {str(key): jsonable(each) for key, each in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        return [jsonable(each) for each in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
