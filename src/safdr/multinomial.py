"""Candidate subsets of more than two classes become unpenalised softmax fits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safdr.checkpoint import no_checkpoint
from safdr.moments import FloatArray, IntArray
from safdr.softmax import Optimum, SoftmaxLoss, newton


@dataclass(frozen=True, eq=False)
class MultinomialFits:
    """One softmax model a subset, on the original scale of the features.

    Attributes
    ----------
    coefficients : ndarray of shape (n_subsets, n_classes, size)
        Slopes; those of a feature sum to zero over the classes.
    intercepts : ndarray of shape (n_subsets, n_classes)
        Intercepts, with sum zero.
    cross_entropies : ndarray of shape (n_subsets,)
        Mean cross-entropy over the weight of the rows; 0 under complete separation.
    separated : ndarray of shape (n_subsets,), dtype=bool
        Whether the optimum lies at infinity: certain where the cross-entropy is 0, since the
        coefficients then classify every row right. Elsewhere, where a part of the rows is
        separated, it is told from the pace of Newton's method.
    converged : ndarray of shape (n_subsets,), dtype=bool
        Whether the optimum was reached; not so under separation.
    n_iter : ndarray of shape (n_subsets,)
        Steps of Newton's method.
    """

    coefficients: FloatArray
    intercepts: FloatArray
    cross_entropies: FloatArray
    separated: NDArray[np.bool_]
    converged: NDArray[np.bool_]
    n_iter: IntArray

    @property
    def losses(self) -> FloatArray:
        """What the best is chosen by."""
        return self.cross_entropies


class MultinomialData:
    """Rows of several classes, to which softmax models on subsets of the columns are fitted.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
        Rows; any scale.
    codes : ndarray of shape (n_samples,)
        Class of each row, from 0 to n_classes - 1; no class is empty.
    n_classes : int
        Number of classes, at least 2.
    sample_weight : ndarray of shape (n_samples,) or None
        Positive weights; None means one.
    means : ndarray of shape (n_classes, n_features)
        Class means.
    within : ndarray of shape (n_features, n_features)
        Sum over the classes of their population covariances. With the means it sets the scale that
        the fits work on, and where they start.
    """

    def __init__(
        self,
        X: Any,
        codes: IntArray,
        n_classes: int,
        sample_weight: FloatArray | None,
        means: FloatArray,
        within: FloatArray,
    ) -> None:
        self._X = X
        self._codes = np.asarray(codes, dtype=np.int64)
        self._n_classes = n_classes
        weight = np.ones(len(self._codes)) if sample_weight is None else sample_weight
        self._share = weight / weight.sum()
        self._class_share = np.bincount(self._codes, self._share, minlength=n_classes)
        self._center = self._class_share @ means
        between = self._class_share @ (means - self._center) ** 2
        scale = np.sqrt(np.diag(within) / n_classes + between)
        self._scale = np.where(scale > 0, scale, 1.0)
        self._means = (means - self._center) / self._scale
        self._within = within
        present = self._class_share[self._class_share > 0]
        self._null_loss = float(-present @ np.log(present))

    def fit(
        self,
        subsets: IntArray,
        *,
        best_only: bool = False,
        n_threads: int = 1,
        checkpoint: Callable[[], None] = no_checkpoint,
    ) -> MultinomialFits:
        """Fit an unpenalised softmax model to each subset.

        Equal subsets are fitted once.

        Parameters
        ----------
        subsets : ndarray of shape (n_subsets, size)
            Columns of each model.
        best_only : bool, default=False
            Whether only the subset with the smallest cross-entropy must be fitted to the end. Those
            of the others are then estimates, good to about a tenth of their distance to it, they
            count as not converged, and partial separation may go unnoticed in them.
        n_threads : int, default=1
            Threads over subsets. The answer does not depend on it.
        checkpoint : callable, default=no_checkpoint
            Called several times a second; may raise to stop.

        Returns
        -------
        MultinomialFits
        """
        distinct, inverse = np.unique(subsets, axis=0, return_inverse=True)
        inverse = inverse.ravel()
        optima = [self._fit_one(subset, checkpoint) for subset in distinct]
        coefficients, intercepts = self._original_scale(distinct, optima)
        return MultinomialFits(
            coefficients=coefficients[inverse],
            intercepts=intercepts[inverse],
            cross_entropies=np.array([optimum.loss for optimum in optima])[inverse],
            separated=np.array([optimum.separated for optimum in optima])[inverse],
            converged=np.array([optimum.converged for optimum in optima])[inverse],
            n_iter=np.array([optimum.n_iter for optimum in optima])[inverse],
        )

    def _fit_one(self, subset: IntArray, checkpoint: Callable[[], None]) -> Optimum:
        columns = self._X[:, subset]
        dense = columns if isinstance(columns, np.ndarray) else columns.toarray()
        Z = np.ones((len(dense), len(subset) + 1))
        Z[:, :-1] = (dense - self._center[subset]) / self._scale[subset]
        loss = SoftmaxLoss(Z, self._codes, self._share, self._n_classes)
        start = self._discriminant_start(subset)
        if not loss.at(start).loss <= self._null_loss:
            start[:-1] = 0.0
            start[-1] = self._log_share()
        return newton(loss, start, null_loss=self._null_loss, checkpoint=checkpoint)

    def _log_share(self) -> FloatArray:
        logarithm: FloatArray = np.log(np.maximum(self._class_share, 1e-12))
        return logarithm

    def _discriminant_start(self, subset: IntArray) -> FloatArray:
        """Coefficients of the linear discriminant, the optimum if the classes were Gaussian."""
        scale = self._scale[subset]
        pooled = self._within[np.ix_(subset, subset)] / (self._n_classes * np.outer(scale, scale))
        means = self._means[:, subset]
        slopes = np.linalg.solve(pooled + 1e-6 * np.eye(len(subset)), means.T)
        intercepts = self._log_share() - 0.5 * np.sum(means * slopes.T, axis=1)
        return np.vstack([slopes, intercepts])

    def _original_scale(
        self, subsets: IntArray, optima: list[Optimum]
    ) -> tuple[FloatArray, FloatArray]:
        """Slopes and intercepts of the features as they came, each with sum zero."""
        theta = np.array([optimum.theta for optimum in optima]).transpose(0, 2, 1)
        theta = theta - theta.mean(axis=1, keepdims=True)
        slopes = theta[:, :, :-1] / self._scale[subsets][:, None, :]
        intercepts = theta[:, :, -1] - np.sum(slopes * self._center[subsets][:, None, :], axis=2)
        return slopes, intercepts
