"""The features that can enter a path next: few steps need a product with all features."""

from __future__ import annotations

import numpy as np

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.screen.problem import Problem

# Columns of the window, in double precision: 16 000 columns of 500 rows.
WINDOW_BYTES = 2**26

# Columns that are copied into the window at a time, and features that a window must have besides
# twice the active ones.
N_COPIED = 1024
MIN_OTHERS = 64


class Window:
    """The features with the largest correlations at the last full computation (the anchor).

    By Cauchy and Schwarz, D - A·B of a feature outside changes by no more than its norm times the
    change of the fitted values. So the window is complete until that bound reaches the penalty.
    """

    features: IntArray
    left: FloatArray  # D - A·B of these at the anchor
    _fit: FloatArray | float

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        slopes, left = problem.start
        self.anchor(problem.forced, slopes, left)

    def anchor(self, members: IntArray, slopes: FloatArray, left: FloatArray | None = None) -> None:
        """Compute D - A·B of all features, and keep those that can enter next."""
        problem = self._problem
        if left is None:
            left = problem.D - problem.products(members, slopes)
        self.is_fresh, self.is_widened = True, False
        self._all_left = left
        self._columns: FloatArray | None = None
        self._largest_outside = -np.inf
        every = problem.usable.copy()
        every[members] = True
        self.features = np.flatnonzero(every)
        if not problem.is_dense:
            self._choose(members)
        self.left = left[self.features]
        self._farthest = 0.0
        self._fit = 0.0 if self._columns is None else self._fit_of(members, slopes)

    def widen(self) -> None:
        """Hold all features, until the next anchor."""
        self._columns, self._largest_outside, self.is_widened = None, -np.inf, True
        every = self._problem.usable.copy()
        every[self.features] = True
        self.features = np.flatnonzero(every)
        self.left = self._all_left[self.features]

    def _choose(self, members: IntArray) -> None:
        problem, n_rows = self._problem, self._problem.criterion.columns.n_rows
        length = WINDOW_BYTES // (8 * n_rows)
        if length < 2 * len(members) + MIN_OTHERS:
            return
        if length < len(self.features):
            sizes = problem.sizes(self._all_left)
            sizes[~problem.usable] = -np.inf
            sizes[members] = np.inf
            largest = np.argpartition(-sizes, length)
            self.features = np.sort(largest[:length])
            self._largest_outside = float(sizes[largest[length:]].max())
        self._columns = np.empty((len(self.features), n_rows))
        for start in range(0, len(self.features), N_COPIED):
            some = slice(start, start + N_COPIED)
            self._columns[some] = problem.criterion.columns.take(self.features[some]).T

    @property
    def is_all(self) -> bool:
        return self._largest_outside == -np.inf

    def covers(self, members: IntArray, slopes: FloatArray, penalty: float) -> bool:
        """Return True if no feature outside can reach the penalty before these slopes."""
        if self.is_all:
            return True
        far = max(self._farthest, float(np.linalg.norm(self._fit_of(members, slopes) - self._fit)))
        # Columns have length one, but for features that separate the classes: less.
        if self._largest_outside + far * (1.0 + 1e-9) >= penalty and not (
            far == 0.0 and self._largest_outside <= penalty
        ):
            return False
        self._farthest, self.is_fresh = far, False
        return True

    def products(self, members: IntArray, slopes: FloatArray) -> FloatArray:
        problem = self._problem
        if self._columns is None:
            return problem.products(members, slopes)[self.features]
        product = self._columns @ self._fit_of(members, slopes)
        product[self.positions(members)] += (problem.criterion.ridge + problem.extra) * slopes
        return np.asarray(product)

    def row(self, feature: int, members: IntArray) -> FloatArray:
        if self._columns is None:
            return self._problem.row(feature, members)
        place = int(self.positions(np.array([feature]))[0])
        return self._columns[self.positions(members)] @ self._columns[place]

    def positions(self, members: IntArray) -> IntArray:
        return np.searchsorted(self.features, members)

    def _fit_of(self, members: IntArray, slopes: FloatArray) -> FloatArray:
        assert self._columns is not None
        return np.asarray(self._columns[self.positions(members)].T @ slopes)
