"""Candidate subsets of more than two classes become unpenalised softmax fits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from safdr import _core
from safdr._engine.arrays import FloatArray, IntArray, Rows
from safdr._engine.fits.columns import Design, Portion, StandardisedColumns, distinct_rows, middle
from safdr._engine.fits.shortlist import Fitted, carry_on, fit_shortlist, in_turn
from safdr._engine.moments import ClassMarginals, WithinMoments

# Half the squared Newton decrement estimates what is left of the mean cross-entropy (relative to
# that without features). The step that follows leaves next to nothing.
TOL = 1e-11
MAX_ITER = 100

# All are fitted this far first. When only the best is wanted, those go on that may be the best.
ROUGH_TOL = 1e-6

# Share of the discriminant to start at: where features separate most rows it is so sure of itself
# that a step from there overshoots. Half of it, or all, took a tenth more steps.
CAUTION = 0.7

# Added to the standardised covariance, or collinear features would start with huge coefficients.
START_RIDGE = 1e-6

# A class without rows is taken to have this share.
LEAST_SHARE = 1e-12


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
        separated, it is told from rows that move on when nothing is left to gain.
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
    X : array or sparse matrix of shape (n_samples, n_features)
        Rows; any scale.
    codes : ndarray of shape (n_samples,)
        Class of each row, from 0 to n_classes - 1; no class is empty.
    sample_weight : ndarray of shape (n_samples,) or None
        Positive weights; None means one.
    moments : WithinMoments
        Of these rows. They set the scale that the fits work on, and where they start.
    covariances : callable, default=None
        Gives the sum of the covariances of the classes for an array of subsets, as
        `moments.blocks` does, which None takes.
    """

    loss_name = "cross_entropy"

    def __init__(
        self,
        X: Rows,
        codes: IntArray,
        sample_weight: FloatArray | None,
        moments: ClassMarginals,
        covariances: Callable[[IntArray], FloatArray] | None = None,
    ) -> None:
        self._codes = np.ascontiguousarray(codes, dtype=np.int32)
        self._weight = sample_weight
        self._class_share = moments.weight / moments.weight.sum()
        mean, variance = moments.total_variance()
        scale = np.sqrt(variance)
        self._scale = np.where(scale > 0, scale, 1.0)
        self._X, self._mean, self._class_means = X, mean, moments.mean
        if covariances is None:
            assert isinstance(moments, WithinMoments)
            covariances = moments.blocks
        self._covariances = covariances

    @cached_property
    def _center(self) -> FloatArray:
        return middle(self._X, self._mean, self._scale)

    @cached_property
    def _columns(self) -> StandardisedColumns:
        return StandardisedColumns(self._X, self._center, self._scale)

    @cached_property
    def _means(self) -> FloatArray:
        """Of each class, standardised."""
        return (self._class_means - self._center) / self._scale

    def baseline(self) -> float:
        """Cross-entropy of the model without features."""
        return -float(self._class_share @ np.log(self._class_share))

    def fit(
        self,
        subsets: IntArray,
        *,
        best_only: bool = False,
        n_threads: int = 1,
    ) -> MultinomialFits:
        """Fit an unpenalised softmax model to each subset.

        Equal subsets are fitted once.

        Parameters
        ----------
        subsets : ndarray of shape (n_subsets, size)
            Columns of each model; with `best_only` in order of preference.
        best_only : bool, default=False
            Whether only the subset with the smallest cross-entropy must be fitted to the end. Those
            of the others are then estimates, good to about a tenth of their distance to it, they
            count as not converged, and separation may go unnoticed in them (partial as a rule,
            complete rarely). The first one that is seen to separate the classes completely has won:
            those after it are not fitted, and NaN (unless they are equal to one before).
        n_threads : int, default=1
            Threads over subsets. The answer does not depend on it.

        Returns
        -------
        MultinomialFits
        """
        distinct, inverse = distinct_rows(subsets)
        # One subset is the best.
        best_only = best_only and len(distinct) > 1
        fit = self._fit_best if best_only else self._fit_all
        parts = (fit(some, n_threads) for some in self._columns.portions(distinct))
        fits = in_turn(parts, len(distinct), best_only=best_only)
        theta, cross_entropies, separated, converged, _, n_iter = fits
        coefficients, intercepts = self._original_scale(distinct, theta)
        return MultinomialFits(
            coefficients=coefficients[inverse],
            intercepts=intercepts[inverse],
            cross_entropies=cross_entropies[inverse],
            separated=separated[inverse],
            converged=converged[inverse],
            n_iter=n_iter[inverse],
        )

    def _fit_all(self, portion: Portion, n_threads: int) -> Fitted:
        """Fit each subset to the end, roughly first: of some everything is known then."""
        subsets, design, numbered = portion
        run = partial(self._run, design, best_only=False, n_threads=n_threads)
        fits = run(numbered, self._discriminant_start(subsets), exact=False)
        theta, _, separated, converged, _, _ = fits
        carry_on(
            fits,
            np.flatnonzero(~converged & ~separated),
            lambda some: run(numbered[some], theta[some], exact=True),
        )
        return fits

    def _fit_best(self, portion: Portion, n_threads: int) -> Fitted:
        """Fit several subsets as far as it takes to know the best."""
        subsets, design, numbered = portion
        run = partial(self._run, design, best_only=True, n_threads=n_threads)
        return fit_shortlist(
            len(subsets),
            lambda some, _: run(
                numbered[some], self._discriminant_start(subsets[some]), exact=False
            ),
            lambda some, fits: run(numbered[some], fits[0][some], exact=True),
        )

    def _run(
        self,
        design: Design,
        subsets: NDArray[np.int32],
        start: FloatArray,
        *,
        exact: bool,
        best_only: bool,
        n_threads: int,
    ) -> Fitted:
        """Fit each subset."""
        fits = list(
            _core.fit_multinomial(
                design.Z,
                design.wild,
                self._codes,
                self._weight,
                subsets,
                start,
                max_iter=MAX_ITER,
                tol=TOL if exact else ROUGH_TOL,
                exact=exact,
                best_only=best_only,
                n_threads=n_threads,
            )
        )
        return in_turn([fits], len(subsets), best_only=best_only)

    def _discriminant_start(self, subsets: IntArray) -> FloatArray:
        """Coefficients near the linear discriminant, the optimum if the classes were Gaussian."""
        size, n_classes = subsets.shape[1], len(self._class_share)
        scale = self._scale[subsets]
        pooled = self._covariances(subsets) / (n_classes * scale[:, :, None] * scale[:, None, :])
        means = self._means.T[subsets]  # subsets, size, classes
        slopes = np.linalg.solve(pooled + START_RIDGE * np.eye(size), means)
        intercepts = -0.5 * np.sum(means * slopes, axis=1, keepdims=True)
        theta = CAUTION * np.concatenate([slopes, intercepts], axis=1).transpose(0, 2, 1)
        theta[:, :, -1] += np.log(np.maximum(self._class_share, LEAST_SHARE))
        return np.ascontiguousarray(theta)

    def _original_scale(
        self, subsets: IntArray, theta: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Slopes and intercepts of the features as they came, each with sum zero."""
        theta = theta - theta.mean(axis=1, keepdims=True)
        slopes = theta[:, :, :-1] / self._scale[subsets][:, None, :]
        intercepts = theta[:, :, -1] - np.sum(slopes * self._center[subsets][:, None, :], axis=2)
        return slopes, intercepts
