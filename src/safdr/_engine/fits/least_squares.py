"""Candidate subsets become least-squares fits and squared errors, from moments alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.interrupt import look_up
from safdr._engine.moments import JointMarginals, JointMoments

# Directions in which standardised features have less variance than this (for each of them) are left
# alone: rounding leaves some 1e-15 where there is none, so slopes along 1e-12 have three digits.
SMALLEST_VARIANCE = 1e-12

# Operations between two looks up: some tenth of a second.
OPERATIONS_AT_ONCE = 1e8


@dataclass(frozen=True, eq=False)
class LeastSquaresFits:
    """One linear model a subset, on the original scale of features and outputs.

    Attributes
    ----------
    coefficients : ndarray of shape (n_subsets, n_outputs, size)
        Slopes. Of collinear features, the smallest (standardised) ones that fit best.
    intercepts : ndarray of shape (n_subsets, n_outputs)
        Intercepts.
    squared_errors : ndarray of shape (n_subsets,)
        Mean squared error over the weight of the rows and over the outputs, to some 1e-15 of the
        variance of the outputs.
    converged : ndarray of shape (n_subsets,), dtype=bool
        True: there is nothing to iterate.
    n_iter : ndarray of shape (n_subsets,)
        Zeros.
    """

    coefficients: FloatArray
    intercepts: FloatArray
    squared_errors: FloatArray
    converged: NDArray[np.bool_]
    n_iter: IntArray

    @property
    def losses(self) -> FloatArray:
        """What the best is chosen by."""
        return self.squared_errors

    @property
    def separated(self) -> NDArray[np.bool_]:
        """False: least squares always have a finite optimum."""
        return np.zeros(len(self.n_iter), dtype=bool)


class LeastSquaresData:
    """Moments of rows, to which linear models on subsets of the features are fitted.

    Parameters
    ----------
    moments : JointMoments
        Of features and outputs.
    covariances : callable, default=None
        Gives the covariances of the features for an array of subsets, as `moments.blocks` does,
        which None takes.
    """

    loss_name = "squared_error"

    def __init__(
        self,
        moments: JointMarginals,
        covariances: Callable[[IntArray], FloatArray] | None = None,
    ) -> None:
        self._mean = moments.mean
        self._output_mean = moments.output_mean
        self._cross = moments.cross
        self._output_variance = moments.output_variance
        if covariances is None:
            assert isinstance(moments, JointMoments)
            covariances = moments.blocks
        self._covariances = covariances

    def baseline(self) -> float:
        """Squared error of the model without features."""
        return float(self._output_variance.mean())

    def fit(
        self,
        subsets: IntArray,
        *,
        best_only: bool = False,
        n_threads: int = 1,
    ) -> LeastSquaresFits:
        """Fit a linear model to each subset.

        Parameters
        ----------
        subsets : ndarray of shape (n_subsets, size)
            Columns of each model.
        best_only, n_threads : bool and int
            As the fits of other models take them; they change nothing here.

        Returns
        -------
        LeastSquaresFits
        """
        parts = []
        for some in _portions(subsets):
            look_up()
            parts.append(self._fit(some))
        slopes, explained = map(np.concatenate, zip(*parts, strict=True))
        intercepts = self._output_mean - np.einsum("nsm,ns->nm", slopes, self._mean[subsets])
        # Rounding must not make an error negative.
        left = np.maximum(self._output_variance - explained, 0.0)
        return LeastSquaresFits(
            coefficients=slopes.transpose(0, 2, 1),
            intercepts=intercepts,
            squared_errors=left.mean(axis=1),
            converged=np.ones(len(subsets), dtype=bool),
            n_iter=np.zeros(len(subsets), dtype=np.int64),
        )

    def _fit(self, subsets: IntArray) -> tuple[FloatArray, FloatArray]:
        """Slopes, and the variance of each output that they explain."""
        covariance = self._covariances(subsets)
        deviation = np.sqrt(np.maximum(np.einsum("nii->ni", covariance), 0.0))
        scale = np.where(deviation > 0, deviation, 1.0)
        correlation = covariance / scale[:, :, None] / scale[:, None, :]
        target = self._cross[subsets] / scale[:, :, None]
        variances, directions = np.linalg.eigh(correlation)
        solid = variances > SMALLEST_VARIANCE * subsets.shape[1]
        inverse = np.where(solid, 1.0 / np.where(solid, variances, 1.0), 0.0)
        along = directions.transpose(0, 2, 1) @ target
        slopes = directions @ (inverse[:, :, None] * along)
        return slopes / scale[:, :, None], np.sum(inverse[:, :, None] * along**2, axis=1)


def _portions(subsets: IntArray) -> Iterator[IntArray]:
    """Subsets whose fits take a tenth of a second together."""
    # Eigenvectors take some ten passes over a matrix for each of its rows.
    at_once = 1 + int(OPERATIONS_AT_ONCE / (10 * subsets.shape[1] ** 3))
    for start in range(0, len(subsets), at_once):
        yield subsets[start : start + at_once]
