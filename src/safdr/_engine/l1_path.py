"""Features in the order in which an L1 penalty on the criterion lets them in."""

from __future__ import annotations

from threading import Lock
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.linalg import cho_solve, solve_triangular

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.interrupt import look_up

# A feature of whose variance the members leave no more than this share never comes in.
NOTHING_LEFT = 1e-13

# Nor one of which a single member leaves no more than this: a copy, in other units or in single
# precision. A ridge would let it in, since it leaves every feature something of its own.
COPY = 1e-9


class PathCriterion(Protocol):
    """What a path is walked on: d, and as much of A as it asks for."""

    @property
    def D(self) -> FloatArray:
        """What is to be explained: one column."""

    @property
    def ridge(self) -> float:
        """What the diagonal of A has on top."""

    def block(self, members: IntArray) -> FloatArray:
        """A of some features."""

    def products(self, feature: int, members: IntArray) -> FloatArray:
        """A of one feature with others."""

    def times(self, members: IntArray, slopes: FloatArray) -> FloatArray:
        """A·b of all features, where some have slopes."""


class Step(NamedTuple):
    """Where a path is after a step: the features with slopes, the largest first."""

    features: IntArray
    slopes: FloatArray


class _OwnPart(NamedTuple):
    """What a feature has beside the members: its row in their root, and what that leaves."""

    row: FloatArray
    own: float
    variance: float  # of the feature, without the ridge


class L1Path:
    """The path of min b'·A·b / 2 - d'·b + t·|b|₁ as t falls, as far as it is asked for.

    With c = d - A·b, all members have |c| = t, and no other feature has more. So the slopes go on
    in the direction w = A_SS⁻¹·sign(c_S), along which c falls by A·w, until another feature has as
    much left as the members, or a slope is back at zero. A step takes one product of A with a
    vector.
    """

    def __init__(self, criterion: PathCriterion, usable: IntArray) -> None:
        self._criterion = criterion
        self._left: FloatArray = criterion.D[:, 0].copy()
        self._outside = np.zeros(len(self._left), dtype=bool)
        self._outside[usable] = True
        self._members: list[int] = []
        self._slopes: FloatArray = np.empty(0)
        # Of the members, without the ridge.
        self._variances: FloatArray = np.empty(0)
        # The root L of A_SS = L·L'.
        self._root: FloatArray = np.empty((0, 0))
        self._steps: list[Step] = []
        self._is_done = False
        self._lock = Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=Lock())

    def after(self, n_steps: int) -> Step | None:
        """Where the path is after so many steps; None past its end."""
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
        part = self._own_part(first) if self._outside[first] and self._left[first] else None
        self._is_done = part is None
        if part is not None:
            self._take_in(first, part)

    def _step(self) -> None:
        """Go on until a feature comes in or goes out."""
        members = np.array(self._members)
        signs = np.sign(self._left[members])
        penalty = float(np.abs(self._left[members]).mean())
        direction = cho_solve((self._root, True), signs)
        falls = self._criterion.times(members, direction)
        falls[members] = signs
        leaving, way_out = self._next_out(direction)
        entering, way_in, its_part = self._next_own(penalty, falls, min(way_out, penalty))
        length = min(way_in, way_out, penalty)
        self._slopes = self._slopes + length * direction
        self._left -= length * falls
        if length == way_out:
            self._put_out(leaving)
        # Where features tie, a step has no length, and the last that came in no slope yet.
        by_slope = np.argsort(-np.abs(self._slopes), kind="stable")
        with_slope = by_slope[: np.count_nonzero(self._slopes)]
        features = np.array(self._members, dtype=np.int64)[with_slope]
        self._steps.append(Step(features, self._slopes[with_slope]))
        if its_part is not None:
            self._take_in(entering, its_part)
        self._is_done = length == penalty or not self._members

    def _next_own(
        self, penalty: float, falls: FloatArray, end: float
    ) -> tuple[int, float, _OwnPart | None]:
        """The next that comes in before the end of a step, and what it has of its own.

        Those that have nothing are passed by, and are no steps: of copies there may be many.
        """
        while True:
            entering, way_in = self._next_in(penalty, falls)
            if not way_in < end:
                return entering, way_in, None
            part = self._own_part(entering)
            if part is not None:
                return entering, way_in, part
            self._outside[entering] = False

    def _next_in(self, penalty: float, falls: FloatArray) -> tuple[int, float]:
        """The feature that has as much left as the members first, and how far that is."""
        outside = np.flatnonzero(self._outside)
        if not outside.size:
            return -1, np.inf
        left, falls = self._left[outside], falls[outside]
        ways = np.full(len(outside), np.inf)
        for sign in (1.0, -1.0):
            slower = 1.0 - sign * falls
            gap = np.maximum(penalty - sign * left, 0.0)
            far = np.divide(gap, slower, out=np.full(len(gap), np.inf), where=slower > 0)
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

    def _own_part(self, feature: int) -> _OwnPart | None:
        """What a feature has of its own beside the members; None where that is nothing."""
        members = np.array(self._members, dtype=np.int64)
        with_ridge = float(self._criterion.block(np.array([feature]))[0, 0])
        variance = with_ridge - self._criterion.ridge
        row = self._criterion.products(feature, members)
        if np.any(row**2 >= (1.0 - COPY) * variance * self._variances):
            return None
        if len(members):
            row = solve_triangular(self._root, row, lower=True)
        own = with_ridge - float(row @ row)
        return None if own <= NOTHING_LEFT * with_ridge else _OwnPart(row, own, variance)

    def _take_in(self, feature: int, part: _OwnPart) -> None:
        root = self._root
        self._outside[feature] = False
        self._root = np.block([[root, np.zeros((len(root), 1))], [part.row, np.sqrt(part.own)]])
        self._members.append(feature)
        self._variances = np.append(self._variances, part.variance)
        self._slopes = np.append(self._slopes, 0.0)

    def _put_out(self, member: int) -> None:
        self._outside[self._members.pop(member)] = True
        self._slopes = np.delete(self._slopes, member)
        self._variances = np.delete(self._variances, member)
        block = self._criterion.block(np.array(self._members, dtype=np.int64))
        self._root = np.asarray(np.linalg.cholesky(block), dtype=np.float64)
