"""Candidate subsets become unpenalised logistic fits and cross-entropies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from safdr import _core
from safdr._engine.arrays import FloatArray, IntArray, Rows
from safdr._engine.fits.columns import (
    Design,
    Portion,
    StandardisedColumns,
    distinct_rows,
    middle,
    renumbered,
)
from safdr._engine.fits.shortlist import Fitted, fit_shortlist, in_turn
from safdr._engine.moments import ClassMarginals, WithinMoments

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


class LocalModel(NamedTuple):
    """The cross-entropy near some coefficients, to second order."""

    coefficients: FloatArray
    gradient: FloatArray
    hessian: FloatArray
    #: The columns of each subset by their places in the above.
    places: NDArray[np.int32]


class LogisticData:
    """Rows of two classes, to which logistic models on subsets of the columns are fitted.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        Rows; any scale.
    codes : ndarray of shape (n_samples,)
        Class of each row, 0 or 1.
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
        self._y = (codes == 1).astype(np.float64)
        self._weight = sample_weight
        mean, variance = moments.total_variance()
        scale = np.sqrt(variance)
        self._scale = np.where(scale > 0, scale, 1.0)
        self._X, self._mean, self._class_means = X, mean, moments.mean
        if covariances is None:
            assert isinstance(moments, WithinMoments)
            covariances = moments.blocks
        self._covariances = covariances
        self._log_odds = float(np.log(moments.weight[1] / moments.weight[0]))
        share = moments.weight / moments.weight.sum()
        self._null_loss = -float(share @ np.log(share))

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
        return self._null_loss

    def fit(
        self,
        subsets: IntArray,
        *,
        best_only: bool = False,
        n_threads: int = 1,
    ) -> LogisticFits:
        """Fit an unpenalised logistic model to each subset.

        Equal subsets are fitted once.

        Parameters
        ----------
        subsets : ndarray of shape (n_subsets, size)
            Columns of each model; with `best_only` in order of preference.
        best_only : bool, default=False
            Whether only the subset with the smallest cross-entropy must be fitted to the end. Those
            of the others are then estimates, good to about a tenth of their distance to it, they
            count as not converged, and partial separation may go unnoticed in them. The first one
            that separates the classes completely has won: those after it are not fitted,
            and NaN (unless they are equal to one before).
        n_threads : int, default=1
            Threads over subsets. The answer does not depend on it.

        Returns
        -------
        LogisticFits
        """
        distinct, inverse = distinct_rows(subsets)
        # One subset is the best.
        best_only = best_only and len(distinct) > 1
        fit = self._fit_best if best_only else self._fit_all
        parts = (fit(some, n_threads) for some in self._columns.portions(distinct))
        fits = in_turn(parts, len(distinct), best_only=best_only)
        scaled, cross_entropies, separated, converged, _, n_iter = fits
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

    def _fit_all(self, portion: Portion, n_threads: int) -> Fitted:
        """Fit each subset to the end."""
        subsets, design, numbered = portion
        fit = partial(self._fit, portion, n_threads=n_threads)
        columns, places = renumbered(numbered, design.Z.shape[1])
        if not _pays(len(columns), subsets.shape):
            return fit(start=self._discriminant_start(subsets))
        # The one with the most members in common with the others.
        central = int(np.argmax(np.bincount(places.ravel())[places].sum(axis=1)))
        at = slice(central, central + 1)
        optimum = fit(at, start=self._discriminant_start(subsets[at]), exact=False)
        return fit(model=self._local_model(design, columns, places, central, optimum[0][0]))

    def _fit_best(self, portion: Portion, n_threads: int) -> Fitted:
        """Fit several subsets as far as it takes to know the best.

        The others start from the first one.
        """
        subsets, design, numbered = portion
        fit = partial(self._fit, portion, best_only=True, n_threads=n_threads)
        model = None

        def rough(some: slice, incumbent: Fitted | None) -> Fitted:
            nonlocal model
            if incumbent is None:
                return fit(some, start=self._discriminant_start(subsets[some]), exact=False)
            columns, places = renumbered(numbered, design.Z.shape[1])
            if _pays(len(columns), subsets.shape):
                model = self._local_model(design, columns, places, 0, incumbent[0][0])
            start = self._discriminant_start(subsets[some]) if model is None else None
            return fit(some, start=start, model=model, exact=False, incumbent=incumbent[1][0])

        return fit_shortlist(
            len(subsets),
            rough,
            lambda some, fits: fit(some, start=fits[0][some], model=model),
            rounding=ROUNDING * self._null_loss + LEAST_ROUNDING,
        )

    def _local_model(
        self,
        design: Design,
        columns: IntArray,
        places: NDArray[np.int32],
        central: int,
        optimum: FloatArray,
    ) -> LocalModel:
        """The cross-entropy over some columns near the optimum of one subset."""
        coefficients = np.zeros(len(columns) + 1)
        coefficients[places[central]] = optimum[:-1]
        coefficients[-1] = optimum[-1]
        gradient, hessian = _core.local_model(
            design.Z,
            design.single,
            design.wild,
            self._y,
            self._weight,
            columns.astype(np.int32),
            coefficients,
        )
        return LocalModel(coefficients, gradient, hessian, places)

    def _discriminant_start(self, subsets: IntArray) -> FloatArray:
        """Coefficients of Fisher's discriminant, the optimum if the classes were Gaussian."""
        size = subsets.shape[1]
        # The mean of the two covariances, in units of the scale.
        scale = self._scale[subsets]
        pooled = self._covariances(subsets) / (2.0 * scale[:, :, None] * scale[:, None, :])
        pooled[:, np.arange(size), np.arange(size)] += 1e-8
        negative, positive = self._means[0][subsets], self._means[1][subsets]
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
    ) -> Fitted:
        """Newton's method on some of the subsets."""
        subsets, design = portion.numbered[which], portion.design
        if model is not None:
            model = model._replace(places=model.places[which])
        fits = list(
            _core.fit_logistic(
                design.Z,
                design.single,
                design.wild,
                self._y,
                self._weight,
                subsets,
                start=start,
                model=model,
                max_iter=MAX_ITER,
                tol=TOL if exact else ROUGH_TOL,
                exact=exact,
                incumbent=incumbent,
                best_only=best_only,
                n_threads=n_threads,
            )
        )
        return in_turn([fits], len(subsets), best_only=best_only)


def _pays(n_columns: int, shape: tuple[int, ...]) -> bool:
    """Whether one Hessian of all columns is cheaper than one of its own for each subset."""
    n_subsets, size = shape
    return n_subsets > 1 and n_columns**2 < n_subsets * size**2
