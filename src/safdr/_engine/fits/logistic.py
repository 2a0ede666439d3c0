"""Candidate subsets become logistic fits and cross-entropies."""

from __future__ import annotations

from copy import copy
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from safdr import _core
from safdr._engine.arrays import FloatArray, IntArray, RowArray
from safdr._engine.criterion import FisherCriterion
from safdr._engine.fits.columns import Portion, StandardisedColumns, Standardiser
from safdr._engine.fits.fits import Fits, distinct_rows, fit_shortlist, from_core, in_turn
from safdr._engine.fits.original_scale import Target, rounded_with_care

# Half the squared Newton decrement estimates what is left of the mean cross-entropy (relative to
# that without features). The step that follows leaves next to nothing.
TOL = 1e-11
MAX_ITER = 100

# When only the best is wanted, all are fitted this far, and those go on that may be the best.
ROUGH_TOL = 1e-6

# So far they are fitted in single precision, which is right to this share of the loss without
# features, and where that is small, since one class is rare, to this much.
ROUNDING = 1e-6
LEAST_ROUNDING = 1e-7

EVERY = slice(None)


class LocalModel(NamedTuple):
    """The cross-entropy near some coefficients, to second order."""

    coefficients: FloatArray
    gradient: FloatArray
    hessian: FloatArray
    places: NDArray[np.int32]  # of the columns of each subset in the above


class LogisticFitter:
    """Fits logistic models to subsets of the columns, on rows of two classes.

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
        self._y = (codes == 1).astype(np.float64)
        self._weight = sample_weight
        self._rows = Standardiser(X, criterion.marginals)
        self._covariances = criterion.covariances
        weight = criterion.marginals.weight
        self._log_odds = float(np.log(weight[1] / weight[0]))
        share = weight / weight.sum()
        self._null_loss = -float(share @ np.log(share))

    @property
    def scale(self) -> FloatArray:
        """The unit of standardised columns."""
        return self._rows.scale

    def baseline(self) -> float:
        """Cross-entropy of the model without features."""
        return self._null_loss

    def fit(self, subsets: IntArray, *, best_only: bool = False, n_threads: int = 1) -> Fits:
        """Fit a model to each subset; equal subsets are fitted once.

        With `best_only` the losses of all but the best are estimates, good to about a tenth of
        their distance to it. They count as not converged, and partial separation may go unnoticed
        in them.
        """
        distinct, inverse = distinct_rows(subsets)
        # One subset is the best.
        best_only = best_only and len(distinct) > 1
        fit = self._fit_best if best_only else self._fit_all
        parts = map(partial(fit, n_threads=n_threads), self._rows.portions(distinct))
        fits = in_turn(parts, len(distinct), best_only=best_only)
        came, coarse = self._rows.undo(fits, distinct)
        if coarse.any():
            target = Target(self._y.astype(np.int64), self._weight, self.penalty)
            came = rounded_with_care(fits, distinct, self._rows, target, self._fit_about)
        return came.take(inverse)

    def _fit_about(self, rows: Standardiser, subsets: IntArray) -> Fits:
        """Fit each subset to the end, with columns that have another center."""
        other = copy(self)
        other._rows = rows
        parts = map(partial(other._fit_all, n_threads=1), rows.portions(subsets))
        return in_turn(parts, len(subsets), best_only=False)

    def _fit_all(self, portion: Portion, n_threads: int) -> Fits:
        """Fit each subset to the end."""
        fit = partial(self._fit, portion, n_threads=n_threads)
        together = portion.together()
        if together is None:
            return fit()
        columns, places = together
        # The one with the most members in common with the others.
        central = int(np.argmax(np.bincount(places.ravel())[places].sum(axis=1)))
        optimum = fit(slice(central, central + 1), exact=False)
        return fit(model=self._local_model(portion.columns, columns, places, central, optimum))

    def _fit_best(self, portion: Portion, n_threads: int) -> Fits:
        """Fit several subsets as far as it takes to know the best.

        The others start from the first one.
        """
        fit = partial(self._fit, portion, best_only=True, n_threads=n_threads)
        together, model = portion.together(), None

        def rough(some: IntArray, incumbent: Fits | None) -> Fits:
            nonlocal model
            if incumbent is None:
                return fit(some, exact=False)
            if together is not None:
                model = self._local_model(portion.columns, *together, 0, incumbent)
            return fit(some, model=model, exact=False, incumbent=incumbent.losses[0])

        return fit_shortlist(
            len(portion.subsets),
            rough,
            lambda some, start: fit(some, start=start, model=model),
            rounding=ROUNDING * self._null_loss + LEAST_ROUNDING,
        )

    def _local_model(
        self,
        standard: StandardisedColumns,
        columns: IntArray,
        places: NDArray[np.int32],
        central: int,
        optimum: Fits,
    ) -> LocalModel:
        """The cross-entropy over some columns near the optimum of one subset."""
        coefficients = np.zeros(len(columns) + 1)
        coefficients[places[central]] = optimum.coefficients[0]
        coefficients[-1] = optimum.intercepts[0]
        gradient, hessian = _core.local_model(
            standard.Z,
            standard.single,
            standard.wild,
            self._y,
            self._weight,
            columns.astype(np.int32),
            coefficients,
            self.penalty,
        )
        return LocalModel(coefficients, gradient, hessian, places)

    def _discriminant_start(self, subsets: IntArray) -> FloatArray:
        """Coefficients of Fisher's discriminant, the optimum if the classes were Gaussian."""
        size = subsets.shape[1]
        # The mean of the two covariances, in units of the scale.
        scale = self._rows.scale[subsets]
        pooled = self._covariances(subsets) / (2.0 * scale[:, :, None] * scale[:, None, :])
        pooled[:, np.arange(size), np.arange(size)] += 1e-8 + self.penalty
        negative, positive = self._rows.class_means[0][subsets], self._rows.class_means[1][subsets]
        slopes = np.linalg.solve(pooled, (positive - negative)[..., None])[..., 0]
        intercepts = self._log_odds - 0.5 * np.sum((positive + negative) * slopes, axis=1)
        return np.concatenate([slopes, intercepts[:, None]], axis=1)

    def _fit(
        self,
        portion: Portion,
        which: slice | IntArray = EVERY,
        *,
        start: FloatArray | None = None,
        model: LocalModel | None = None,
        exact: bool = True,
        incumbent: float = np.inf,
        best_only: bool = False,
        n_threads: int,
    ) -> Fits:
        """Newton's method on some of the subsets, from the discriminant unless told."""
        subsets, standard = portion.numbered[which], portion.columns
        if model is not None:
            model = model._replace(places=model.places[which])
        elif start is None:
            start = self._discriminant_start(portion.subsets[which])
        fits = from_core(
            *_core.fit_logistic(
                standard.Z,
                standard.single,
                standard.wild,
                self._y,
                self._weight,
                subsets,
                start=start,
                model=model,
                max_iter=MAX_ITER,
                tol=TOL if exact else ROUGH_TOL,
                penalty=self.penalty,
                exact=exact,
                incumbent=incumbent,
                best_only=best_only,
                n_threads=n_threads,
            )
        )
        return in_turn([fits], len(subsets), best_only=best_only)
