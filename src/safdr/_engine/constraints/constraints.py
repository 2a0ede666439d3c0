"""Allowed subsets: which selections of groups are allowed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.constraints import checks
from safdr._engine.constraints.draws import largest_set, random_set
from safdr.errors import Columns, ParameterError

BoolArray = NDArray[np.bool_]

# Sets of groups that are looked at for each allowed one, before there are too many to list.
SETS_PER_ALLOWED = 100


@dataclass(frozen=True, eq=False)
class AllowedSubsets:
    """Allowed subsets as selections of groups; each group counts one towards the size."""

    n_features: int
    # Columns of each group: those given, and every other column alone; by their first column.
    groups: tuple[IntArray, ...]
    # Groups that are in every subset, and in none; those in conflict with the former are in none.
    include: IntArray
    exclude: IntArray
    # Pairs of groups that exclude each other.
    conflicts: BoolArray | None = None
    # Names of the columns, for errors.
    labels: tuple[str, ...] | None = None
    # Sign of the coefficient of each column: -1, 1, or 0 for any. Models must have it, subsets can
    # not break it.
    signs: FloatArray | None = None

    @classmethod
    def make(
        cls,
        n_features: int,
        *,
        always_include: Any = (),
        never_include: Any = (),
        groups: Any = (),
        at_most_one_of: Any = (),
        labels: Sequence[str] | None = None,
        signs: FloatArray | None = None,
    ) -> AllowedSubsets:
        groups = checks.make_groups(
            checks.sets_in("groups", groups, n_features), n_features, labels
        )
        include, exclude = checks.forced_groups(
            checks.columns_in("always_include", always_include, n_features),
            checks.columns_in("never_include", never_include, n_features),
            groups,
            labels,
        )
        sets = checks.sets_in("at_most_one_of", at_most_one_of, n_features)
        conflicts = checks.make_conflicts(sets, groups, include, labels)
        if conflicts is not None:
            exclude = np.union1d(exclude, np.flatnonzero(conflicts[include].any(axis=0)))
        return cls(
            n_features,
            groups,
            include,
            exclude,
            conflicts,
            None if labels is None else tuple(labels),
            signs if signs is not None and signs.any() else None,
        )

    @classmethod
    def without_limits(cls, n_features: int) -> AllowedSubsets:
        """Allow every subset of single columns."""
        none = np.array([], dtype=np.int64)
        return cls(n_features, tuple(np.arange(n_features).reshape(n_features, 1)), none, none)

    # ---- Groups and columns ---------------------------------------------------------------------

    @property
    def n_groups(self) -> int:
        return len(self.groups)

    @cached_property
    def free(self) -> IntArray:
        """Groups that may be in or out."""
        is_free = np.ones(self.n_groups, dtype=bool)
        is_free[self.include] = is_free[self.exclude] = False
        return np.flatnonzero(is_free)

    @cached_property
    def lengths(self) -> IntArray:
        if self.swaps_alone:
            return np.ones(self.n_groups, dtype=np.int64)
        return np.array([len(group) for group in self.groups])

    @cached_property
    def columns(self) -> IntArray:
        return np.arange(self.n_features) if self.swaps_alone else np.concatenate(self.groups)

    @cached_property
    def group_of(self) -> IntArray:
        numbers = np.empty(self.n_features, dtype=np.int64)
        numbers[self.columns] = np.repeat(np.arange(self.n_groups), self.lengths)
        return numbers

    @property
    def swaps_alone(self) -> bool:
        """True if every group is one column."""
        return self.n_groups == self.n_features

    def columns_of(self, selection: BoolArray) -> IntArray:
        return np.flatnonzero(selection[self.group_of])

    def subsets_of(self, selections: BoolArray, width: int) -> IntArray:
        """Return the sorted columns of each selection, padded with -1 to a width."""
        columns = selections if self.swaps_alone else selections[:, self.group_of]
        subsets = np.full((len(selections), width), -1, dtype=np.int64)
        rows, members = np.nonzero(columns)
        starts = np.concatenate([[0], np.cumsum(columns.sum(axis=1))[:-1]])
        subsets[rows, np.arange(len(rows)) - starts[rows]] = members
        return subsets

    def selection_of(self, columns: Sequence[int] | IntArray) -> BoolArray:
        """Return a mask of the groups with any of the columns."""
        selection = np.zeros(self.n_groups, dtype=bool)
        selection[self.group_of[np.asarray(columns, dtype=np.int64)]] = True
        return selection

    def rank(self, cost: FloatArray | None = None) -> FloatArray:
        """Return the rank in which duplicate columns are kept: forced ones, then the cheaper."""
        bound = self.lengths > 1
        bound[self.exclude] = True
        if self.conflicts is not None:
            bound |= self.conflicts.any(axis=0)
        of_groups = np.where(bound, np.inf, 0.0)
        of_groups[self.include] = -np.inf
        rank: FloatArray = of_groups[self.group_of]
        return rank if cost is None else rank + cost

    def max_columns(self, size: int) -> int:
        """Return the largest number of columns of a subset of this size; conflicts are ignored."""
        if self.swaps_alone:
            return size
        longest = np.sort(self.lengths[self.free])[::-1][: max(size - self.smallest, 0)]
        return int(self.lengths[self.include].sum() + longest.sum())

    def allows(self, selection: BoolArray) -> bool:
        """Return True if a selection of groups, of any size, is allowed."""
        return bool(self.allows_each(selection[None])[0])

    def allows_each(self, selections: BoolArray) -> BoolArray:
        """Return True for each allowed selection of groups, of any size."""
        forbidden = ~selections[:, self.include].all(axis=1)
        forbidden |= selections[:, self.exclude].any(axis=1)
        if self.conflicts is not None:
            excluded = selections.astype(np.float64) @ self.conflicts > 0
            forbidden |= (selections & excluded).any(axis=1)
        return np.asarray(~forbidden)

    # ---- Sizes ----------------------------------------------------------------------------------

    @property
    def smallest(self) -> int:
        """Number of groups that are in every subset."""
        return len(self.include)

    @cached_property
    def largest(self) -> int:
        """Size of the largest subset, as far as greedy searches find it."""
        return self.smallest + (len(self.free) if self.conflicts is None else len(self._largest))

    @cached_property
    def _free_conflicts(self) -> BoolArray | None:
        return None if self.conflicts is None else self.conflicts[np.ix_(self.free, self.free)]

    @cached_property
    def _largest(self) -> IntArray:
        """Large set of free groups without conflicts."""
        assert self._free_conflicts is not None
        return largest_set(self._free_conflicts)

    def sizes(self, up_to: int | None = None) -> list[int]:
        """Return the sizes of subsets, from 1 to a bound (None: the largest)."""
        last = self.largest if up_to is None else min(up_to, self.largest)
        return list(range(max(self.smallest, 1), last + 1))

    def has_size(self, size: int) -> bool:
        return max(self.smallest, 1) <= size <= self.largest

    def check_size(self, size: int, parameter: str = "n_features_to_select") -> None:
        if self.has_size(size):
            return
        if size > self.largest:
            raise ParameterError(
                parameter,
                f"must be at most {self.largest}, {self._limits()}; got {size}.",
            )
        if not self.include.size:
            raise ParameterError(parameter, f"must be at least 1; got {size}.")
        columns = np.concatenate([self.groups[u] for u in self.include])
        raise ParameterError(
            parameter,
            f"must be at least {self.smallest}, which always_include (with its groups: "
            f"{Columns(columns, self.labels)}) counts; got {size}. Use more features, or take "
            "some out of always_include.",
        )

    def _limits(self) -> str:
        limits = {
            "never_include": self.exclude.size > 0,
            "groups": not self.swaps_alone,
            "at_most_one_of": self.conflicts is not None,
        }
        names = ", ".join(name for name, holds in limits.items() if holds)
        return f"because of {names}" if names else "the number of columns"

    # ---- Selections -----------------------------------------------------------------------------

    def without(self, columns: Sequence[int] | IntArray) -> AllowedSubsets:
        """Return a copy that also excludes the free groups within these columns."""
        unwanted = np.zeros(self.n_features, dtype=bool)
        unwanted[columns] = True
        whole = np.bincount(self.group_of[unwanted], minlength=self.n_groups) == self.lengths
        redundant = self.free[whole[self.free]]
        return replace(self, exclude=np.union1d(self.exclude, redundant).astype(np.int64))

    def among(self, columns: IntArray) -> AllowedSubsets:
        """Return the same constraints on some sorted columns, which include whole groups."""
        if len(columns) == self.n_features:
            return self
        taken = np.zeros(self.n_groups, dtype=bool)
        taken[self.group_of[columns]] = True
        groups = np.flatnonzero(taken)
        if self.swaps_alone:
            places = tuple(np.arange(len(columns))[:, None])
        else:
            places = tuple(np.searchsorted(columns, self.groups[group]) for group in groups)
        return AllowedSubsets(
            len(columns),
            places,
            np.searchsorted(groups, self.include[taken[self.include]]),
            np.searchsorted(groups, self.exclude[taken[self.exclude]]),
            None if self.conflicts is None else self.conflicts[np.ix_(groups, groups)],
            None if self.labels is None else tuple(self.labels[i] for i in columns),
            None if self.signs is None else self.signs[columns],
        )

    def random(self, size: int, n: int, rng: np.random.Generator) -> BoolArray:
        """Draw random selections of a size; uniform without `at_most_one_of`."""
        count = size - self.smallest
        selections = np.zeros((n, self.n_groups), dtype=bool)
        selections[:, self.include] = True
        if self._free_conflicts is None:
            each = np.broadcast_to(np.arange(len(self.free)), (n, len(self.free)))
            drawn = rng.permuted(each, axis=1)[:, :count]
        else:
            drawn = np.array(
                [random_set(self._free_conflicts, count, self._largest, rng) for _ in range(n)]
            ).reshape(n, count)
        np.put_along_axis(selections, self.free[drawn], True, axis=1)
        return selections

    def every(self, size: int, at_most: int) -> BoolArray | None:
        """Return all selections of a size; None if they are too many."""
        count, n_free = size - self.smallest, len(self.free)
        n_sets = comb(n_free, count)
        if n_sets > at_most * (1 if self.conflicts is None else SETS_PER_ALLOWED):
            return None
        sets = list(combinations(range(n_free), count))
        chosen = np.array(sets, dtype=np.int64).reshape(n_sets, count)
        selections = np.zeros((n_sets, self.n_groups), dtype=bool)
        selections[:, self.include] = True
        np.put_along_axis(selections, self.free[chosen], True, axis=1)
        allowed = selections[self.allows_each(selections)]
        return allowed if len(allowed) <= at_most else None
