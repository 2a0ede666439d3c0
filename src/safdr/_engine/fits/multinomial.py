"""Candidate subsets of more than two classes become softmax fits."""

from __future__ import annotations

from copy import copy
from functools import partial

import numpy as np
from numpy.typing import NDArray

from safdr import _core
from safdr._engine.arrays import FloatArray, IntArray, RowArray
from safdr._engine.criterion import FisherCriterion
from safdr._engine.fits.columns import Portion, StandardisedColumns, Standardiser
from safdr._engine.fits.fits import (
    Fits,
    carry_on,
    distinct_rows,
    fit_shortlist,
    from_core,
    in_turn,
    theta_of,
)
from safdr._engine.fits.original_scale import Target, rounded_with_care

# Half the squared Newton decrement estimates what is left of the mean cross-entropy (relative to
# that without features). The step that follows leaves next to nothing.
TOL = 1e-11
MAX_ITER = 100

# All are fitted this far first. When only the best is wanted, those go on that may be the best.
ROUGH_TOL = 1e-6

# Share of the discriminant to start at: where features separate most rows it is so sure of itself
# that a step from there overshoots. Half of it, or all, took a tenth more steps; with a penalty,
# where the optimum is nearer, half of it took a tenth fewer.
CAUTION, PENALISED_CAUTION = 0.7, 0.5

# A penalty that no slope feels is none: then classes may be separated (kLeastPenalty in the core).
LEAST_PENALTY = 1e-20

# Added to the standardised covariance, or collinear features would start with huge coefficients.
START_RIDGE = 1e-6

# A class without rows is taken to have this share.
LEAST_SHARE = 1e-12

# Coefficients, in units of the scale and of the smallest difference between two classes, that leave
# this ten digits where their mean is subtracted.
MOST_CENTRED = 1e5


