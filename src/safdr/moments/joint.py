"""Moments of features and outputs together: what regression needs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from safdr.moments.arrays import FloatArray, IntArray, Rows
from safdr.moments.blocks import (
    RowBlock,
    ScatterSum,
    block_mean,
    joined_mean,
    row_blocks,
    weight_of,
)


@dataclass(frozen=True, eq=False)
class JointMoments:
    """Means of features and outputs, and their population covariances.

    Attributes
    ----------
    weight : float
        Sum of the sample weights.
    mean : ndarray of shape (n_features,)
        Weighted mean of the features.
    output_mean : ndarray of shape (n_outputs,)
        Weighted mean of the outputs.
    covariance : ndarray of shape (n_features, n_features)
        Of the features with each other.
    cross : ndarray of shape (n_features, n_outputs)
        Covariance of the features with the outputs.
    output_variance : ndarray of shape (n_outputs,)
        Variance of each output.
    """

    weight: float
    mean: FloatArray
    output_mean: FloatArray
    covariance: FloatArray
    cross: FloatArray
    output_variance: FloatArray

    def blocks(self, subsets: IntArray) -> FloatArray:
        """The part of `covariance` of each subset, of shape (n_subsets, size, size)."""
        return self.covariance[subsets[:, :, None], subsets[:, None, :]]


def joint_moments(
    X: Rows,
    Y: FloatArray,
    sample_weight: FloatArray | None = None,
    *,
    rows: IntArray | NDArray[np.bool_] | None = None,
    out: FloatArray | None = None,
) -> JointMoments:
    """Moments of features and outputs, each row read once.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Features.
    Y : ndarray of shape (n_samples, n_outputs)
        Outputs.
    sample_weight : ndarray of shape (n_samples,), default=None
        Weight of each row; None means one. Some must be above zero.
    rows : ndarray, default=None
        Rows to take: their numbers, or a mask. None takes all.
    out : ndarray of shape (n_features, n_features), default=None
        Where the covariance of the features goes, C-contiguous; None makes a new array.

    Returns
    -------
    JointMoments
    """
    n_features = X.shape[1]
    taken = _row_numbers(rows, X.shape[0])
    weight = weight_of(taken, n_features, sample_weight)
    total = ScatterSum(np.empty((n_features, n_features)) if out is None else out)
    total.open(weight)
    outputs = _OutputSums(Y, sample_weight, n_features)
    weights, means = [], []
    for block in row_blocks(X, taken, sample_weight):
        total.add(block.rows)
        outputs.add(block)
        weights.append(block.weight)
        means.append(block.mean)
    mean, between = joined_mean(np.asarray(weights), np.asarray(means))
    total.add(between)
    total.close()
    output_mean = outputs.join(np.asarray(weights), between)
    return JointMoments(
        weight, mean, output_mean, total.finish(), outputs.cross / weight, outputs.squares / weight
    )


def _row_numbers(rows: IntArray | NDArray[np.bool_] | None, n_rows: int) -> IntArray:
    if rows is None:
        return np.arange(n_rows)
    return np.flatnonzero(rows) if rows.dtype == np.bool_ else rows.astype(np.int64, copy=False)


class _OutputSums:
    """Products of the centred outputs with the centred features and with themselves."""

    def __init__(self, Y: FloatArray, sample_weight: FloatArray | None, n_features: int) -> None:
        self._Y = Y
        self._weight = sample_weight
        self._means: list[FloatArray] = []
        self.cross = np.zeros((n_features, Y.shape[1]))
        self.squares = np.zeros(Y.shape[1])

    def add(self, block: RowBlock) -> None:
        """Add the rows of one block."""
        outputs = self._Y[block.numbers]
        ones = np.ones(len(outputs))
        weight = ones if self._weight is None else self._weight[block.numbers]
        self._means.append(block_mean(outputs, weight))
        self._add_products(block.rows, (outputs - self._means[-1]) * np.sqrt(weight)[:, None])

    def join(self, weights: FloatArray, between: FloatArray) -> FloatArray:
        """Add what lies between the blocks, and return the mean of all."""
        mean, outputs_between = joined_mean(weights, np.asarray(self._means))
        self._add_products(between, outputs_between)
        return mean

    def _add_products(self, features: FloatArray, outputs: FloatArray) -> None:
        self.cross += features.T @ outputs
        self.squares += np.einsum("ij,ij->j", outputs, outputs)
