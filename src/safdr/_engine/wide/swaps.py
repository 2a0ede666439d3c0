"""What every swap of a member for a column outside would gain, over all columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from safdr import _core
from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.wide.criterion import WideCriterion
from safdr._engine.wide.largest import largest

# A swap counts as better where it raises the value by more than this share of it.
BETTER = 1e-9


@dataclass(frozen=True, eq=False)
class Swaps:
    """Swaps of single columns, under a criterion that knows all of them."""

    criterion: WideCriterion
    allowed: AllowedSubsets
    cost: FloatArray | None = None

    def called_for(self, subsets: IntArray, most: int) -> list[IntArray]:
        """For each subset the columns whose swaps into it gain most, the best first."""
        members, places = np.unique(subsets, return_inverse=True)
        states = self._states(members, places.reshape(subsets.shape))
        best = [_NOTHING] * len(states)
        for some, rows in self.criterion.against_all(members):
            for i, state in enumerate(states):
                best[i] = _best(best[i], self._best_gains(state, some, rows), some.start, most)
        return [columns[gains > -np.inf] for gains, columns in best]

    def closest(self, subset: IntArray, most: int) -> IntArray:
        """The columns that are best in the place of each member, `most` for each."""
        state = self._states(subset, np.arange(len(subset))[None])[0]
        best = [_NOTHING] * len(subset)
        for some, rows in self.criterion.against_all(subset):
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
        state = self._states(subset, np.arange(len(subset))[None])[0]
        best: tuple[float, int, int] = (least, -1, -1)
        for some, rows in self.criterion.against_all(subset):
            gains = self._gains(state, some, rows)
            drop, column = divmod(int(np.argmax(gains)), gains.shape[1])
            best = max(best, (float(gains[drop, column]), drop, some.start + column))
        if best[1] < 0:
            return None
        return np.sort(np.append(np.delete(subset, best[1]), best[2]))

    def value(self, subset: IntArray) -> float:
        """Of one subset, less its cost."""
        return self._states(subset, np.arange(len(subset))[None])[0].value

    def _states(self, members: IntArray, places: IntArray) -> list[_State]:
        """Each subset's own matrix, inverted; subsets are by places among the members."""
        A = self.criterion.block(members)
        return [self._state(members, at, A[np.ix_(at, at)]) for at in places]

    def _state(self, members: IntArray, at: IntArray, A: FloatArray) -> _State:
        subset = members[at]
        inverse = inverted(A)
        weights = inverse @ self.criterion.D[subset]
        value = float(np.sum(weights * self.criterion.D[subset]))
        fixed = np.isin(subset, self.allowed.include)
        loss = np.sum(weights**2, axis=1) / np.diag(inverse)
        if self.cost is not None:
            loss = loss - self.cost[subset]
            value -= float(self.cost[subset].sum())
        return _State(subset, at, inverse, weights, np.where(fixed, np.inf, loss), value)

    def _best_gains(self, state: _State, some: slice, rows: FloatArray) -> FloatArray:
        """The most that a swap for each column gains."""
        if self.allowed.conflicts is not None:
            return np.asarray(self._gains(state, some, rows).max(axis=0))
        gains = self._free_gains(state, some, rows, best_only=True)
        self._forbid(gains, state, some)
        return gains[0]

    def _gains(self, state: _State, some: slice, rows: FloatArray) -> FloatArray:
        """What each swap gains: of shape (size, n_columns of the block)."""
        gains = self._free_gains(state, some, rows)
        self._forbid(gains, state, some)
        conflicts = self.allowed.conflicts
        if conflicts is not None:
            rivals = conflicts[state.subset, some]
            gains[rivals.sum(axis=0) - rivals > 0] = -np.inf
        return gains

    def _free_gains(
        self, state: _State, some: slice, rows: FloatArray, *, best_only: bool = False
    ) -> FloatArray:
        """The same, or the largest for each column, whatever is allowed."""
        criterion = self.criterion
        return _core.swap_gains(
            rows,
            state.at,
            state.inverse,
            state.weights,
            state.loss,
            np.ascontiguousarray(criterion.D[some].T),
            criterion.diagonal[some] + criterion.ridge,
            collinear_tol=criterion.collinear_tol,
            best_only=best_only,
            cost=None if self.cost is None else self.cost[some],
        )

    def _forbid(self, gains: FloatArray, state: _State, some: slice) -> None:
        """Leave out what is in, and what constraints or sense keep out."""
        out = np.concatenate([state.subset, self.allowed.exclude])
        out = out[(out >= some.start) & (out < some.stop)] - some.start
        gains[:, out] = -np.inf
        gains[:, self.criterion.scale[some] == 0] = -np.inf


@dataclass(frozen=True, eq=False)
class _State:
    subset: IntArray
    at: IntArray
    inverse: FloatArray
    weights: FloatArray
    loss: FloatArray  # what leaving out each member takes
    value: float


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
    """The inverse; of a matrix that has none, what comes next to it."""
    try:
        return np.asarray(np.linalg.inv(A), dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.pinv(A, hermitian=True), dtype=np.float64)
