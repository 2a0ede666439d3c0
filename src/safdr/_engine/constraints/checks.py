"""Validation of constraints on columns, and their groups and conflicts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safdr._engine.arrays import IntArray
from safdr.errors import Columns, ParameterError


def columns_in(parameter: str, given: Any, n_features: int) -> IntArray:
    columns = np.asarray(given)
    if columns.size == 0:
        return np.empty(0, dtype=np.int64)
    if columns.ndim != 1 or not np.issubdtype(columns.dtype, np.integer):
        raise ParameterError(parameter, f"must be a sequence of column indices; got {given!r}.")
    wrong = columns[(columns < 0) | (columns >= n_features)]
    if wrong.size:
        raise ParameterError(
            parameter,
            f"names column {wrong[0]}; columns go from 0 to {n_features - 1}.",
        )
    return np.unique(columns).astype(np.int64)


def sets_in(parameter: str, given: Any, n_features: int) -> list[IntArray]:
    sets = list(given)
    if any(isinstance(each, str) or not isinstance(each, Iterable) for each in sets):
        raise ParameterError(
            parameter,
            f"must be a sequence of sequences of column indices, such as [[0, 1]]; got {given!r}.",
        )
    return [columns_in(parameter, list(each), n_features) for each in sets]


def make_groups(
    groups: Sequence[IntArray], n_features: int, labels: Sequence[str] | None
) -> tuple[IntArray, ...]:
    """Return the groups, with every other column alone, in order of the first column."""
    if any(len(group) == 0 for group in groups):
        raise ParameterError("groups", "holds an empty group; each must hold at least one column.")
    times = np.bincount(np.concatenate([[], *groups]).astype(np.int64), minlength=n_features)
    if times.max() > 1:
        twice = np.flatnonzero(times > 1)
        raise ParameterError(
            "groups",
            f"must not share columns; got {Columns(twice, labels)} in more than one. Join these "
            "groups, or take the columns out of all but one.",
        )
    alone = [np.array([j]) for j in np.flatnonzero(times == 0)]
    return tuple(sorted([*groups, *alone], key=lambda group: int(group[0])))


def forced_groups(
    include: IntArray,
    exclude: IntArray,
    groups: Sequence[IntArray],
    labels: Sequence[str] | None,
) -> tuple[IntArray, IntArray]:
    """Return the groups with a forced column, and the groups that are excluded as a whole."""
    both = np.intersect1d(include, exclude)
    if both.size:
        raise ParameterError(
            "always_include",
            f"and never_include must not share columns; both name {Columns(both, labels)}. Take "
            "it out of one of them.",
        )
    for group in groups:
        if len(group) == 1:  # most of thousands are
            continue
        out = np.intersect1d(group, exclude)
        if 0 < len(out) < len(group):
            raise ParameterError(
                "never_include",
                "must name all columns of a group or none; of the group "
                f"{Columns(group, labels)} it names {Columns(out, labels)}. Name the rest too, or "
                "take them out of the group.",
            )
    return _touched(include, groups), _touched(exclude, groups)


def _touched(columns: IntArray, groups: Sequence[IntArray]) -> IntArray:
    wanted = set(columns.tolist())
    return np.flatnonzero([not wanted.isdisjoint(group.tolist()) for group in groups])


def make_conflicts(
    sets: Sequence[IntArray],
    groups: Sequence[IntArray],
    include: IntArray,
    labels: Sequence[str] | None,
) -> NDArray[np.bool_] | None:
    """Return the matrix of conflicts between groups; None if there are none."""
    if not sets:
        return None
    conflicts = np.zeros((len(groups), len(groups)), dtype=bool)
    for one_of in sets:
        touched = _touched(one_of, groups)
        if len(touched) < len(one_of):
            _refuse_shared_group(one_of, [groups[u] for u in touched], labels)
        forced = np.intersect1d(touched, include)
        if len(forced) > 1:
            columns = np.intersect1d(one_of, np.concatenate([groups[u] for u in forced]))
            raise ParameterError(
                "at_most_one_of",
                f"allows one of {Columns(one_of, labels)}, but always_include (with its groups) "
                f"has {Columns(columns, labels)}. Take all but one of these out of "
                "always_include, or out of the set.",
            )
        conflicts[np.ix_(touched, touched)] = True
    np.fill_diagonal(conflicts, False)
    return conflicts if conflicts.any() else None


def _refuse_shared_group(
    one_of: IntArray, groups: Sequence[IntArray], labels: Sequence[str] | None
) -> None:
    """Raise an error if a group has several mutually exclusive columns."""
    for group in groups:
        shared = np.intersect1d(group, one_of)
        if len(shared) > 1:
            raise ParameterError(
                "groups",
                f"holds {Columns(shared, labels)} in one group, of which at_most_one_of allows "
                "only one. Take all but one out of the group, or out of the set.",
            )
