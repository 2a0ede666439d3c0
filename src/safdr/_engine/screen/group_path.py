"""The group-Lasso path of several outputs on a fixed grid."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.interrupt import look_up
from safdr._engine.screen.problem import Problem

# Each penalty is this share of the one before; the path ends at this share of the largest.
GRID = 0.97
SMALLEST_PENALTY = 1e-4

# The optimality conditions hold up to this share of the penalty.
TOL = 1e-9

# Where columns depend on each other, and the ridge is small, solutions converge slowly. After so
# many sweeps a violation is accepted up to this share of the penalty, a third of a grid step.
MAX_SWEEPS = 30
MAX_VIOLATION = 0.01

MAX_NEWTON = 20


def group_path(problem: Problem) -> Iterator[int]:
    """Yield features in the order of the first penalty at which B_j ≠ 0."""
    # Ties are broken by the largest gradient without the feature's share. The path ends
    # early if its solutions stop converging.
    solver = _ActiveSet(problem)
    largest = float(problem.sizes(problem.start[1])[problem.usable].max(initial=0.0))
    entered = np.zeros(len(problem.usable), dtype=bool)
    n_points = int(np.log(SMALLEST_PENALTY) / np.log(GRID)) + 1 if largest > 0 else 0
    for penalty in largest * GRID ** np.arange(1, n_points):
        look_up()
        while True:
            if not solver.solve(penalty):
                return
            left = problem.D - problem.products(solver.members, solver.slopes)
            out = problem.usable & (problem.sizes(left) > penalty * (1.0 + TOL))
            out[solver.members] = False
            if not out.any():
                break
            solver.add(np.flatnonzero(out))
        is_new = solver.inside.any(axis=1) & ~entered[solver.features]
        new = solver.features[is_new]
        alone = left[new] + problem.variance[new, None] * solver.inside[is_new]
        entered[new] = True
        yield from new[np.lexsort((new, -problem.sizes(alone)))].tolist()
        if np.array_equal(entered, problem.usable):
            return


class _ActiveSet:
    """The problem on the active features, with forced ones partialled out."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._forced, self._root = problem.forced, problem.root()
        n_outputs = problem.D.shape[1]
        self.features: IntArray = np.empty(0, dtype=np.int64)
        self.inside: FloatArray = np.empty((0, n_outputs))  # slopes of the features
        self._across: FloatArray = np.empty((len(self._forced), 0))  # A of forced and others
        self._A: FloatArray = np.empty((0, 0))
        self._D: FloatArray = np.empty((0, n_outputs))

    @property
    def members(self) -> IntArray:
        return np.concatenate([self._forced, self.features])

    @property
    def slopes(self) -> FloatArray:
        """Slopes of all members; those of the forced features follow from the others."""
        forced = self._problem.D[self._forced] - self._across @ self.inside
        return np.concatenate([self._root.solve(forced), self.inside])

    def add(self, features: IntArray) -> None:
        problem, n_forced = self._problem, len(self._forced)
        for feature in features.tolist():
            row = problem.row(feature, self.members)
            across = self._root.solve(row[:n_forced, None])
            row[n_forced:] -= (self._across.T @ across)[:, 0]
            own = problem.variance[feature] - float(row[:n_forced] @ across[:, 0])
            top = np.concatenate([self._A, row[None, n_forced:]])
            self._A = np.concatenate([top, np.append(row[n_forced:], own)[:, None]], axis=1)
            self._across = np.concatenate([self._across, row[:n_forced, None]], axis=1)
            d = problem.D[feature] - across[:, 0] @ problem.D[self._forced]
            self._D = np.concatenate([self._D, d[None]])
            self.features = np.append(self.features, feature)
        added = np.zeros((len(features), self.inside.shape[1]))
        self.inside = np.concatenate([self.inside, added])

    def solve(self, penalty: float) -> bool:
        """Solve by block coordinate descent, with Newton's method on the norms in between.

        Return False if the solution does not converge.
        """
        for _ in range(MAX_SWEEPS):
            violation = self._violation(self._sweep(penalty), penalty)
            if violation <= TOL * penalty:
                return True
            self._improve(penalty)
        return violation <= MAX_VIOLATION * penalty

    def _sweep(self, penalty: float) -> FloatArray:
        """Minimise over the slopes of one feature after the other; return D - A·B."""
        A, B = self._A, self.inside
        left = self._D - A @ B
        for j in range(len(B)):
            target = left[j] + A[j, j] * B[j]
            size = float(np.sqrt(target @ target))
            new = target * (max(size - penalty, 0.0) / (size * A[j, j])) if size else target
            change = new - B[j]
            if change.any():
                left -= A[:, j, None] * change
                B[j] = new
        return left

    def _violation(self, left: FloatArray, penalty: float) -> float:
        lengths = np.linalg.norm(self.inside, axis=1)
        on = lengths > 0
        gap = left[on] - penalty * self.inside[on] / lengths[on, None]
        excess = np.linalg.norm(left[~on], axis=1) - penalty
        return float(max(np.linalg.norm(gap, axis=1).max(initial=0.0), excess.max(initial=0.0)))

    def _improve(self, penalty: float) -> None:
        """Find norms w for which B = (A + t·diag(1/w))⁻¹·D has these norms."""
        # The result is kept if it is no worse. Only a sweep removes features.
        on = self.inside.any(axis=1)
        A, D = self._A[np.ix_(on, on)], self._D[on]
        w = np.linalg.norm(self.inside[on], axis=1)
        B = self.inside[on]
        for _ in range(MAX_NEWTON):
            inverse = np.linalg.inv(A + np.diag(penalty / w))
            B = inverse @ D
            lengths = np.linalg.norm(B, axis=1)
            if np.abs(lengths - w).max(initial=0.0) <= 1e-12 * w.max(initial=0.0):
                break
            slope = inverse * (B @ B.T) * (penalty / w**2) / lengths[:, None]
            slope.flat[:: len(w) + 1] -= 1.0
            w = np.maximum(w + np.linalg.solve(slope, w - lengths), 0.1 * w)
        if self._loss(A, D, B, penalty) <= self._loss(A, D, self.inside[on], penalty):
            self.inside[on] = B

    @staticmethod
    def _loss(A: FloatArray, D: FloatArray, B: FloatArray, penalty: float) -> float:
        return float(np.sum(B * (0.5 * A @ B - D)) + penalty * np.linalg.norm(B, axis=1).sum())
