"""Duplicates: perfectly correlated features, found without all pairs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from safdr._engine.arrays import FloatArray, IntArray, RowArray
from safdr._engine.centred_rows import CentredRows
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.interrupt import look_up

BoolArray = NDArray[np.bool_]

# Duplicates correlate by more than one less this, with either sign.
MAX_DIFFERENCE = 1e-9

# Random directions on which all columns are compared first.
N_DIRECTIONS = 4

# Columns that are compared exactly at a time, in double precision.
COMPARED_BYTES = 2**23


class Duplicates(NamedTuple):
    """Pairs (kept, dropped) of features, and which features are dropped."""

    pairs: list[tuple[int, int]]
    redundant: BoolArray


def find_duplicates(
    X: RowArray,
    sample_weight: FloatArray | None = None,
    *,
    constraints: AllowedSubsets | None = None,
    cost: FloatArray | None = None,
) -> Duplicates:
    """Find features whose weighted correlation is 1 or -1, up to rounding."""
    # Forced features are kept; excluded, expensive and later ones are dropped first. A
    # feature is dropped only if the kept one can replace it in every allowed subset.
    rows = CentredRows(X, np.zeros(X.shape[0], dtype=np.int64), 1, sample_weight)
    points, live = _project(rows)
    n_features = X.shape[1]
    if constraints is None:
        constraints = AllowedSubsets.without_limits(n_features)
    redundant = np.zeros(n_features, dtype=bool)
    rank, is_forced = _ranks(n_features, constraints, cost)
    pairs: list[tuple[int, int]] = []
    for kept, others in _candidates(points, live, rank, redundant):
        others = others[~redundant[others] & ~is_forced[others] & (rank[others] > rank[kept])]
        others, signs = _equal(rows, kept, others)
        if len(others):
            others = others[_replaceable(kept, others, signs, constraints)]
        redundant[others] = True
        pairs += [(kept, int(other)) for other in others]
    return Duplicates(sorted(pairs, key=lambda pair: pair[1]), redundant)


def _project(rows: CentredRows) -> tuple[FloatArray, IntArray]:
    """Project standardised columns on random directions; also return which are not constant."""
    # Directions have at most length one together, so that distances do not grow.
    n_rows, n_features = rows.shape
    directions = np.random.default_rng(0).normal(size=(n_rows, N_DIRECTIONS))
    directions -= rows.root[:, None] * (rows.root @ directions)
    directions /= max(np.linalg.norm(directions, 2), np.finfo(float).tiny)
    points = np.empty((n_features, N_DIRECTIONS))
    for some, block in rows.products(directions):
        points[some] = block.T
    deviation = np.sqrt(rows.variance)
    live = np.flatnonzero(deviation > 1e-13 * np.abs(rows.moments.mean[0]))
    return points[live] / deviation[live, None], live


def _ranks(
    n_features: int, constraints: AllowedSubsets, cost: FloatArray | None
) -> tuple[IntArray, BoolArray]:
    """Return the rank of each feature (the lowest is kept), and a mask of the forced ones."""
    price = np.zeros(n_features) if cost is None else cost
    forced = np.isin(constraints.group_of, constraints.include)
    excluded = np.isin(constraints.group_of, constraints.exclude)
    rank = np.empty(n_features, dtype=np.int64)
    rank[np.lexsort((price, excluded, ~forced))] = np.arange(n_features)
    return rank, forced


def _candidates(
    points: FloatArray, live: IntArray, rank: IntArray, redundant: BoolArray
) -> Iterator[tuple[int, IntArray]]:
    """Yield features that are not dropped yet, by rank, with their possible duplicates."""
    if len(live) < 2:
        return
    # |z - z'|² = 2·(1 - correlation), and a little for rounding.
    radius = np.sqrt(2.0 * MAX_DIFFERENCE) * (1.0 + 1e-3)
    tree = cKDTree(points)
    near = tree.query(points, k=2, distance_upper_bound=radius)[0][:, 1] <= radius
    near |= tree.query(-points, k=1, distance_upper_bound=radius)[0] <= radius
    suspects = np.flatnonzero(near)
    for i in suspects[np.argsort(rank[live[suspects]])]:
        look_up()
        if not redundant[live[i]]:
            found = tree.query_ball_point(np.array([points[i], -points[i]]), radius)
            yield int(live[i]), live[np.unique(np.concatenate(list(found)).astype(np.int64))]


def _equal(rows: CentredRows, kept: int, others: IntArray) -> tuple[IntArray, FloatArray]:
    """Return the duplicates of a column among others, and the signs of their correlations."""
    signs = np.zeros(len(others))
    if not len(others):
        return others, signs
    column = _unit_columns(rows, np.array([kept]))[:, 0]
    length = max(1, COMPARED_BYTES // (8 * rows.shape[0]))
    for start in range(0, len(others), length):
        some = slice(start, start + length)
        correlation = _unit_columns(rows, others[some]).T @ column
        signs[some] = np.where(np.abs(correlation) > 1.0 - MAX_DIFFERENCE, correlation, 0.0)
    return others[signs != 0], np.sign(signs[signs != 0])


def _unit_columns(rows: CentredRows, which: IntArray) -> FloatArray:
    columns = rows.columns(which)
    return np.asarray(columns / np.linalg.norm(columns, axis=0))


def _replaceable(
    kept: int, others: IntArray, signs: FloatArray, constraints: AllowedSubsets
) -> BoolArray:
    """Return True for each of the others that a feature may replace."""
    group, other_groups = constraints.group_of[kept], constraints.group_of[others]
    lengths = np.array([len(constraints.groups[other]) for other in other_groups])
    is_alone = len(constraints.groups[group]) == 1
    allowed = lengths == 1 if is_alone else other_groups == group
    if constraints.conflicts is not None:
        # The kept feature may exclude only what the dropped one excludes.
        excludes = constraints.conflicts[group] & ~constraints.conflicts[other_groups]
        excludes[np.arange(len(others)), other_groups] = False
        allowed &= (other_groups == group) | ~excludes.any(axis=1)
    if constraints.signs is not None:
        asked = constraints.signs[kept]
        allowed &= (asked == 0) | (asked == signs * constraints.signs[others])
    return np.asarray(allowed)
