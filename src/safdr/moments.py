"""Rows become class moments: weight, mean and centred scatter, which merge associatively."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]

# Rows handled at a time: enough for the matrix product to run at full speed, and few enough to stay
# in cache. On 100 000 x 400 rows 1 to 4 MB took the same time; the rest was slower.
BLOCK_BYTES = 2**21
MIN_BLOCK_ROWS = 256


@dataclass(frozen=True, eq=False)
class ClassMoments:
    """Weight, mean and centred scatter of each class.

    Attributes
    ----------
    weight : ndarray of shape (n_classes,)
        Sum of the sample weights.
    mean : ndarray of shape (n_classes, n_features)
        Weighted mean of the features.
    scatter : ndarray of shape (n_classes, n_features, n_features)
        Weighted sum of outer products of the rows around their class mean.
    """

    weight: FloatArray
    mean: FloatArray
    scatter: FloatArray

    @property
    def covariance(self) -> FloatArray:
        """Population covariance of each class: scatter over weight."""
        weight = np.where(self.weight > 0, self.weight, 1.0)
        return self.scatter / weight[:, None, None]

    def total_variance(self) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of each feature over all classes together."""
        share = self.weight / self.weight.sum()
        mean = share @ self.mean
        within = np.einsum("cii->i", self.scatter) / self.weight.sum()
        return mean, within + share @ (self.mean - mean) ** 2


def class_moments(
    X: FloatArray, codes: IntArray, n_classes: int, sample_weight: FloatArray | None = None
) -> ClassMoments:
    """Class moments of the rows of X, each row read once.

    Blocks of rows are centred on their own mean before they are multiplied, so that a mean that is
    large against the spread costs no digits; the blocks are then joined by Chan's formula.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Rows.
    codes : ndarray of shape (n_samples,)
        Class of each row, from 0 to n_classes - 1.
    n_classes : int
        Number of classes. A class without rows has weight, mean and scatter zero.
    sample_weight : ndarray of shape (n_samples,), default=None
        Weight of each row; None means one.

    Returns
    -------
    ClassMoments
    """
    n_features = X.shape[1]
    weight = np.zeros(n_classes)
    mean = np.zeros((n_classes, n_features))
    scatter = np.zeros((n_classes, n_features, n_features))
    for label in range(n_classes):
        rows = np.flatnonzero(codes == label)
        if rows.size:
            weight[label], mean[label], scatter[label] = _moments_of_rows(X, rows, sample_weight)
    return ClassMoments(weight, mean, scatter)


def _moments_of_rows(
    X: FloatArray, rows: IntArray, sample_weight: FloatArray | None
) -> tuple[float, FloatArray, FloatArray]:
    """Weight, mean and scatter of the given rows."""
    n_features = X.shape[1]
    scatter = np.zeros((n_features, n_features))
    product = np.empty_like(scatter)
    weights, means = [], []
    # One buffer for all blocks, where that serves: fresh memory costs a fifth of the time. (Of an
    # array in Fortran order np.take would copy the whole first.)
    in_place = X.flags.c_contiguous and X.dtype == np.float64
    buffer = np.empty((min(len(rows), _block_length(n_features)), n_features))
    for block in _blocks(rows, n_features):
        if in_place:
            centred = np.take(X, block, axis=0, out=buffer[: len(block)], mode="clip")
        else:
            centred = X[block].astype(np.float64, copy=False)
        weight = np.ones(len(block)) if sample_weight is None else sample_weight[block]
        if not weight.any():
            continue
        weights.append(weight.sum())
        means.append(_block_mean(centred, weight))
        centred -= means[-1]
        if sample_weight is not None:
            centred *= np.sqrt(weight)[:, None]
        scatter += np.matmul(centred.T, centred, out=product)
    if not weights:
        return 0.0, np.zeros(n_features), scatter
    share = np.asarray(weights) / np.sum(weights)
    # Around the first block's mean, so that equal means stay equal to the last bit.
    offsets = np.asarray(means) - means[0]
    mean = share @ offsets
    between = np.sqrt(weights)[:, None] * (offsets - mean)
    scatter += between.T @ between
    return float(np.sum(weights)), means[0] + mean, scatter


def _block_mean(rows: FloatArray, weight: FloatArray) -> FloatArray:
    """Weighted mean of the rows, exact for a column that never changes.

    Rounding would leave such a column with a variance above zero.
    """
    mean: FloatArray = weight @ rows / weight.sum()
    suspects = np.flatnonzero(np.abs(mean - rows[0]) <= 1e-13 * np.abs(rows[0]))
    constant = suspects[(rows[:, suspects] == rows[0, suspects]).all(axis=0)]
    mean[constant] = rows[0, constant]
    return mean


def _block_length(n_features: int) -> int:
    return max(MIN_BLOCK_ROWS, BLOCK_BYTES // (8 * n_features))


def _blocks(rows: IntArray, n_features: int) -> Iterator[IntArray]:
    """Cut a list of row numbers into blocks."""
    length = _block_length(n_features)
    for start in range(0, len(rows), length):
        yield rows[start : start + length]


def merge_moments(parts: Iterable[ClassMoments]) -> ClassMoments:
    """Moments of the union of disjoint sets of rows, by Chan's formula.

    Parameters
    ----------
    parts : iterable of ClassMoments
        At least one, over the same features and classes.

    Returns
    -------
    ClassMoments
    """
    merged: ClassMoments | None = None
    for part in parts:
        merged = part if merged is None else _merge_two(merged, part)
    if merged is None:
        raise ValueError("merge_moments needs at least one set of moments, got none.")
    return merged


def _merge_two(a: ClassMoments, b: ClassMoments) -> ClassMoments:
    weight = a.weight + b.weight
    share = b.weight / np.where(weight > 0, weight, 1.0)
    # An empty class has no mean of its own to be pulled towards.
    difference = np.where(a.weight[:, None] > 0, b.mean - a.mean, b.mean)
    mean = np.where(a.weight[:, None] > 0, a.mean + share[:, None] * difference, b.mean)
    difference = difference * np.sqrt(a.weight * share)[:, None]
    scatter = a.scatter + b.scatter
    for total, d in zip(scatter, difference, strict=True):
        total += np.outer(d, d)
    return ClassMoments(weight, mean, scatter)
