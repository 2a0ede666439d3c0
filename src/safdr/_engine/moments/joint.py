"""Moments of features and outputs together: what regression needs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from safdr._engine.arrays import FloatArray, IntArray, RowArray
from safdr._engine.moments.blocks import (
    ScatterSum,
    block_mean,
    joined_mean,
    mostly_zero,
    row_blocks,
    weight_of,
)
from safdr._engine.moments.sparse import ShiftedRows


@dataclass(frozen=True, eq=False)
class JointMarginals:
    """Moments of outputs, and of each feature by itself with them."""

    weight: float
    mean: FloatArray  # (n_features,)
    output_mean: FloatArray  # (n_outputs,)
    output_variance: FloatArray  # (n_outputs,)
    cross: FloatArray  # covariances of features with outputs: (n_features, n_outputs)

    def among(self, columns: IntArray) -> JointMarginals:
        """Return those of some of the features."""
        outputs = (self.output_mean, self.output_variance)
        return JointMarginals(self.weight, self.mean[columns], *outputs, self.cross[columns])


@dataclass(frozen=True, eq=False)
class JointMoments(JointMarginals):
    """Means of features and outputs, and their population covariances."""

    covariance: FloatArray  # of the features with each other

    def among_columns(self, columns: IntArray) -> JointMoments:
        """Return the same for some of the features."""
        outputs = (self.output_mean, self.output_variance)
        covariance = self.covariance[np.ix_(columns, columns)]
        how = (self.weight, self.mean[columns], *outputs, self.cross[columns], covariance)
        return JointMoments(*how)

    def __add__(self, other: JointMoments) -> JointMoments:
        """Moments of the rows of both, by Chan's formula."""
        weight = self.weight + other.weight
        share = other.weight / weight
        features = other.mean - self.mean
        outputs = other.output_mean - self.output_mean

        def joined(ours: FloatArray, theirs: FloatArray, between: FloatArray) -> FloatArray:
            return ours + share * (theirs - ours + (1.0 - share) * between)

        return JointMoments(
            weight,
            self.mean + share * features,
            self.output_mean + share * outputs,
            joined(self.output_variance, other.output_variance, outputs**2),
            joined(self.cross, other.cross, np.outer(features, outputs)),
            joined(self.covariance, other.covariance, np.outer(features, features)),
        )


def joint_moments(
    X: RowArray,
    Y: FloatArray,
    sample_weight: FloatArray | None = None,
    *,
    rows: IntArray | NDArray[np.bool_] | None = None,
    out: FloatArray | None = None,
) -> JointMoments:
    """Moments of features and outputs, each row read once."""
    shape = (X.shape[1], X.shape[1])
    covariance = np.empty(shape) if out is None else out
    taken = _row_numbers(rows, X.shape[0])
    root = np.ones(X.shape[0]) if sample_weight is None else np.sqrt(sample_weight)
    output_mean = block_mean(Y[taken], root[taken] ** 2)
    outputs = (Y - output_mean) * root[:, None]
    of_features = _of_sparse_rows if mostly_zero(X) else _of_blocks
    weight, mean, cross = of_features(covariance, X, taken, sample_weight, outputs)
    output_variance = np.einsum("ij,ij->j", outputs[taken], outputs[taken]) / weight
    return JointMoments(weight, mean, output_mean, output_variance, cross / weight, covariance)


def _of_blocks(
    covariance: FloatArray,
    X: RowArray,
    rows: IntArray,
    sample_weight: FloatArray | None,
    outputs: FloatArray,
) -> tuple[float, FloatArray, FloatArray]:
    """Weight, mean and products with the outputs, which are centred and weighted."""
    total = ScatterSum(covariance)
    cross = np.zeros((X.shape[1], outputs.shape[1]))
    weight = weight_of(rows, X.shape[1], sample_weight)
    total.open(weight)
    weights, means, output_sums = [], [], []
    for block in row_blocks(X, rows, sample_weight):
        total.add(block.rows)
        cross += block.rows.T @ outputs[block.numbers]
        weights.append(block.weight)
        means.append(block.mean)
        output_sums.append(block.root @ outputs[block.numbers])
    mean, between = joined_mean(np.asarray(weights), np.asarray(means))
    total.add(between)
    total.close()
    total.finish()
    # The features were centred on the mean of their block, the outputs on that of all.
    cross += (between / np.sqrt(weights)[:, None]).T @ np.asarray(output_sums)
    return weight, mean, cross


def _of_sparse_rows(
    covariance: FloatArray,
    X: RowArray,
    rows: IntArray,
    sample_weight: FloatArray | None,
    outputs: FloatArray,
) -> tuple[float, FloatArray, FloatArray]:
    """The same of sparse rows."""
    covariance[:] = 0.0
    part = ShiftedRows(X, rows, sample_weight)
    part.add_covariance(covariance)
    return part.weight, part.mean, part.products(outputs[rows])


def _row_numbers(rows: IntArray | NDArray[np.bool_] | None, n_rows: int) -> IntArray:
    """Numbers of the rows that are asked for in one way or another."""
    if rows is None:
        return np.arange(n_rows)
    return np.flatnonzero(rows) if rows.dtype == np.bool_ else rows.astype(np.int64, copy=False)
