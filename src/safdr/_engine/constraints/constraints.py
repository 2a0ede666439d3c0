"""Allowed subsets: which selections of groups are allowed, and how many features they count."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.constraints import checks, parts
from safdr._engine.constraints.packing import Packing
from safdr.errors import Columns, ParameterError

BoolArray = NDArray[np.bool_]

COUNTS = ("groups", "columns")


@dataclass(frozen=True, eq=False)
class AllowedSubsets:
    """What a subset may hold, in groups that are in or out as a whole."""

    n_features: int
    # Columns of each group: those given, and every other column by itself, by their first column.
    groups: tuple[IntArray, ...]
    # What each group counts towards the size of a subset.
    counts: IntArray
    # Groups that are in every subset, and in none; those in conflict with the former are in none.
    include: IntArray
    exclude: IntArray
    # Pairs of groups that can't be in together.
    conflicts: BoolArray | None = None
    # Names of the columns, for errors.
    labels: tuple[str, ...] | None = None
    # Sign that the coefficient of each column must have, -1 or 1, in the model of a subset that
    # wins; 0 asks for none. What else is here says nothing about them.
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
        count: str = "groups",
        labels: Sequence[str] | None = None,
        signs: FloatArray | None = None,
    ) -> AllowedSubsets:
        """AllowedSubsets from columns."""
        if count not in COUNTS:
            raise ParameterError("count", f"must be 'groups' or 'columns'; got {count!r}.")
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
            np.array([len(group) if count == "columns" else 1 for group in groups]),
            include,
            exclude,
            conflicts,
            None if labels is None else tuple(labels),
            signs if signs is not None and signs.any() else None,
        )

    @classmethod
    def without_limits(cls, n_features: int) -> AllowedSubsets:
        """Every subset: each column by itself, none forced in or out."""
        none = np.array([], dtype=np.int64)
        columns = np.arange(n_features).reshape(n_features, 1)
        return cls(n_features, tuple(columns), np.ones(n_features, dtype=np.int64), none, none)

    # ---- Feature groups and columns -------------------------------------------------------------

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.groups)

    @cached_property
    def free(self) -> IntArray:
        """Feature groups that may be in or out."""
        return np.setdiff1d(np.arange(self.n_groups), np.union1d(self.include, self.exclude))

    @cached_property
    def group_of(self) -> IntArray:
        """The group of each column."""
        numbers = np.empty(self.n_features, dtype=np.int64)
        numbers[np.concatenate(self.groups)] = np.repeat(np.arange(self.n_groups), self._lengths)
        return numbers

    @property
    def swaps_alone(self) -> bool:
        """Whether every group is one column, so that swaps of single columns reach all there is."""
        return self.n_groups == self.n_features

    def columns_of(self, selection: BoolArray) -> IntArray:
        """Sorted columns of one selection of groups."""
        return np.flatnonzero(selection[self.group_of])

    def subsets_of(self, selections: BoolArray, width: int) -> IntArray:
        """Sorted columns of each selection, one a row, filled up with -1 to a given width."""
        columns = selections[:, self.group_of]
        subsets = np.full((len(selections), width), -1, dtype=np.int64)
        rows, members = np.nonzero(columns)
        starts = np.concatenate([[0], np.cumsum(columns.sum(axis=1))[:-1]])
        subsets[rows, np.arange(len(rows)) - starts[rows]] = members
        return subsets

    def selection_of(self, columns: Sequence[int] | IntArray) -> BoolArray:
        """The groups that hold any of the columns, as a mask."""
        selection = np.zeros(self.n_groups, dtype=bool)
        selection[self.group_of[np.asarray(columns, dtype=np.int64)]] = True
        return selection

    def rank(self, cost: FloatArray | None = None) -> FloatArray:
        """In which order columns may stand for others that say the same."""
        bound = self._lengths > 1
        bound[self.exclude] = True
        if self.conflicts is not None:
            bound |= self.conflicts.any(axis=0)
        of_groups = np.where(bound, np.inf, 0.0)
        of_groups[self.include] = -np.inf
        rank: FloatArray = of_groups[self.group_of]
        return rank if cost is None else rank + cost

    @cached_property
    def _lengths(self) -> IntArray:
        """Number of columns of each group."""
        return np.array([len(group) for group in self.groups])

    @cached_property
    def _counts_columns(self) -> bool:
        """Whether a group counts as many as it has columns."""
        return np.array_equal(self._lengths, self.counts)

    @cached_property
    def _most_columns(self) -> list[int]:
        """Columns of the groups that are in every subset and of the 0, 1, … longest free ones."""
        longest_first = np.sort(self._lengths[self.free])[::-1]
        always = self._lengths[self.include].sum()
        most: list[int] = np.cumsum([always, *longest_first]).tolist()
        return most

    def max_columns(self, size: int) -> int:
        """A bound on the number of columns of a subset of a given size."""
        if self.swaps_alone:
            return size
        n_free = min(max(size - self.smallest, 0), len(self.free))
        most = self._most_columns[n_free]
        # Where columns are counted this is more than `size`, which then is the bound.
        return min(most, size) if self._counts_columns else most

    def allows(self, selection: BoolArray) -> bool:
        """Whether a selection of groups keeps to the constraints, whatever it counts."""
        return bool(self.allows_each(selection[None])[0])

    def allows_each(self, selections: BoolArray) -> BoolArray:
        """Whether each selection keeps to the constraints, whatever it counts."""
        forbidden = ~selections[:, self.include].all(axis=1)
        forbidden |= selections[:, self.exclude].any(axis=1)
        if self.conflicts is not None:
            rivals = selections.astype(np.float64) @ self.conflicts > 0
            forbidden |= (selections & rivals).any(axis=1)
        return np.asarray(~forbidden)

    # ---- Sizes ----------------------------------------------------------------------------------

    @cached_property
    def smallest(self) -> int:
        """What the groups that are in every subset count."""
        return int(self.counts[self.include].sum())

    @cached_property
    def _any_number(self) -> bool:
        """Whether free groups count one each and get along: then there are subsets of any size."""
        return self.conflicts is None and bool((self.counts[self.free] == 1).all())

    @cached_property
    def _parts(self) -> list[parts.Part] | None:
        """The free groups, so that selections can be counted; None if they can't."""
        return parts.make_parts(self.free, self.counts, self.conflicts)

    @cached_property
    def _packing(self) -> Packing:
        """The free groups where selections can't be counted."""
        assert self.conflicts is not None
        return Packing(self.free, self.counts, self.conflicts)

    def sizes(self, up_to: int | None = None) -> list[int]:
        """Sizes that some subset has, from 1 to a bound (None: to the largest)."""
        room = int(self.counts[self.free].sum())
        most = room if up_to is None else min(up_to - self.smallest, room)
        if most < 0:
            return []
        if self._any_number:
            return list(range(max(self.smallest, 1), self.smallest + most + 1))
        if self._parts is None:
            totals = self._packing.totals(most)
        else:
            ways = parts.log_counts(self._parts, most)[0]
            totals = np.flatnonzero(ways > -np.inf).tolist()
        return [self.smallest + total for total in totals if self.smallest + total > 0]

    def has_size(self, size: int) -> bool:
        """Whether some subset has this size."""
        if self._any_number:
            return max(self.smallest, 1) <= size <= self.smallest + len(self.free)
        return size in self.sizes(size)

    def check_size(self, size: int, parameter: str = "n_features_to_select") -> None:
        """Raise an error that says why, where no subset has this size."""
        if self.has_size(size):
            return
        sizes = self.sizes()
        if size < max(self.smallest, 1):
            self._refuse_small(size, parameter)
        if not sizes or size > sizes[-1]:
            raise ParameterError(
                parameter,
                f"must be at most {sizes[-1] if sizes else 0}: {self._limits()} allow no "
                f"more at once; got {size}. Ask for fewer features, or loosen these.",
            )
        place = bisect(sizes, size)
        raise ParameterError(
            parameter,
            f"= {size} can't be made of whole groups (of "
            f"{', '.join(map(str, np.unique(self.counts[self.free])))} columns). The "
            "nearest that can: "
            f"{' and '.join(map(str, sizes[max(place - 1, 0) : place + 1]))}. Or count "
            "groups as one feature each, by count_by='group'.",
        )

    def _refuse_small(self, size: int, parameter: str) -> None:
        if not self.include.size:
            raise ParameterError(parameter, f"must be at least 1; got {size}.")
        columns = np.concatenate([self.groups[u] for u in self.include])
        raise ParameterError(
            parameter,
            f"must be at least {self.smallest}, what always_include counts (with the "
            f"groups it brings in: {Columns(columns, self.labels)}); got {size}. Ask "
            "for more features, or take some out of always_include.",
        )

    def _limits(self) -> str:
        """The constraints that keep features out, as fields of a message."""
        names = [f"the {self.n_features} columns to choose from"]
        if self.exclude.size:
            names.append("{never_include}")
        if self.n_groups < self.n_features:
            names.append("{groups}")
        if self.conflicts is not None:
            names.append("{at_most_one_of}")
        return " with ".join([names[0], ", ".join(names[1:])]) if names[1:] else names[0]

    # ---- Selections -----------------------------------------------------------------------------

    def without(self, columns: Sequence[int] | IntArray) -> AllowedSubsets:
        """A copy that also keeps out groups with no column but these, unless they must be in."""
        unwanted = np.zeros(self.n_features, dtype=bool)
        unwanted[columns] = True
        whole = np.bincount(self.group_of[unwanted], minlength=self.n_groups) == self._lengths
        redundant = self.free[whole[self.free]]
        copy = replace(self, exclude=np.union1d(self.exclude, redundant).astype(np.int64))
        # The groups are the same, and of very many they take a while to count.
        vars(copy).update(group_of=self.group_of, _lengths=self._lengths)
        return copy

    def among(self, columns: IntArray) -> AllowedSubsets:
        """The same for some of the columns, sorted, which hold whole groups."""
        taken = np.zeros(self.n_groups, dtype=bool)
        taken[self.group_of[columns]] = True
        groups = np.flatnonzero(taken)
        members = np.searchsorted(columns, np.concatenate([self.groups[group] for group in groups]))
        ends = np.cumsum(self._lengths[groups])
        return AllowedSubsets(
            len(columns),
            tuple(members[start:end] for start, end in zip([0, *ends], ends, strict=False)),
            self.counts[groups],
            np.searchsorted(groups, self.include[taken[self.include]]),
            np.searchsorted(groups, self.exclude[taken[self.exclude]]),
            None if self.conflicts is None else self.conflicts[np.ix_(groups, groups)],
            None if self.labels is None else tuple(self.labels[i] for i in columns),
            None if self.signs is None else self.signs[columns],
        )

    def random(self, size: int, n: int, rng: np.random.Generator) -> BoolArray:
        """Random selections of a given size.

        They are uniform, except where sets of `at_most_one_of` overlap in so many ways that they
        can't be counted: then all are possible, but not all as likely.
        """
        total = size - self.smallest
        if self._parts is None:
            selections = self._packing.draw(self.n_groups, total, n, rng)
        else:
            selections = parts.draw(self._parts, self.n_groups, total, n, rng)
        selections[:, self.include] = True
        return selections

    def every(self, size: int, at_most: int) -> BoolArray | None:
        """All selections of a given size."""
        if self._parts is None:
            return None
        selections = parts.every(self._parts, self.n_groups, size - self.smallest, at_most)
        if selections is not None:
            selections[:, self.include] = True
        return selections
