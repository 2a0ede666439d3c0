"""Moments of each class, with a scatter of its own: they can be added."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from safdr._engine.arrays import FloatArray, IntArray, RowArray
from safdr._engine.moments.blocks import ScatterSum
from safdr._engine.moments.within import WithinMoments


@dataclass(frozen=True, eq=False)
class ClassMoments:
    """Weight, mean and centred scatter of each class."""

    weight: FloatArray  # (n_classes,)
    mean: FloatArray  # (n_classes, n_features)
    scatter: FloatArray  # sums of outer products: (n_classes, n_features, n_features)

    def __add__(self, other: ClassMoments) -> ClassMoments:
        """Moments of the rows of both, by Chan's formula."""
        weight = self.weight + other.weight
        share = other.weight / np.where(weight > 0, weight, 1.0)
        # An empty class has no mean of its own to be pulled towards.
        known = self.weight[:, None] > 0
        difference = np.where(known, other.mean - self.mean, other.mean)
        mean = np.where(known, self.mean + share[:, None] * difference, other.mean)
        difference = difference * np.sqrt(self.weight * share)[:, None]
        scatter = self.scatter + other.scatter
        for total, d in zip(scatter, difference, strict=True):
            total += np.outer(d, d)
        return ClassMoments(weight, mean, scatter)

    def within(self) -> WithinMoments:
        """The same with one covariance for all classes: the sum of theirs."""
        squares = np.einsum("cii->ci", self.scatter)
        within = np.zeros(self.scatter.shape[1:])
        for weight, scatter in zip(self.weight, self.scatter, strict=True):
            within += scatter / (weight if weight > 0 else 1.0)
        return WithinMoments(self.weight, self.mean, squares, within)


def class_moments(
    X: RowArray, codes: IntArray, n_classes: int, sample_weight: FloatArray | None = None
) -> ClassMoments:
    """Class moments of the rows of X, each row read once; -1 as a code leaves a row out."""
    n_features = X.shape[1]
    weight = np.zeros(n_classes)
    mean = np.zeros((n_classes, n_features))
    scatter = np.empty((n_classes, n_features, n_features))
    for label in range(n_classes):
        rows = np.flatnonzero(codes == label)
        total = ScatterSum(scatter[label])
        weight[label], mean[label], _ = total.add_rows(X, rows, sample_weight, divide=False)
        total.finish()
    return ClassMoments(weight, mean, scatter)
