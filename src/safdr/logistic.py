"""Candidate subsets become unpenalised logistic fits and cross-entropies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safdr import _core
from safdr.checkpoint import no_checkpoint
from safdr.moments import ClassMoments, FloatArray, IntArray

# Half the squared Newton decrement estimates what is left of the mean cross-entropy (relative to
# that without features), and the step that follows squares it: coefficients end at rounding error.
TOL = 1e-11
MAX_ITER = 100

# Some tenth of a second, after which Python gets its turn: to see Ctrl-C, or a checkpoint.
OPERATIONS_AT_ONCE = 3e8


@dataclass(frozen=True, eq=False)
class LogisticFits:
    """One logistic model a subset, on the original scale of the features.

    Attributes
    ----------
    coefficients : ndarray of shape (n_subsets, size)
        Slopes.
    intercepts : ndarray of shape (n_subsets,)
        Intercepts.
    cross_entropies : ndarray of shape (n_subsets,)
        Mean cross-entropy over the weight of the rows; 0 under complete separation.
    separated : ndarray of shape (n_subsets,), dtype=bool
        Whether the classes can be separated, so that the optimum lies at infinity.
    converged : ndarray of shape (n_subsets,), dtype=bool
        Whether the optimum was reached; not so under separation.
    n_iter : ndarray of shape (n_subsets,)
        Newton steps.
    """

    coefficients: FloatArray
    intercepts: FloatArray
    cross_entropies: FloatArray
    separated: NDArray[np.bool_]
    converged: NDArray[np.bool_]
    n_iter: IntArray


class LogisticData:
    """Rows of two classes, to which logistic models on subsets of the columns are fitted.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Rows; any scale.
    codes : ndarray of shape (n_samples,)
        Class of each row, 0 or 1.
    sample_weight : ndarray of shape (n_samples,) or None
        Positive weights; None means one.
    moments : ClassMoments
        Of these rows. They set the scale that the fits work on, and where they start.
    """

    def __init__(
        self,
        X: FloatArray,
        codes: IntArray,
        sample_weight: FloatArray | None,
        moments: ClassMoments,
    ) -> None:
        self._X = X
        self._y = (codes == 1).astype(np.float64)
        self._weight = np.ones(len(X)) if sample_weight is None else sample_weight
        self._center, variance = moments.total_variance()
        scale = np.sqrt(variance)
        self._scale = np.where(scale > 0, scale, 1.0)
        self._means = (moments.mean - self._center) / self._scale
        pooled = moments.scatter.sum(axis=0) / moments.weight.sum()
        self._pooled = pooled / np.outer(self._scale, self._scale)
        self._log_odds = float(np.log(moments.weight[1] / moments.weight[0]))

    def fit(
        self,
        subsets: IntArray,
        *,
        n_threads: int = 1,
        checkpoint: Callable[[], None] = no_checkpoint,
    ) -> LogisticFits:
        """Fit an unpenalised logistic model to each subset.

        Equal subsets are fitted once.

        Parameters
        ----------
        subsets : ndarray of shape (n_subsets, size)
            Columns of each model.
        n_threads : int, default=1
            Threads over subsets. The answer does not depend on it.
        checkpoint : callable, default=no_checkpoint
            Called several times a second; may raise to stop.

        Returns
        -------
        LogisticFits
        """
        distinct, inverse = np.unique(subsets, axis=0, return_inverse=True)
        scaled, cross_entropies, separated, converged, n_iter = self._newton(
            distinct, n_threads, checkpoint
        )
        slopes = scaled[:, :-1] / self._scale[distinct]
        intercepts = scaled[:, -1] - np.sum(slopes * self._center[distinct], axis=1)
        return LogisticFits(
            coefficients=slopes[inverse],
            intercepts=intercepts[inverse],
            cross_entropies=cross_entropies[inverse],
            separated=separated[inverse],
            converged=converged[inverse],
            n_iter=n_iter[inverse],
        )

    def _discriminant_start(self, subsets: IntArray) -> FloatArray:
        """Coefficients of Fisher's discriminant, the optimum if the classes were Gaussian."""
        size = subsets.shape[1]
        pooled = self._pooled[subsets[:, :, None], subsets[:, None, :]] + 1e-8 * np.eye(size)
        negative, positive = self._means[0][subsets], self._means[1][subsets]
        slopes = np.linalg.solve(pooled, (positive - negative)[..., None])[..., 0]
        intercepts = self._log_odds - 0.5 * np.sum((positive + negative) * slopes, axis=1)
        return np.column_stack([slopes, intercepts])

    def _newton(
        self, subsets: IntArray, n_threads: int, checkpoint: Callable[[], None]
    ) -> Iterator[NDArray[Any]]:
        """Newton's method on each subset, some at a time."""
        start = self._discriminant_start(subsets)
        # A fit takes some ten passes over the rows.
        operations = 10 * len(self._X) * start.shape[1] ** 2
        at_once = n_threads * (1 + int(OPERATIONS_AT_ONCE / operations))
        parts = []
        for first in range(0, len(subsets), at_once):
            checkpoint()
            some = slice(first, first + at_once)
            parts.append(
                _core.fit_logistic(
                    self._X,
                    self._center,
                    self._scale,
                    self._y,
                    self._weight,
                    subsets[some].astype(np.int32),
                    start[some],
                    max_iter=MAX_ITER,
                    tol=TOL,
                    n_threads=n_threads,
                )
            )
        return map(np.concatenate, zip(*parts, strict=True))
