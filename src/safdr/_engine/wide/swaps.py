"""What every swap of a member for a column outside would gain, over all columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np

from safdr import _core
from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.wide.criterion import WideCriterion
from safdr._engine.wide.largest import largest
from safdr._engine.wide.product_rows import ProductRows

# A swap counts as better where it raises the value by more than this share of it.
BETTER = 1e-9


@dataclass(frozen=True, eq=False)
class Swaps:
    """Swaps of single columns, under a criterion that knows all of them."""

    criterion: WideCriterion
    allowed: AllowedSubsets
    cost: FloatArray | None = None
    kept: ProductRows | None = None

    def keeping_rows(self) -> Self:
        """The same, with rows of products that are kept from one call to the next."""
        return replace(self, kept=ProductRows(self.criterion))

    def called_for(self, subsets: IntArray, most: int) -> list[IntArray]:
        """For each subset the columns whose swaps into it gain most, the best first."""
        members, places = np.unique(subsets, return_inverse=True)
        states = self._states(members, places.reshape(subsets.shape))
        gains = np.empty((len(subsets), self.criterion.n_features))
        for some, rows in self._rows(members):
            gains[:, some] = self._best_gains(states, some, rows)
        best = [largest(of_one, most) for of_one in gains]
        return [
            columns[of_one[columns] > -np.inf] for of_one, columns in zip(gains, best, strict=True)
        ]

    def closest(self, subset: IntArray, most: int) -> IntArray:
        """The columns that are best in the place of each member, `most` for each."""
        state = self._states(subset, np.arange(len(subset))[None])
        best = [_NOTHING] * len(subset)
        for some, rows in self._rows(subset):
            for i, gains in enumerate(self._gains(state, some, rows)):
                best[i] = _best(best[i], gains, some.start, most)
        return np.unique(np.concatenate([columns[gains > -np.inf] for gains, columns in best]))

    def climbed(self, subset: IntArray) -> IntArray:
        """Where the best swap, again and again, leads: no swap raises the value there."""
        subset = np.sort(subset)
        value = self.value(subset)
        while (swapped := self._best_swap(subset, BETTER * abs(value))) is not None:
            reached = self.value(swapped)
            if reached <= value:  # rounding, where members all but follow from each other
                break
            subset, value = swapped, reached
        return subset

    def _best_swap(self, subset: IntArray, least: float) -> IntArray | None:
        """The subset after the swap that gains most; None where that is no more than the least."""
        state = self._states(subset, np.arange(len(subset))[None])
        best: tuple[float, int, int] = (least, -1, -1)
        for some, rows in self._rows(subset):
            gains = self._gains(state, some, rows)
            drop, column = divmod(int(np.argmax(gains)), gains.shape[1])
            best = max(best, (float(gains[drop, column]), drop, some.start + column))
        if best[1] < 0:
            return None
        return np.sort(np.append(np.delete(subset, best[1]), best[2]))

    def value(self, subset: IntArray) -> float:
        """Of one subset, less its cost."""
        return float(self._states(subset, np.arange(len(subset))[None]).value[0])

    def _rows(self, members: IntArray) -> Iterator[tuple[slice, FloatArray]]:
        """Rows of A, a block of columns at a time."""
        return (self.criterion.against_all if self.kept is None else self.kept.of)(members)

    def _states(self, members: IntArray, places: IntArray) -> _States:
        """The matrix of each subset, inverted; subsets are by places among the members."""
        A, subsets = self.criterion.block(members), members[places]
        D = self.criterion.D[subsets]
        inverse = inverted(A[places[:, :, None], places[:, None, :]])
        weights = inverse @ D
        value = np.sum(weights * D, axis=(1, 2))
        loss = np.sum(weights**2, axis=2) / np.einsum("nii->ni", inverse)
        if self.cost is not None:
            loss -= self.cost[subsets]
            value -= self.cost[subsets].sum(axis=1)
        loss[np.isin(subsets, self.allowed.include)] = np.inf
        return _States(subsets, places, inverse, weights, loss, value)

    def _best_gains(self, states: _States, some: slice, rows: FloatArray) -> FloatArray:
        """The most that a swap for each column gains: of shape (n_subsets, n_columns)."""
        if self.allowed.conflicts is not None:
            each = (self._gains(states.only(i), some, rows) for i in range(len(states.subsets)))
            return np.array([gains.max(axis=0) for gains in each])
        gains = self._free_gains(states, some, rows, best_only=True)
        for of_one, subset in zip(gains, states.subsets, strict=True):
            of_one[self._forbidden(subset, some)] = -np.inf
        return gains

    def _gains(self, state: _States, some: slice, rows: FloatArray) -> FloatArray:
        """What each swap into one subset gains: of shape (size, n_columns of the block)."""
        gains, (subset,) = self._free_gains(state, some, rows), state.subsets
        gains[:, self._forbidden(subset, some)] = -np.inf
        conflicts = self.allowed.conflicts
        if conflicts is not None:
            rivals = conflicts[subset, some]
            gains[rivals.sum(axis=0) - rivals > 0] = -np.inf
        return gains

    def _free_gains(
        self, states: _States, some: slice, rows: FloatArray, *, best_only: bool = False
    ) -> FloatArray:
        """What swaps gain, or the best for each column, whatever is allowed."""
        criterion = self.criterion
        gains = _core.swap_gains(
            rows,
            states.places,
            states.inverse,
            states.weights,
            states.loss,
            np.ascontiguousarray(criterion.D[some].T),
            criterion.diagonal[some] + criterion.ridge,
            collinear_tol=criterion.collinear_tol,
            best_only=best_only,
            cost=None if self.cost is None else self.cost[some],
        )
        gains[:, criterion.scale[some] == 0] = -np.inf
        return gains

    def _forbidden(self, subset: IntArray, some: slice) -> IntArray:
        """Columns of a block that are in, or that constraints keep out."""
        out = np.concatenate([subset, self.allowed.exclude])
        return out[(out >= some.start) & (out < some.stop)] - some.start


class _States(NamedTuple):
    """Subsets of one size with what their swaps are computed from, one a row."""

    subsets: IntArray
    places: IntArray  # among the members whose rows of A are made
    inverse: FloatArray
    weights: FloatArray
    loss: FloatArray  # what leaving out each member takes
    value: FloatArray

    def only(self, i: int) -> _States:
        """One of them."""
        some = slice(i, i + 1)
        return _States(
            self.subsets[some],
            self.places[some],
            self.inverse[some],
            self.weights[some],
            self.loss[some],
            self.value[some],
        )


_NOTHING = (np.empty(0), np.empty(0, dtype=np.int64))


def _best(
    known: tuple[FloatArray, IntArray], gains: FloatArray, start: int, most: int
) -> tuple[FloatArray, IntArray]:
    """The largest gains, known or of a block of columns, and whose they are."""
    best, columns = known
    there = largest(gains, most) if len(best) < most else np.flatnonzero(gains > best[-1])
    best, columns = np.append(best, gains[there]), np.append(columns, start + there)
    order = largest(best, most)
    return best[order], columns[order]


def inverted(A: FloatArray) -> FloatArray:
    """The inverse of each; where one of them has none, what comes next to it."""
    try:
        return np.asarray(np.linalg.inv(A), dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.pinv(A, hermitian=True), dtype=np.float64)
