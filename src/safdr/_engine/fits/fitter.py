"""Fitters of linear models with a family of losses."""

from __future__ import annotations

import numpy as np

from safdr import _core
from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.criterion import Criterion
from safdr._engine.fits.columns import Standardiser
from safdr._engine.fits.family import Family
from safdr._engine.fits.fits import Fits, joined
from safdr._engine.rows import materialize, take_columns
from safdr._engine.subsets import distinct

# A fit ends where its loss is certainly within this share of that without features above the
# optimum. The step that follows leaves next to nothing.
TOL = 1e-13

# Instead of none, this penalty keeps every optimum finite, in units of the loss without features:
# a slope of 100 costs 5e-7 of it.
LEAST_PENALTY = 1e-10


class LinearFitter:
    """A fitter of linear models with a loss.

    The loss includes half the penalty times the squared slopes of the standardised columns.
    Without a penalty, a model that classifies all rows right has loss 0.
    """

    def __init__(
        self,
        family: Family,
        rows: Standardiser,
        y: FloatArray,
        sample_weight: FloatArray | None,
        penalty: float = 0.0,
    ) -> None:
        self.family = family
        self.penalty = penalty
        self._rows = rows
        self._y = y
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        self._share = weight / weight.sum()
        self._null_model = family.null_model(y, self._share)
        shape = (len(y), len(self._null_model)) if len(self._null_model) > 1 else len(y)
        losses, _, _ = family.derivatives(np.broadcast_to(self._null_model, shape), y, self._share)
        self._null_loss = float(self._share @ losses)

    @property
    def loss_name(self) -> str:
        return self.family.loss_name

    @property
    def null_intercept(self) -> FloatArray:
        """Intercept of the model without features, of one output."""
        return self._null_model[0]

    @property
    def _least_penalty(self) -> float:
        return LEAST_PENALTY * self._null_loss

    def baseline(self) -> float:
        return self._null_loss

    def fit(self, subsets: IntArray, *, best_only: bool = False, n_threads: int = 1) -> Fits:
        """Fit a model to each subset; equal subsets are fitted once."""
        # With `best_only`, a fit ends early if a bound shows that another one is
        # better. It then counts as not converged.
        first, inverse = distinct(subsets)
        parts: list[Fits] = []
        for some, columns, numbered in self._rows.portions(subsets[first]):
            incumbent = min((float(part.losses.min()) for part in parts), default=np.inf)
            fits = self._fit(columns, numbered, incumbent, best_only, n_threads)
            parts.append(self._rows.undo(fits, some))
        return joined(parts).take(inverse)

    def near(
        self, columns: IntArray, subset: IntArray, coefficients: FloatArray, intercept: FloatArray
    ) -> Criterion:
        """Return the second-order model of the loss at a model, as a criterion of some columns.

        To second order, the loss of a subset lies below a constant by half of its value.
        """
        Z, places = self._rows.take(columns)
        theta = np.zeros(len(columns) + 1)
        slopes, theta[-1] = self._rows.standardised_model(subset, coefficients, intercept)
        theta[np.searchsorted(columns, subset)] = slopes
        rows = (self.family.name, Z, self._y, self._share)
        penalty = max(self.penalty, self._least_penalty)
        H, target = _core.second_order(*rows, places.astype(np.int32), theta, penalty=penalty)
        # The intercept is eliminated; rows that are all certain have no curvature.
        of_intercept = H[:-1, -1] / max(H[-1, -1], np.finfo(float).tiny)
        A = H[:-1, :-1] - np.outer(of_intercept, H[-1, :-1])
        D = target[:-1] - of_intercept * target[-1]
        return Criterion(A, D[:, None], np.ones(len(D)), penalty)

    def gradient(
        self, subset: IntArray, coefficients: FloatArray, intercept: FloatArray
    ) -> FloatArray:
        """Return the gradient of the loss for all standardised columns at a model."""
        X = self._rows.X
        eta = np.asarray(take_columns(X, subset) @ coefficients.ravel()).ravel() + intercept
        slope = self._share * self.family.derivatives(eta, self._y, self._share)[1]
        return np.asarray(materialize(X).T @ slope).ravel() / self._rows.scale

    def _fit(
        self, Z: FloatArray, subsets: IntArray, incumbent: float, best_only: bool, n_threads: int
    ) -> Fits:
        least = self._least_penalty
        theta, losses, separated, converged, left, _ = _core.fit_subsets(
            self.family.name,
            Z,
            self._y,
            self._share,
            self._null_model,
            subsets.astype(np.int32),
            penalty=max(self.penalty, least),
            tol=TOL,
            incumbent=incumbent,
            best_only=best_only,
            separable=self.penalty < least,
            n_threads=n_threads,
        )
        # Several predictors are determined up to a common offset.
        theta = theta[:, 0] if theta.shape[1] == 1 else theta - theta.mean(axis=1, keepdims=True)
        return Fits(losses, separated, converged, theta[..., :-1], theta[..., -1], left)