class MultinomialFitter:
    """Fits softmax models to subsets of the columns, on rows of several classes.

    The criterion is that of the same rows: its moments set the scale that the fits work on, and
    where they start. Half the penalty times the squared slopes of the standardised columns is part
    of each loss.
    """

    loss_name = "cross_entropy"

    def __init__(
        self,
        X: RowArray,
        codes: IntArray,
        sample_weight: FloatArray | None,
        criterion: FisherCriterion,
        penalty: float = 0.0,
    ) -> None:
        self.penalty = penalty
        self._codes = np.ascontiguousarray(codes, dtype=np.int32)
        self._weight = sample_weight
        self._rows = Standardiser(X, criterion.marginals)
        self._covariances = criterion.covariances
        self._class_share = criterion.marginals.weight / criterion.marginals.weight.sum()

    @property
    def _penalised(self) -> bool:
        """Whether every model has an optimum."""
        return self.penalty > LEAST_PENALTY

    def baseline(self) -> float:
        """Cross-entropy of the model without features."""
        return -float(self._class_share @ np.log(self._class_share))

    def fit(self, subsets: IntArray, *, best_only: bool = False, n_threads: int = 1) -> Fits:
        """Fit a model to each subset; equal subsets are fitted once.

        The slopes of a feature, and the intercepts, sum to zero over the classes; where some are
        huge, one is zero. Separation is certain where the loss is 0: the coefficients then classify
        every row right. Elsewhere it is told from rows that move on when nothing is left to gain.

        With `best_only` the losses of all but the best are estimates, good to about a tenth of
        their distance to it. They count as not converged, and separation may go unnoticed in them
        (partial as a rule, complete rarely).
        """
        distinct, inverse = distinct_rows(subsets)
        # One subset is the best.
        best_only = best_only and len(distinct) > 1
        fit = self._fit_best if best_only else self._fit_all
        parts = map(partial(fit, n_threads=n_threads), self._rows.portions(distinct))
        fits = _centred(in_turn(parts, len(distinct), best_only=best_only))
        came, coarse = self._rows.undo(fits, distinct)
        if coarse.any():
            target = Target(self._codes, self._weight, self.penalty)
            came = rounded_with_care(fits, distinct, self._rows, target, self._fit_about)
        return came.take(inverse)

    def _fit_about(self, rows: Standardiser, subsets: IntArray) -> Fits:
        """Fit each subset to the end, with columns that have another center."""
        other = copy(self)
        other._rows = rows
        parts = map(partial(other._fit_all, n_threads=1), rows.portions(subsets))
        return _centred(in_turn(parts, len(subsets), best_only=False))

    def _fit_all(self, portion: Portion, n_threads: int) -> Fits:
        """Fit each subset to the end, roughly first: of some everything is known then."""
        subsets, standard, numbered = portion
        run = partial(self._run, standard, best_only=False, n_threads=n_threads)
        fits = run(numbered, self._discriminant_start(subsets), exact=False)
        carry_on(
            fits,
            np.flatnonzero(~fits.converged & ~fits.separated),
            lambda some, start: run(numbered[some], start, exact=True),
        )
        return fits

    def _fit_best(self, portion: Portion, n_threads: int) -> Fits:
        """Fit several subsets as far as it takes to know the best."""
        subsets, standard, numbered = portion
        run = partial(self._run, standard, best_only=True, n_threads=n_threads)
        starts, first = None, 0
        if self._penalised:
            starts = run(numbered, self._discriminant_start(subsets), exact=False, max_iter=0)
            first = int(np.argmin(starts.losses))

        def rough(some: IntArray, incumbent: Fits | None) -> Fits:
            if starts is None:
                start = self._discriminant_start(subsets[some])
            else:
                start = theta_of(starts, some)
            reach = np.inf if incumbent is None else float(incumbent.losses[0])
            return run(numbered[some], start, exact=False, incumbent=reach)

        return fit_shortlist(
            len(subsets),
            rough,
            lambda some, start: run(numbered[some], start, exact=True),
            first=first,
        )

    def _run(
        self,
        standard: StandardisedColumns,
        subsets: NDArray[np.int32],
        start: FloatArray,
        *,
        exact: bool,
        incumbent: float = np.inf,
        max_iter: int = MAX_ITER,
        best_only: bool,
        n_threads: int,
    ) -> Fits:
        """Fit each subset; with a penalty not those that can't reach the incumbent's loss."""
        fits = from_core(
            *_core.fit_multinomial(
                standard.Z,
                standard.wild,
                self._codes,
                self._weight,
                subsets,
                start,
                max_iter=max_iter,
                tol=TOL if exact else ROUGH_TOL,
                penalty=self.penalty,
                exact=exact,
                incumbent=incumbent,
                best_only=best_only,
                n_threads=n_threads,
            )
        )
        return in_turn([fits], len(subsets), best_only=best_only)

    def _discriminant_start(self, subsets: IntArray) -> FloatArray:
        """Coefficients near the linear discriminant, the optimum if the classes were Gaussian."""
        size, n_classes = subsets.shape[1], len(self._class_share)
        scale = self._rows.scale[subsets]
        pooled = self._covariances(subsets) / (n_classes * scale[:, :, None] * scale[:, None, :])
        means = self._rows.class_means.T[subsets]  # subsets, size, classes
        slopes = np.linalg.solve(pooled + (START_RIDGE + self.penalty) * np.eye(size), means)
        intercepts = -0.5 * np.sum(means * slopes, axis=1, keepdims=True)
        caution = PENALISED_CAUTION if self._penalised else CAUTION
        theta = caution * np.concatenate([slopes, intercepts], axis=1).transpose(0, 2, 1)
        theta[:, :, -1] += np.log(np.maximum(self._class_share, LEAST_SHARE))
        return np.ascontiguousarray(theta)


def _centred(fits: Fits) -> Fits:
    """Models without what all classes have in common."""
    theta = _less_what_classes_share(theta_of(fits, np.arange(len(fits.losses))))
    return fits._replace(coefficients=theta[..., :-1], intercepts=theta[..., -1])


def _less_what_classes_share(theta: FloatArray) -> FloatArray:
    """Coefficients with mean zero over the classes.

    Those of one class on its way to infinity would take the digits of all others with them: then
    those of one class are subtracted, which is chosen so that no difference of two loses many.
    """
    shared = theta.mean(axis=1, keepdims=True)
    first, second = np.triu_indices(theta.shape[1], 1)
    apart = np.abs(theta[:, first] - theta[:, second])
    least_apart = np.where(apart > 0, apart, np.inf).min(axis=(1, 2))
    largest = np.abs(theta).max(axis=(1, 2))
    huge = (largest > MOST_CENTRED) & (largest > MOST_CENTRED * least_apart)
    if huge.any():
        some = theta[huge]
        rounding = np.finfo(float).eps * np.abs(some)
        away = np.maximum(np.abs(some[:, :, None] - some[:, None]), rounding[:, None])
        with np.errstate(divide="ignore"):
            digits_lost = np.log(away[:, :, first] + away[:, :, second]).sum(axis=2)
        least = np.argmin(digits_lost, axis=1)
        shared[huge] = np.take_along_axis(some, least[:, None], axis=1)
    return theta - shared
