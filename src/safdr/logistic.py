"""Candidate subsets become unpenalised logistic fits and cross-entropies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from safdr import _core
from safdr.checkpoint import no_checkpoint
from safdr.contest import Fitted, end_contest, in_turn
from safdr.design import distinct_rows, portions, renumbered, standardised
from safdr.moments import FloatArray, IntArray, Rows, WithinMoments

# Half the squared Newton decrement estimates what is left of the mean cross-entropy (relative to
# that without features). The step that follows leaves next to nothing.
TOL = 1e-11
MAX_ITER = 100

# When only the best is wanted, all are fitted this far, and those go on whose distance to the best
# is less than so many times what they have left.
ROUGH_TOL = 1e-6
CONTENDER = 10.0

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

    def __init__(
        self,
        X: Rows,
        codes: IntArray,
        sample_weight: FloatArray | None,
        moments: WithinMoments,
        covariances: Callable[[IntArray], FloatArray] | None = None,
    ) -> None:
        self._X = X
        self._y = (codes == 1).astype(np.float64)
        self._weight = sample_weight
        self._center, variance = moments.total_variance()
        scale = np.sqrt(variance)
        self._scale = np.where(scale > 0, scale, 1.0)
        self._means = (moments.mean - self._center) / self._scale
        self._covariances = moments.blocks if covariances is None else covariances
        self._log_odds = float(np.log(moments.weight[1] / moments.weight[0]))

    def fit(
        self,
        subsets: IntArray,
        *,
        best_only: bool = False,
        n_threads: int = 1,
        checkpoint: Callable[[], None] = no_checkpoint,
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
            that separates the classes completely ends the contest: those after it are not fitted,
            and NaN (unless they are equal to one before).
        n_threads : int, default=1
            Threads over subsets. The answer does not depend on it.
        checkpoint : callable, default=no_checkpoint
            Called several times a second; may raise to stop.

        Returns
        -------
        LogisticFits
        """
        distinct, inverse = distinct_rows(subsets)
        # One subset is the best.
        contest = best_only and len(distinct) > 1
        fit = self._fit_best if contest else self._fit_all
        parts = (fit(some, n_threads, checkpoint) for some in portions(distinct, self._X.shape))
        fits = in_turn(parts, len(distinct), contest=contest)
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

    def _fit_all(self, subsets: IntArray, n_threads: int, checkpoint: Callable[[], None]) -> Fitted:
        """Fit each subset to the end, on columns that are standardised once for all of them."""
        columns, local = renumbered(subsets, self._X.shape[1])
        Z = standardised(self._X, self._center, self._scale, columns)
        fit = partial(self._fit, Z, n_threads=n_threads, checkpoint=checkpoint)
        if not _pays(len(columns), subsets.shape):
            return fit(local, start=self._discriminant_start(subsets))
        # The one with the most members in common with the others.
        central = int(np.argmax(np.bincount(local.ravel())[local].sum(axis=1)))
        at = slice(central, central + 1)
        optimum = fit(local[at], start=self._discriminant_start(subsets[at]), tol=ROUGH_TOL)
        return fit(local, model=self._local_model(Z, local[central], optimum[0][0]))

    def _fit_best(
        self, subsets: IntArray, n_threads: int, checkpoint: Callable[[], None]
    ) -> Fitted:
        """Fit several subsets as far as it takes to know the best, the first one before all others.

        It is also where the others start from.
        """
        columns, local = renumbered(subsets, self._X.shape[1])
        Z = standardised(self._X, self._center, self._scale, columns)
        fit = partial(self._fit, Z, contest=True, n_threads=n_threads, checkpoint=checkpoint)
        first = fit(local[:1], start=self._discriminant_start(subsets[:1]), tol=ROUGH_TOL)
        rival = first[1][0]
        if rival == 0.0:
            return in_turn([first], len(subsets), contest=True)
        parts, model, start = [first], None, None
        if len(subsets) > 1:
            if _pays(len(columns), subsets.shape):
                model = self._local_model(Z, local[0], first[0][0])
            else:
                start = self._discriminant_start(subsets[1:])
            parts.append(fit(local[1:], start=start, model=model, tol=ROUGH_TOL, rival=rival))
        fits = in_turn(parts, len(subsets), contest=True)
        coefficients, cross_entropies, _, converged, left, n_iter = fits
        converged[:] = False
        near = cross_entropies - CONTENDER * left <= np.fmin.reduce(cross_entropies)
        # Where the classes are separated completely nothing is left to do.
        contenders = np.flatnonzero(near & (cross_entropies > 0))
        if len(contenders):
            final = fit(local[contenders], start=coefficients[contenders], model=model)
            final[-1] += n_iter[contenders]
            for all_of_them, some in zip(fits, final, strict=True):
                all_of_them[contenders] = some
            end_contest(fits)
        return fits

    def _local_model(
        self, Z: FloatArray, subset: NDArray[np.int32], optimum: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The cross-entropy over all columns near the optimum of one subset."""
        coefficients = np.zeros(Z.shape[1])
        coefficients[subset] = optimum[:-1]
        coefficients[-1] = optimum[-1]
        return coefficients, *_core.local_model(Z, self._y, self._weight, coefficients)

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
        Z: FloatArray,
        subsets: NDArray[np.int32],
        *,
        start: FloatArray | None = None,
        model: tuple[FloatArray, FloatArray, FloatArray] | None = None,
        tol: float = TOL,
        rival: float = np.inf,
        contest: bool = False,
        n_threads: int,
        checkpoint: Callable[[], None],
    ) -> Fitted:
        """Newton's method on each subset, some at a time."""
        # A fit takes some ten passes over the rows.
        operations = 10 * self._X.shape[0] * (subsets.shape[1] + 1) ** 2
        at_once = n_threads * (1 + int(OPERATIONS_AT_ONCE / operations))
        core = partial(
            _core.fit_logistic,
            Z,
            self._y,
            self._weight,
            model=model,
            max_iter=MAX_ITER,
            tol=tol,
            rival=rival,
            contest=contest,
            n_threads=n_threads,
        )

        def fit(some: slice) -> Fitted:
            checkpoint()
            return list(core(subsets[some], start=None if start is None else start[some]))

        parts = (fit(slice(i, i + at_once)) for i in range(0, len(subsets), at_once))
        return in_turn(parts, len(subsets), contest=contest)


def _pays(n_columns: int, shape: tuple[int, ...]) -> bool:
    """Whether one Hessian of all columns is cheaper than one of its own for each subset."""
    n_subsets, size = shape
    return n_subsets > 1 and n_columns**2 < n_subsets * size**2
