"""Sufficient statistics of a criterion: weights, means and covariances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Self

import numpy as np

from safdr._engine.arrays import FloatArray, IntArray, RowArray
from safdr._engine.moments.blocks import Group, ScatterSum, mostly_zero
from safdr._engine.moments.sparse import SparseScatterSum


@dataclass(frozen=True, eq=False)
class Marginals:
    """Moments of each feature alone and with the outputs; a regression has one class."""

    weight: FloatArray  # of each class
    mean: FloatArray  # (n_classes, n_features)
    squares: FloatArray  # sums around the mean of the class: (n_classes, n_features)
    output_mean: FloatArray  # (n_outputs,); without outputs empty
    output_variance: FloatArray  # (n_outputs,)
    cross: FloatArray  # covariances: (n_features, n_outputs)

    @classmethod
    def of_groups(cls, groups: Sequence[Group], *more: FloatArray) -> Self:
        weight, mean, squares = (np.array(each) for each in list(zip(*groups, strict=True))[:3])
        return cls(weight, mean, squares, *groups[0][3:], *more)

    @property
    def variance(self) -> FloatArray:
        """Sum of the variances within the classes, of each feature."""
        weight = np.where(self.weight > 0, self.weight, 1.0)
        return np.asarray(np.sum(self.squares / weight[:, None], axis=0))

    def among(self, columns: IntArray) -> Self:
        some = (self.mean[:, columns], self.squares[:, columns])
        return replace(self, mean=some[0], squares=some[1], cross=self.cross[columns])


@dataclass(frozen=True, eq=False)
class Moments(Marginals):
    """Marginals, and the sum of the covariances of the classes."""

    within: FloatArray  # (n_features, n_features)

    @property
    def variance(self) -> FloatArray:
        return np.diag(self.within).copy()

    @property
    def marginals(self) -> Marginals:
        return Marginals(*(getattr(self, field.name) for field in fields(Marginals)))

    def among(self, columns: IntArray) -> Self:
        return replace(super().among(columns), within=self.within[np.ix_(columns, columns)])


def moments_of(
    X: RowArray,
    codes: IntArray,
    n_classes: int,
    sample_weight: FloatArray | None = None,
    outputs: FloatArray | None = None,
    *,
    out: FloatArray | None = None,
) -> Moments:
    """Return the moments of rows, each read once; code -1 excludes a row."""
    n_features = X.shape[1]
    within = np.empty((n_features, n_features)) if out is None else out
    total = SparseScatterSum(within) if mostly_zero(X) else ScatterSum(within)
    outputs = np.empty((X.shape[0], 0)) if outputs is None else outputs
    groups = [
        total.add_rows(X, np.flatnonzero(codes == label), sample_weight, outputs)
        for label in range(n_classes)
    ]
    return Moments.of_groups(groups, total.finish())
