"""The penalised problem of a path, and the Cholesky factor of its active features."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dtrsv

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.criterion import Criterion

BoolArray = NDArray[np.bool_]

# Share of its variance, ridge included, that a feature must keep given the active ones.
MIN_SHARE = 1e-10


class Root:
    """The lower Cholesky factor L of A of the active features."""

    def __init__(self) -> None:
        self._L: FloatArray = np.empty((0, 0))

    def append(self, row: FloatArray, variance: float) -> bool:
        """Add a feature by its row of A; return False if it depends on the others."""
        L, n = self._L, len(row)
        below = dtrsv(L, row, lower=1) if n else row
        rest = variance - float(below @ below)
        if rest <= MIN_SHARE * variance:
            return False
        self._L = np.zeros((n + 1, n + 1), order="F")
        self._L[:n, :n], self._L[n, :n], self._L[n, n] = L, below, np.sqrt(rest)
        return True

    def remove(self, i: int) -> None:
        """Remove a feature by a rank-one update of the rows below it."""
        L = self._L
        column = L[i + 1 :, i].copy()
        L = np.asfortranarray(np.delete(np.delete(L, i, axis=0), i, axis=1))
        for j, k in enumerate(range(i, len(L))):
            length = np.hypot(L[k, k], column[j])
            cosine, sine = L[k, k] / length, column[j] / length
            below = L[k:, k].copy()
            L[k:, k] = cosine * below + sine * column[j:]
            column[j:] = cosine * column[j:] - sine * below
        self._L = L

    def solve(self, right: FloatArray) -> FloatArray:
        if not len(self._L):
            return right
        solved = np.empty(right.shape)
        # Column by column: level 2 of the BLAS starts no threads.
        for column, out in zip(right.T, solved.T, strict=True):
            out[:] = dtrsv(self._L, dtrsv(self._L, column, lower=1), lower=1, trans=1)
        return solved


class Problem:
    """min ½ b'·A·b - d'·b + t·|b|₁ over the usable features; forced ones have no penalty.

    Without a penalty the forced features are partialled out of A and D: the others see their Schur
    complement, which is never formed.
    """

    def __init__(
        self,
        criterion: Criterion,
        usable: BoolArray,
        *,
        forced: IntArray,
        signs: FloatArray | None = None,
        ridge: float | None = None,
    ) -> None:
        self.criterion = criterion
        self.D: FloatArray = criterion.D
        self.usable = usable
        # The side on which the coefficient of each feature may be; 0 allows both.
        self.signs = signs
        # Ridge that the path adds to the criterion.
        self.extra = 0.0 if ridge is None else ridge - criterion.ridge
        self.variance: FloatArray = criterion.columns.diagonal + self.extra
        self._forced = forced

    def of_output(self, d: FloatArray) -> Problem:
        """Return the problem of one output instead."""
        criterion = replace(self.criterion, D=d[:, None])
        ridge = criterion.ridge + self.extra
        return Problem(criterion, self.usable, forced=self._forced, signs=self.signs, ridge=ridge)

    @cached_property
    def forced(self) -> IntArray:
        """The forced features, without those that depend on others of them."""
        root, forced = Root(), np.empty(0, dtype=np.int64)
        for feature in self._forced.tolist():
            if root.append(self.row(feature, forced), self.variance[feature]):
                forced = np.append(forced, feature)
        return forced

    @cached_property
    def start(self) -> tuple[FloatArray, FloatArray]:
        """Slopes of the forced features alone, and D - A·B of all features."""
        slopes = self.root().solve(self.D[self.forced])
        return slopes, self.D - self.products(self.forced, slopes)

    def root(self) -> Root:
        """Return the Cholesky factor of A of the forced features."""
        root = Root()
        for i, feature in enumerate(self.forced.tolist()):
            root.append(self.row(feature, self.forced[:i]), self.variance[feature])
        return root

    def row(self, feature: int, others: IntArray) -> FloatArray:
        if not len(others):
            return np.empty(0)
        return np.asarray(self.criterion.columns.row(feature, others))

    def products(self, features: IntArray, slopes: FloatArray) -> FloatArray:
        """Return A·B of all features, where some have slopes: (n_features, n_outputs)."""
        if not len(features):
            return np.zeros_like(self.D)
        product = self.criterion.columns.times(features, slopes)
        product[features] += self.extra * slopes
        return np.asarray(product)

    def sizes(self, left: FloatArray) -> FloatArray:
        """Return the penalties above which features stay out, given D - A·B."""
        if self.signs is None:
            return np.abs(left[:, 0])
        signs = self.signs
        return np.where(signs == 0, np.abs(left[:, 0]), signs * left[:, 0])
