"""Moments of the classes with one covariance for all of them: what a search needs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from safdr._engine.arrays import FloatArray, IntArray, RowArray
from safdr._engine.moments.blocks import ScatterSum, mostly_zero
from safdr._engine.moments.sparse import SparseScatterSum


@dataclass(frozen=True, eq=False)
class ClassMarginals:
    """Moments of each feature by itself, in each class."""

    weight: FloatArray  # of each class
    mean: FloatArray  # (n_classes, n_features)
    squares: FloatArray  # around the mean of the class, summed: (n_classes, n_features)

    def among(self, columns: IntArray) -> ClassMarginals:
        """Return those of some of the features."""
        return ClassMarginals(self.weight, self.mean[:, columns], self.squares[:, columns])


@dataclass(frozen=True, eq=False)
class WithinMoments(ClassMarginals):
    """Moments of each class, with one covariance for all: the sum of theirs."""

    within: FloatArray

    def among_columns(self, columns: IntArray) -> WithinMoments:
        """Return the same for some of the features."""
        some = self.among(columns)
        within = self.within[np.ix_(columns, columns)]
        return WithinMoments(some.weight, some.mean, some.squares, within)


def within_moments(
    X: RowArray,
    codes: IntArray,
    n_classes: int,
    sample_weight: FloatArray | None = None,
    *,
    out: FloatArray | None = None,
) -> WithinMoments:
    """Moments within the classes, each row read once, one class after the other.

    Beside the result there is no matrix of n_features x n_features, but for small ones.
    """
    n_features = X.shape[1]
    within = np.empty((n_features, n_features)) if out is None else out
    total = SparseScatterSum(within) if mostly_zero(X) else ScatterSum(within)
    weight = np.zeros(n_classes)
    mean, squares = np.zeros((2, n_classes, n_features))
    for label in range(n_classes):
        rows = np.flatnonzero(codes == label)
        weight[label], mean[label], squares[label] = total.add_rows(X, rows, sample_weight)
    return WithinMoments(weight, mean, squares, total.finish())
