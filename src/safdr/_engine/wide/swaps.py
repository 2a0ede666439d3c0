"""What every swap of a member for a column outside would gain, over all columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from safdr._engine.annealing.swap_chains import is_collinear
from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.wide.criterion import WideCriterion

# A swap counts as better where it raises the value by more than this share of it.
BETTER = 1e-9


@dataclass(frozen=True, eq=False)
class Swaps:
    """Swaps of single columns, under a criterion that knows all of them."""

    criterion: WideCriterion
    allowed: AllowedSubsets
    cost: FloatArray | None = None

    def called_for(self, subsets: IntArray, most: int, *, only_better: bool) -> IntArray:
        """The columns whose swap into one of the subsets gains most, for each the `most` best."""
        best: list[tuple[FloatArray, IntArray]] = [_NOTHING] * len(subsets)
        members, places = np.unique(subsets, return_inverse=True)
        states = self._states(members, places.reshape(subsets.shape))
        for some, rows in self.criterion.against_all(members):
            for i, state in enumerate(states):
                gains = self._gains(state, some, rows).max(axis=0)
                least = BETTER * abs(state.value) if only_better else -np.inf
                better = np.flatnonzero(gains > least)
                if better.size:
                    best[i] = _best(best[i], gains[better], better + some.start, most)
        return np.unique(np.concatenate([columns for _, columns in best]))

    def closest(self, subset: IntArray, most: int) -> IntArray:
        """The columns that are best in the place of each member, `most` for each."""
        state = self._states(subset, np.arange(len(subset))[None])[0]
        best: list[tuple[FloatArray, IntArray]] = [_NOTHING] * len(subset)
        for some, rows in self.criterion.against_all(subset):
            for i, gains in enumerate(self._gains(state, some, rows)):
                there = np.flatnonzero(gains > -np.inf)
                best[i] = _best(best[i], gains[there], there + some.start, most)
        return np.unique(np.concatenate([columns for _, columns in best]))

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
        own = np.diag(inverse)
        loss = np.sum(weights**2, axis=1) / own
        if self.cost is not None:
            loss = loss - self.cost[subset]
            value -= float(self.cost[subset].sum())
        return _State(subset, at, inverse, weights, own, np.where(fixed, np.inf, loss), value)

    def _gains(self, state: _State, some: slice, rows: FloatArray) -> FloatArray:
        """What each swap gains: of shape (size, n_columns of the block)."""
        criterion, A = self.criterion, rows[state.at]
        D, variance = criterion.D[some], criterion.diagonal[some] + criterion.ridge
        slopes = state.inverse @ A
        left = variance - np.einsum("ij,ij->j", A, slopes)
        gains: Any = 0.0
        shares = slopes / state.own[:, None]
        own = left + slopes * shares
        for output in range(D.shape[1]):
            residual = D[:, output] - state.weights[:, output] @ A
            gains = gains + (residual + shares * state.weights[:, output, None]) ** 2
        refused = is_collinear(own, variance, criterion.collinear_tol) | (own <= 0)
        gains = gains / np.where(refused, 1.0, own) - state.loss[:, None]
        if self.cost is not None:
            gains -= self.cost[some]
        gains[refused] = -np.inf
        self._forbid(gains, state, some)
        return gains

    def _forbid(self, gains: FloatArray, state: _State, some: slice) -> None:
        """Leave out what is in, and what constraints or sense keep out."""
        out = np.concatenate([state.subset, self.allowed.exclude])
        out = out[(out >= some.start) & (out < some.stop)] - some.start
        gains[:, out] = -np.inf
        gains[:, self.criterion.scale[some] == 0] = -np.inf
        conflicts = self.allowed.conflicts
        if conflicts is not None:
            rivals = conflicts[state.subset, some]
            gains[rivals.sum(axis=0) - rivals > 0] = -np.inf


@dataclass(frozen=True, eq=False)
class _State:
    subset: IntArray
    at: IntArray
    inverse: FloatArray
    weights: FloatArray
    own: FloatArray  # diagonal of the inverse
    loss: FloatArray  # what leaving out each member takes
    value: float


_NOTHING = (np.empty(0), np.empty(0, dtype=np.int64))


def _best(
    known: tuple[FloatArray, IntArray], gains: FloatArray, columns: IntArray, most: int
) -> tuple[FloatArray, IntArray]:
    """The largest gains of both, and whose they are."""
    gains, columns = np.append(known[0], gains), np.append(known[1], columns)
    if len(gains) > most:
        kept = np.sort(np.argpartition(-gains, most)[:most])
        gains, columns = gains[kept], columns[kept]
    return gains, columns


def inverted(A: FloatArray) -> FloatArray:
    """The inverse; of a matrix that has none, what comes next to it."""
    try:
        return np.asarray(np.linalg.inv(A), dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.pinv(A, hermitian=True), dtype=np.float64)
