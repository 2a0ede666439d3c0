"""What could replace each chosen feature, under the names of the report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from safdr.display.base import column_names
from safdr.result import FeatureGroups

NUMBERS = (
    *("criterion_value", "criterion_value_difference", "loss", "loss_difference"),
    *("score", "score_difference", "score_difference_std"),
)


def describe_substitutes(
    estimator: Any, frame: Any, groups: FeatureGroups, names: list[str]
) -> list[dict[str, Any]] | None:
    """Give the rows of the frame, of each feature the best replacement by the loss first.

    The index of a group is that of its first column; a feature that is left out has the
    replacement None.
    """
    if frame is None:
        return None
    place = {name: i for i, name in enumerate(groups.names(column_names(estimator).tolist()))}
    titles = groups.names(names)
    columns = {name: np.asarray(_column(frame, name)).tolist() for name in ("allowed", *NUMBERS)}
    sides = {name: list(_column(frame, name)) for name in ("chosen", "replacement")}
    rows: list[dict[str, Any]] = []
    for i in range(len(sides["chosen"])):
        row: dict[str, Any] = {}
        for side, features in sides.items():
            at = place.get(str(features[i]))
            row[side] = None if at is None else titles[at]
            row[f"{side}_index"] = None if at is None else int(groups.columns[at][0])
        rows.append(row | {name: values[i] for name, values in columns.items()})
    _check_chosen(estimator, groups, rows)
    return _ordered(rows)


def _ordered(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Features that are replaced at the least price first; of each, leaving it out last."""
    rows = sorted(rows, key=lambda row: (row["replacement"] is None, row["loss"]))
    price: dict[int, float] = {}
    for row in rows:
        price.setdefault(row["chosen_index"], -row["score_difference"])
    return sorted(rows, key=lambda row: (price[row["chosen_index"]], row["chosen_index"]))


def _column(frame: Any, name: str) -> Any:
    try:
        return frame[name]
    except (KeyError, TypeError, IndexError):
        what = "dict" if isinstance(frame, Mapping) else type(frame).__name__
        raise ValueError(
            f"substitutes must be what selector.substitutes(X, y) gives; got a {what} without a "
            f"column {name!r}."
        ) from None


def _check_chosen(estimator: Any, groups: FeatureGroups, rows: list[dict[str, Any]]) -> None:
    """Refuse substitutes of features that were not chosen."""
    chosen = {int(groups.columns[i][0]) for i in groups.feature_of[estimator.subset_]}
    if chosen != {row["chosen_index"] for row in rows}:
        raise ValueError(
            "substitutes must be of the features that the selector chose; these are of others. "
            "Pass selector.substitutes(X, y)."
        )
