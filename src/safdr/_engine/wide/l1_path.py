"""Columns of very many, in the order in which an L1 penalty on the criterion lets them in."""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.interrupt import look_up
from safdr._engine.wide.criterion import WideCriterion

# Where what a column has left falls almost as fast as the penalty does, it never comes in.
AS_FAST = 1e-12


class L1Path:
    """The path of min b'·A·b / 2 - d'·b + t·|b|₁ as t falls, as far as it is asked for.

    With c = d - A·b, all members have |c| = t, and no other column has more. So the slopes go on in
    the direction w = A_SS⁻¹·sign(c_S), along which c falls by A·w, until another column has as much
    left as the members, or a slope is back at zero. A column that comes in takes one row of A, so A
    is never made.
    """

    def __init__(self, criterion: WideCriterion, usable: IntArray) -> None:
        self._criterion = criterion
        self._outside = np.zeros(criterion.n_features, dtype=bool)
        self._outside[usable] = True
        self._left: FloatArray = criterion.D[:, 0].copy()
        self._members: list[int] = []
        self._rows: list[FloatArray] = []
        self._slopes: FloatArray = np.empty(0)
        # The columns with slopes after each step.
        self._steps: list[IntArray] = []
        self._is_done = False
        self._lock = Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=Lock())

    def columns_after(self, n_steps: int) -> IntArray | None:
        """The columns that have slopes after so many steps; None where the path ends before."""
        # Searches of other sizes may ask at the same time.
        with self._lock:
            if not self._members and not self._is_done:
                self._begin()
            while len(self._steps) < n_steps and not self._is_done:
                look_up()
                self._step()
        return self._steps[n_steps - 1] if n_steps <= len(self._steps) else None

    def _begin(self) -> None:
        first = int(np.argmax(np.where(self._outside, np.abs(self._left), -1.0)))
        self._is_done = not (self._outside[first] and self._left[first])
        if not self._is_done:
            self._take_in(first)

    def _step(self) -> None:
        """Go on until a column comes in or goes out."""
        members, rows = np.array(self._members), np.array(self._rows)
        penalty = float(np.abs(self._left[members]).mean())
        try:
            direction = np.linalg.solve(rows[:, members], np.sign(self._left[members]))
        except np.linalg.LinAlgError:  # members that say the same
            self._is_done = True
            return
        falls = direction @ rows
        entering, way_in = self._next_in(penalty, falls)
        leaving, way_out = self._next_out(direction)
        length = min(way_in, way_out, penalty)
        self._slopes = self._slopes + length * direction
        self._left -= length * falls
        if length == way_out:
            self._put_out(leaving)
            members = np.delete(members, leaving)
        elif length == way_in:
            self._take_in(entering)
        # Where the penalty is gone, or no column is left, there are no more steps.
        self._is_done = length == penalty or not self._members
        self._steps.append(np.sort(members))

    def _next_in(self, penalty: float, falls: FloatArray) -> tuple[int, float]:
        """The column that has as much left as the members first, and how far that is."""
        outside = np.flatnonzero(self._outside)
        if not outside.size:
            return -1, np.inf
        left, falls = self._left[outside], falls[outside]
        ways = np.full(len(outside), np.inf)
        for sign in (1.0, -1.0):
            slower = 1.0 - sign * falls
            gap = np.maximum(penalty - sign * left, 0.0)
            far = np.divide(gap, slower, out=np.full(len(gap), np.inf), where=slower > AS_FAST)
            np.minimum(ways, far, out=ways)
        first = int(np.argmin(ways))
        return int(outside[first]), float(ways[first])

    def _next_out(self, direction: FloatArray) -> tuple[int, float]:
        """The member whose slope is back at zero first, and how far that is."""
        ways = np.full(len(direction), np.inf)
        towards = self._slopes * direction < 0
        ways[towards] = -self._slopes[towards] / direction[towards]
        first = int(np.argmin(ways))
        return first, float(ways[first])

    def _take_in(self, column: int) -> None:
        of_column = self._criterion.against_all(np.array([column]))
        self._rows.append(np.concatenate([part[0] for _, part in of_column]))
        self._members.append(column)
        self._slopes = np.append(self._slopes, 0.0)
        self._outside[column] = False

    def _put_out(self, member: int) -> None:
        self._outside[self._members.pop(member)] = True
        del self._rows[member]
        self._slopes = np.delete(self._slopes, member)
