"""Moments of each class, with a scatter of its own: what merges."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.moments.blocks import ScatterSum, joined_mean
from safdr._engine.moments.within import WithinMoments


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
        within = np.einsum("cii->i", self.scatter) / self.weight.sum()
        mean, between = joined_mean(self.weight, self.mean)
        return mean, within + np.sum(between**2, axis=0) / self.weight.sum()

    def within(self) -> WithinMoments:
        """The same with one covariance for all classes: the sum of theirs."""
        squares = np.einsum("cii->ci", self.scatter)
        return WithinMoments(self.weight, self.mean, squares, self.covariance.sum(axis=0))


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
    scatter = np.empty((n_classes, n_features, n_features))
    for label in range(n_classes):
        rows = np.flatnonzero(codes == label)
        total = ScatterSum(scatter[label])
        weight[label], mean[label], _ = total.add_rows(X, rows, sample_weight, divide=False)
        total.finish()
    return ClassMoments(weight, mean, scatter)


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
