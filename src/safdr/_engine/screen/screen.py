"""Screening: the features that enter the path of an L1 penalty first."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from math import inf
from threading import Lock
from typing import Any, TypeAlias

import numpy as np

from safdr._engine.arrays import IntArray
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.screen.path import entries
from safdr._engine.screen.problem import Problem
from safdr._engine.screen.unexplained import unexplained_share

# "auto", a number of features, or None for all.
Width: TypeAlias = int | str | None

# Features that "auto" keeps besides the size: a constant, and one per this number of rows.
N_EXTRA = 3
ROWS_PER_EXTRA = 20

# If the model explains nearly all variance, at most one per this number of rows.
ROWS_PER_MOST = 2


def screen_width(width: Width, size: int, n_rows: float, unexplained: float = 1.0) -> float:
    """Return how many features a search of one size keeps.

    For regression, a smaller unexplained share of the variance keeps more features.
    """
    if width is None:
        return inf
    if width == "auto":
        if not np.isfinite(n_rows):
            return inf
        # Weights are fractions whose sum is an integer but for rounding.
        extra = N_EXTRA + int((n_rows + 1e-6) // ROWS_PER_EXTRA)
        most = max(extra, int((n_rows + 1e-6) // ROWS_PER_MOST))
        return size + min(int(extra / unexplained), most)
    return max(int(width), size)


class Screen:
    """Features in the order of their first entry to the path, computed as needed.

    A feature group enters with its first member. Mutually exclusive features count as one.
    """

    def __init__(
        self,
        criterion: Any,
        *,
        n_rows: float,
        constraints: AllowedSubsets | None = None,
        redundant: Any = (),
        ridge: float | None = None,
        width: Width = "auto",
        is_regression: bool = False,
    ) -> None:
        if constraints is None:
            constraints = AllowedSubsets.without_limits(len(criterion.D))
        self._constraints = constraints
        self._n_rows = n_rows
        self._width = width
        self._is_regression = is_regression
        skipped = criterion.scale == 0
        skipped[np.asarray(redundant, dtype=np.int64)] = True
        is_free = np.isin(np.arange(constraints.n_groups), constraints.free)
        usable = ~skipped & is_free[constraints.group_of]
        self._useful = np.unique(constraints.group_of[usable])
        self._spare = np.setdiff1d(constraints.free, self._useful)
        forced = self._columns_of(constraints.include)
        forced = forced[criterion.scale[forced] != 0]
        self._problem = Problem(
            criterion, usable, forced=forced, signs=constraints.signs, ridge=ridge
        )
        self._restart()

    def _restart(self) -> None:
        self._groups: list[int] = []
        self._order: list[int] = []
        self._columns: dict[int, IntArray] = {}  # by size
        self._walk = self._walk_groups()
        self._lock = Lock()

    def __getstate__(self) -> dict[str, Any]:
        left_out = ("_groups", "_order", "_columns", "_walk", "_lock")
        return {name: value for name, value in vars(self).items() if name not in left_out}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._restart()

    @property
    def order(self) -> list[int]:
        """Features in the order of their first entry, as far as known."""
        return list(self._order)

    @cached_property
    def unexplained(self) -> float:
        """Share of the variance that the path leaves; 1 for classes."""
        return unexplained_share(self._problem, self._n_rows) if self._is_regression else 1.0

    def width(self, size: int) -> float:
        """Return how many features a search of one size keeps at most."""
        unexplained = self.unexplained if self._width == "auto" else 1.0
        return screen_width(self._width, size, self._n_rows, unexplained)

    def columns(self, size: int) -> IntArray:
        """Return the sorted features that a search for a subset of one size looks at."""
        with self._lock:
            if size not in self._columns:
                n_groups = self._n_for_width(self.width(size))
                groups = self._first(self._n_for_subset(size, n_groups))
                groups = np.concatenate([self._constraints.include, groups])
                self._columns[size] = self._columns_of(groups)
            return self._columns[size]

    # ---- How many groups ------------------------------------------------------------------------

    def _n_for_width(self, width: float) -> int:
        """Return how many groups fill a width; at most all useful ones."""
        places, conflicts = self._constraints.smallest, self._constraints.conflicts
        if places + len(self._useful) <= width:
            return len(self._useful)
        if conflicts is None:
            return max(0, int(width) - places)
        holders: list[int] = []
        for n in range(len(self._useful)):
            if places >= width:
                return n
            group = self._first(n + 1)[n]
            # The first of several mutually exclusive features counts for all of them.
            if not conflicts[group, holders].any():
                holders.append(group)
                places += 1
        return len(self._useful)

    def _n_for_subset(self, size: int, n_groups: int) -> int:
        n_all = len(self._useful) + len(self._spare)
        if self._has_subset(size, n_groups) or not self._has_subset(size, n_all):
            return n_groups
        low, step = n_groups, 1
        while not self._has_subset(size, min(low + step, n_all)):
            low, step = low + step, 2 * step
        high = min(low + step, n_all)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._has_subset(size, middle) else (middle, high)
        return high

    def _has_subset(self, size: int, n_groups: int) -> bool:
        constraints = self._constraints
        if constraints.conflicts is None:
            return constraints.smallest + n_groups >= size
        groups = np.concatenate([constraints.include, self._first(n_groups)])
        if not len(groups):
            return False
        return constraints.among(np.sort(self._columns_of(groups))).has_size(size)

    # ---- The order ------------------------------------------------------------------------------

    def _first(self, n_groups: int) -> IntArray:
        n_spare = n_groups - len(self._useful)
        if n_spare >= 0:
            return np.concatenate([self._useful, self._spare[:n_spare]])
        while len(self._groups) < n_groups:
            self._groups.append(next(self._walk))
        return np.array(self._groups[:n_groups], dtype=np.int64)

    def _walk_groups(self) -> Iterator[int]:
        """Yield useful groups by first entry, then by the correlation of their best feature."""
        yielded: set[int] = set()
        for feature in self._walk_features():
            group = int(self._constraints.group_of[feature])
            if group not in yielded:
                yielded.add(group)
                yield group

    def _walk_features(self) -> Iterator[int]:
        problem, entered = self._problem, np.zeros(len(self._problem.usable), dtype=bool)
        for feature in entries(problem):
            if not entered[feature]:
                entered[feature] = True
                self._order.append(feature)
                yield feature
        rest = np.flatnonzero(problem.usable & ~entered)
        sizes = np.linalg.norm(problem.start[1][rest], axis=1)
        yield from rest[np.argsort(-sizes, kind="stable")].tolist()

    def _columns_of(self, groups: IntArray) -> IntArray:
        return np.flatnonzero(np.isin(self._constraints.group_of, groups))
