"""Forward selection on the loss of a family."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from safdr._engine.arrays import FloatArray, IntArray, RowArray
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.fits.family import Family, predictors
from safdr._engine.fits.fits import Fitter
from safdr._engine.interrupt import look_up
from safdr._engine.rows import take_columns

# Features whose models are fitted at each step: those with the largest score statistics, which
# approximate the fall of the loss.
MAX_TRIED = 32

# A feature with a residual variance below this share is collinear.
COLLINEAR = 1e-5


class _Path(NamedTuple):
    """Features in the order of their entry, and the residuals of the model on them."""

    path: IntArray
    residuals: FloatArray


class ForwardSelection:
    """Forward selection on the loss of one linear predictor, with one path for all sizes.

    Each step adds a feature that the screen keeps for the resulting size.
    """

    def __init__(
        self,
        fitter: Fitter,
        family: Family,
        X: RowArray,
        y: FloatArray,
        weight: FloatArray | None,
        allowed: AllowedSubsets,
        criterion: Any,
        columns: Callable[[int], IntArray],
    ) -> None:
        self._criterion = criterion
        self._fitter = fitter
        self._family = family
        self._X = X
        self._y = y
        weight = np.ones(len(y)) if weight is None else weight
        self._share = weight / weight.sum()
        self._allowed = allowed
        self._columns = columns
        self._path = self._with_residuals(allowed.include)

    def subset(self, size: int) -> IntArray | None:
        """Return the sorted subset of this size; None if constraints end the path before."""
        path = self._path_to(size)
        return np.sort(path[:size]) if len(self._allowed.include) <= size <= len(path) else None

    def _path_to(self, size: int) -> IntArray:
        # Threads may come here at the same time: all compute the same.
        known = self._path
        while len(known.path) < size:
            look_up()
            tried = self._promising(known)
            if not len(tried):
                break
            subsets = np.sort([[*known.path, j] for j in tried], axis=1)
            fits = self._fitter.fit(subsets, best_only=True)
            best = int(np.nanargmin(fits.losses))
            path = np.append(known.path, tried[best])
            known = _Path(path, self._residuals(subsets[best], fits, best))
        if len(known.path) > len(self._path.path):
            self._path = known
        return known.path

    def _with_residuals(self, path: IntArray) -> _Path:
        """Return a path with the residuals of the model on its features."""
        if not len(path):
            null_model = self._family.null_model(self._y, self._share)
            return _Path(path, self._weighted(np.repeat(null_model, len(self._y))))
        subset = np.sort(path)
        return _Path(path, self._residuals(subset, self._fitter.fit(subset[None]), 0))

    def _residuals(self, subset: IntArray, fits: Any, i: int) -> FloatArray:
        """Return the residuals of a model."""
        return self._weighted(predictors(fits, i, take_columns(self._X, subset)))

    def _weighted(self, eta: FloatArray) -> FloatArray:
        """Return the weighted residuals at linear predictors, with mean zero."""
        residuals = -self._share * self._family.derivatives(eta, self._y, self._share)[1]
        return residuals - self._share * residuals.sum()

    def _promising(self, known: _Path) -> IntArray:
        """Return the candidates for the next step."""
        path = known.path
        free = np.intersect1d(self._allowed.free, self._columns(len(path) + 1))
        free = np.setdiff1d(free, path)
        if self._allowed.conflicts is not None:
            free = free[~self._allowed.conflicts[path][:, free].any(axis=0)]
        own = self._own_variance(path, free)
        # Under a penalty alone, two copies of a feature would cost less than one.
        if (own > COLLINEAR).any():
            free, own = free[own > COLLINEAR], own[own > COLLINEAR]
        if len(free) <= MAX_TRIED:
            return free
        scale = np.where(self._criterion.scale == 0, 1.0, self._criterion.scale)[free]
        gradient = np.asarray(take_columns(self._X, free).T @ known.residuals).ravel() / scale
        score = gradient**2 / np.maximum(own, COLLINEAR)
        return np.sort(free[np.argsort(-score, kind="stable")[:MAX_TRIED]])

    def _own_variance(self, path: IntArray, free: IntArray) -> FloatArray:
        """Return the residual variance of features given the path, as a share."""
        members = np.concatenate([path, free])
        A, n = self._criterion.block(members), len(path)
        # Without the ridge, which even a duplicate would have for its own. The diagonal is below
        # one where a feature separates the classes, and zero where it is the label.
        variance = np.maximum(np.diag(A) - self._criterion.ridge, np.finfo(float).eps)
        among = A[:n, :n].copy()
        np.fill_diagonal(among, variance[:n] * (1.0 + np.sqrt(np.finfo(float).eps)))
        shared = A[:n, n:]
        explained = np.einsum("ij,ij->j", shared, np.linalg.solve(among, shared))
        own: FloatArray = 1.0 - explained / variance[n:]
        return own


class PlacedForward:
    """Forward selection for a search among some of the columns."""

    def __init__(self, forward: ForwardSelection, columns: IntArray) -> None:
        self._forward = forward
        self._columns = columns

    def prepare(self, size: int) -> None:
        self._forward.subset(size)

    def candidates(self, size: int, *, n_threads: int = 1) -> IntArray:
        del n_threads
        subset = self._forward.subset(size)
        if subset is None:
            return np.empty((0, size), dtype=np.int64)
        return np.searchsorted(self._columns, subset)[None]
