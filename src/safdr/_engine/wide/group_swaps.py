"""What every swap of a group of columns for another would gain, over all groups."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from typing import Self

import numpy as np

from safdr._engine.annealing.quadratic_function import QuadraticFunction
from safdr._engine.annealing.swap_chains import is_collinear
from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.interrupt import look_up
from safdr._engine.wide.swaps import Swaps, inverted

# Columns of groups whose products with each other are made together.
COLUMNS_AT_ONCE = 2048

# Below this a pivot is rounding error, not variance (kSmallestPivot in the core).
SMALLEST_PIVOT = 1e-13


class GroupSwaps(Swaps):
    """Swaps of whole groups, which all count the same; columns by themselves are groups of one."""

    def keeping_rows(self) -> Self:
        """Itself: what takes long here are products within groups, which it keeps."""
        return self

    def called_for(self, subsets: IntArray, most: int) -> list[IntArray]:
        """For each subset the columns of the groups whose swaps into it gain most."""
        called = []
        for subset in subsets:
            best = self._all_gains(subset[subset >= 0])[1].max(axis=0)
            order = np.argsort(-best, kind="stable")[:most]
            called.append(self._columns_of(order[best[order] > -np.inf]))
        return called

    def closest(self, subset: IntArray, most: int) -> IntArray:
        """The columns of the groups that are best in the place of each member."""
        drops, gains, _ = self._all_gains(subset)
        best = [
            group
            for drop, of_one in zip(drops, gains, strict=False)
            for group in islice(self._possible(subset, int(drop), of_one), most)
        ]
        return self._columns_of(np.array(best, dtype=np.int64))

    def value(self, subset: IntArray) -> float:
        """Of one subset, less its cost."""
        return super().value(subset[subset >= 0])

    def _best_swap(self, subset: IntArray, least: float) -> IntArray | None:
        """The subset after the swap that gains most; None where that is no more than the least."""
        subset = subset[subset >= 0]
        drops, gains, _ = self._all_gains(subset)
        best, found = least, None
        for drop, of_one in zip(drops, gains, strict=False):
            # Whether it is possible is asked of what would be the best so far alone.
            better = np.where(of_one > best, of_one, -np.inf)
            group = next(self._possible(subset, int(drop), better), None)
            if group is not None:
                best, found = float(of_one[group]), self._swapped(subset, int(drop), group)
        return found

    def _possible(self, subset: IntArray, drop: int, gains: FloatArray) -> Iterator[int]:
        """Groups that may come for one, the best first: none then follows from the others."""
        for group in np.argsort(-gains, kind="stable").tolist():
            if gains[group] == -np.inf:
                return
            columns = self._swapped(subset, drop, group)
            value = QuadraticFunction(
                self.criterion.among(columns), constraints=self.allowed.among(columns)
            )
            if np.isfinite(value(np.arange(len(columns))[None], np.array([-1]))[0]):
                yield group

    def _swapped(self, subset: IntArray, drop: int, group: int) -> IntArray:
        """The subset with one group in the place of another."""
        stays = subset[self.allowed.group_of[subset] != drop]
        return np.sort(np.append(stays, self.allowed.groups[group]))

    def _all_gains(self, subset: IntArray) -> tuple[IntArray, FloatArray, float]:
        """Groups that may be dropped, what each swap gains, and the value of the subset."""
        criterion, group_of = self.criterion, self.allowed.group_of
        rows = np.hstack([part for _, part in criterion.against_all(subset)])
        value = self.value(subset)
        members = np.unique(group_of[subset])
        drops = np.setdiff1d(members, self.allowed.include)
        # No swap is one too.
        gains = np.full((max(len(drops), 1), self.allowed.n_groups), -np.inf)
        for gain, drop in zip(gains, drops, strict=False):
            look_up()
            stays = np.flatnonzero(group_of[subset] != drop)
            gain[:] = self._gains_beside(subset[stays], rows[stays]) - value
            self._forbid_groups(gain, members, int(drop))
        return drops, gains, value

    def _gains_beside(self, members: IntArray, rows: FloatArray) -> FloatArray:
        """The value of some members with each group, less the cost."""
        criterion = self.criterion
        inverse = inverted(rows[:, members])
        weights = inverse @ criterion.D[members]
        slopes = inverse @ rows
        residual = criterion.D - rows.T @ weights
        values = np.empty(self.allowed.n_groups)
        for groups, columns, own in self._by_length.values():
            left = own - np.einsum("sgi,sgj->gij", rows[:, columns], slopes[:, columns])
            values[groups] = self._explained(left, own, residual[columns])
        values += np.sum(weights * criterion.D[members])
        if self.cost is not None:
            of_groups = np.bincount(self.allowed.group_of, self.cost, self.allowed.n_groups)
            values -= of_groups + self.cost[members].sum()
        return values

    def _explained(self, left: FloatArray, own: FloatArray, residual: FloatArray) -> FloatArray:
        """What each of several groups adds, column by column; nothing to be had is -infinity.

        That some columns follow from others is no harm; of a group at least one must not.
        """
        left, residual = left.copy(), residual.copy()
        added, adds = np.zeros(len(left)), np.zeros(len(left), dtype=bool)
        for i in range(left.shape[1]):
            pivot = left[:, i, i]
            sound = pivot > SMALLEST_PIVOT
            adds |= ~is_collinear(pivot, own[:, i, i], self.criterion.collinear_tol) & sound
            inverse = np.divide(1.0, pivot, out=np.zeros(len(pivot)), where=sound)
            slopes = left[:, i] * inverse[:, None]
            added += np.sum(residual[:, i] ** 2, axis=1) * inverse
            residual -= slopes[:, :, None] * residual[:, i, None]
            left -= slopes[:, :, None] * left[:, i, None]
        return np.where(adds, added, -np.inf)

    def _forbid_groups(self, gains: FloatArray, members: IntArray, drop: int) -> None:
        """Leave out what is in, and what constraints or sense keep out."""
        gains[members] = -np.inf
        gains[self.allowed.exclude] = -np.inf
        if self.allowed.conflicts is not None:
            gains[self.allowed.conflicts[np.setdiff1d(members, drop)].any(axis=0)] = -np.inf

    @cached_property
    def _by_length(self) -> dict[int, tuple[IntArray, IntArray, FloatArray]]:
        """Groups of each length: their numbers, columns, and products with each other."""
        lengths = np.array([len(group) for group in self.allowed.groups])
        found = {}
        for length in np.unique(lengths).tolist():
            groups = np.flatnonzero(lengths == length)
            columns = np.array([self.allowed.groups[group] for group in groups])
            found[length] = groups, columns, self._own_products(columns)
        return found

    def _own_products(self, columns: IntArray) -> FloatArray:
        """The part of A of each group."""
        criterion, length = self.criterion, columns.shape[1]
        if length == 1:
            return (criterion.diagonal + criterion.ridge)[columns][..., None]
        own = np.empty((len(columns), length, length))
        step = max(1, COLUMNS_AT_ONCE // length)
        for start in range(0, len(columns), step):
            look_up()
            some = columns[start : start + step]
            rows = criterion.rows.columns(some.ravel()) / criterion.divisor[some.ravel()]
            rows = rows.reshape(len(rows), *some.shape)
            own[start : start + step] = np.einsum("ngi,ngj->gij", rows, rows)
        own[:, np.arange(length), np.arange(length)] += criterion.ridge
        return own

    def _columns_of(self, groups: IntArray) -> IntArray:
        return np.flatnonzero(np.isin(self.allowed.group_of, groups))
