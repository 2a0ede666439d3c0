"""Forward selection on a criterion over many columns: what it would take next, step by step."""

from __future__ import annotations

from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from safdr._engine.annealing.swap_chains import is_collinear
from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.wide.criterion import WideCriterion
from safdr._engine.wide.largest import largest


class Rest(NamedTuple):
    """What members leave of the criterion for all columns."""

    variance: FloatArray
    D: FloatArray
    explained: FloatArray  # rows of L⁻¹ A, with L the root of the members' own matrix


class ForwardPath:
    """Columns one after the other, each the one that raises the value most."""

    def __init__(
        self,
        criterion: WideCriterion,
        allowed: AllowedSubsets,
        usable: IntArray,
        cost: FloatArray | None,
    ) -> None:
        self._criterion = criterion
        self._conflicts = allowed.conflicts
        self._group_of = allowed.group_of
        self._cost = 0.0 if cost is None else cost
        self._free = np.zeros(criterion.n_features, dtype=bool)
        self._free[usable] = True
        # What members leave of each column's variance, and of what is to be explained.
        self._left = criterion.diagonal + criterion.ridge
        self._residual = criterion.D.copy()
        # Rows of L⁻¹ A, with L the root of the members' own matrix.
        self._explained: list[FloatArray] = []
        self._shares: list[FloatArray] = []
        self._next: list[IntArray] = []
        fixed = np.flatnonzero(np.isin(allowed.group_of, allowed.include))
        for column in fixed:
            self._take(int(column))
        self._n_fixed = len(fixed)
        self._lock = Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=Lock())

    def up_to(self, size: int, n_next: int) -> list[IntArray]:
        """The best `n_next` columns at each step up to a size."""
        # Searches of other sizes may ask at the same time.
        with self._lock:
            while len(self._next) < size - self._n_fixed:
                gains = self._gains()
                best = largest(gains, n_next)
                best = best[gains[best] > -np.inf]
                if not best.size:
                    break
                self._take(int(best[0]))
                self._next.append(best)
        return self._next[: max(size - self._n_fixed, 0)]

    def after(self, n_members: int) -> Rest:
        """What the first members leave, of those that are chosen."""
        first = self._explained[: self._n_fixed + n_members]
        explained = np.array(first).reshape(len(first), self._criterion.n_features)
        variance = self._criterion.diagonal + self._criterion.ridge
        shares = np.array(self._shares[: len(first)]).reshape(-1, self._residual.shape[1])
        return Rest(
            variance - np.einsum("ij,ij->j", explained, explained),
            self._criterion.D - explained.T @ shares,
            explained,
        )

    def _gains(self) -> FloatArray:
        criterion = self._criterion
        variance = criterion.diagonal + criterion.ridge
        possible = self._free & (self._left > 0)
        possible &= ~is_collinear(self._left, variance, criterion.collinear_tol)
        gains = np.sum(self._residual**2, axis=1) / np.where(possible, self._left, 1.0)
        return np.where(possible, gains - self._cost, -np.inf)

    def _take(self, column: int) -> None:
        """Make a column a member."""
        criterion = self._criterion
        self._free[column] = False
        if self._conflicts is not None:
            self._free &= ~self._conflicts[self._group_of[column], self._group_of]
        if self._left[column] <= 0:
            return
        row = np.concatenate([part[0] for _, part in criterion.against_all(np.array([column]))])
        for known in self._explained:
            row -= known[column] * known
        row /= np.sqrt(self._left[column])
        share = self._residual[column] / np.sqrt(self._left[column])
        self._shares.append(share)
        self._residual -= np.outer(row, share)
        self._left -= row**2
        self._explained.append(row)
