"""Least-squares fits and squared errors of subsets, from moments alone."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.criterion import Criterion
from safdr._engine.fits.fits import Fits
from safdr._engine.interrupt import look_up
from safdr._engine.subsets import distinct

# Directions in which standardised features have less variance than this (for each of them) are left
# alone: rounding leaves some 1e-15 where there is none, so slopes along 1e-12 have three digits.
SMALLEST_VARIANCE = 1e-12

# Operations between two checks for an interrupt: about 0.1 s.
OPERATIONS_AT_ONCE = 1e8


class LeastSquaresFitter:
    """A fitter of least-squares models to subsets, from moments alone.

    The loss includes the penalty times the squared slopes of the standardised columns.
    """

    loss_name = "squared_error"

    def __init__(self, criterion: Criterion, penalty: float = 0.0) -> None:
        self.penalty = penalty
        self._moments = criterion.marginals
        self._covariances = criterion.covariances

    def baseline(self) -> float:
        return float(self._moments.output_variance.mean())

    def fit(self, subsets: IntArray, *, best_only: bool = False, n_threads: int = 1) -> Fits:
        """Fit a linear model to each subset, in closed form for any arguments."""
        # Collinear features have the smallest (standardised) slopes among the best
        # fits. Losses are accurate to about 1e-15 of the variance of the outputs.
        first, inverse = distinct(subsets)
        subsets, parts = subsets[first], []
        for some in _portions(subsets):
            look_up()
            parts.append(self._fit(some))
        slopes, explained = map(np.concatenate, zip(*parts, strict=True))
        intercepts = self._moments.output_mean - np.einsum(
            "nsm,ns->nm", slopes, self._moments.mean[0, subsets]
        )
        # Rounding must not make an error negative.
        left = np.maximum(self._moments.output_variance - explained, 0.0)
        fits = Fits.of_losses(left.mean(axis=1))._replace(
            coefficients=slopes.transpose(0, 2, 1), intercepts=intercepts
        )
        return fits.take(inverse)

    def _fit(self, subsets: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the slopes, and the explained variance of each output."""
        covariance = self._covariances(subsets)
        deviation = np.sqrt(np.maximum(np.einsum("nii->ni", covariance), 0.0))
        scale = np.where(deviation > 0, deviation, 1.0)
        correlation = covariance / scale[:, :, None] / scale[:, None, :]
        target = self._moments.cross[subsets] / scale[:, :, None]
        variances, directions = np.linalg.eigh(correlation)
        solid = variances > SMALLEST_VARIANCE * subsets.shape[1]
        inverse = np.where(solid, 1.0 / np.where(solid, variances + self.penalty, 1.0), 0.0)
        along = directions.transpose(0, 2, 1) @ target
        slopes = directions @ (inverse[:, :, None] * along)
        return slopes / scale[:, :, None], np.sum(inverse[:, :, None] * along**2, axis=1)


def _portions(subsets: IntArray) -> Iterator[IntArray]:
    """Yield subsets whose fits take a tenth of a second together."""
    # Eigenvectors take about ten passes over a matrix for each of its rows.
    at_once = 1 + int(OPERATIONS_AT_ONCE / (10 * subsets.shape[1] ** 3))
    for start in range(0, len(subsets), at_once):
        yield subsets[start : start + at_once]
