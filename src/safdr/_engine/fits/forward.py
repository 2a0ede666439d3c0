"""Forward selection on the penalised loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from safdr._engine.arrays import IntArray
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.descent import Model, promising
from safdr._engine.interrupt import look_up

# Features whose models are fitted at each step: those with the largest predicted gains.
MAX_TRIED = 16

# A feature that keeps a smaller share of its curvature is collinear.
COLLINEAR = 1e-5


class _Path(NamedTuple):
    """Features in the order of their entry, and the model on them."""

    order: IntArray
    model: Model


class ForwardSelection:
    """Forward selection of single features, with one path for all sizes.

    Each step adds a feature that the screen keeps for the resulting size.
    """

    def __init__(
        self, fitter: Any, allowed: AllowedSubsets, columns: Callable[[int], IntArray]
    ) -> None:
        self._fitter = fitter
        self._allowed = allowed
        self._columns = columns
        self._path = _Path(allowed.include, self._model(np.sort(allowed.include)))

    def __call__(self, size: int) -> IntArray:
        """Return the sorted subset of this size; none if constraints end the path before."""
        order = self._path_to(size)
        found = len(self._allowed.include) <= size <= len(order)
        return np.sort(order[:size])[None] if found else np.empty((0, size), dtype=np.int64)

    def _path_to(self, size: int) -> IntArray:
        # Threads may come here at the same time: all compute the same.
        path = self._path
        while len(path.order) < size:
            look_up()
            tried = self._tried(path)
            if not len(tried):
                break
            subsets = np.sort([[*path.order, j] for j in tried], axis=1)
            fits = self._fitter.fit(subsets, best_only=True)
            best = int(np.nanargmin(fits.losses))
            model = subsets[best], fits.coefficients[best], fits.intercepts[best]
            path = _Path(np.append(path.order, tried[best]), model)
        if len(path.order) > len(self._path.order):
            self._path = path
        return path.order

    def _model(self, subset: IntArray) -> Model:
        if not len(subset):
            return subset, np.empty(0), self._fitter.null_intercept
        fits = self._fitter.fit(subset[None])
        return subset, fits.coefficients[0], fits.intercepts[0]

    def _tried(self, path: _Path) -> IntArray:
        """Return the features with the largest gains to second order."""
        allowed, members = self._allowed, path.model[0]
        usable = np.zeros(allowed.n_features, dtype=bool)
        usable[self._columns(len(members) + 1)] = True
        usable[members] = False
        free = allowed.free[usable[allowed.free]]
        if allowed.conflicts is not None:
            free = free[~allowed.conflicts[members][:, free].any(axis=0)]
        free = np.sort(promising(self._fitter, allowed, free, path.model))
        columns = np.union1d(members, free)
        near = self._fitter.near(columns, *path.model)
        inside, outside = np.searchsorted(columns, members), np.searchsorted(columns, free)
        A, D = near.A, near.D[:, 0]
        shared = A[np.ix_(inside, outside)]
        solved = np.linalg.solve(A[np.ix_(inside, inside)], np.column_stack([D[inside], shared]))
        whole = A[outside, outside]
        own = whole - np.einsum("ij,ij->j", shared, solved[:, 1:])
        gain = (D[outside] - shared.T @ solved[:, 0]) ** 2 / np.maximum(own, COLLINEAR * whole)
        # Under a penalty alone, two copies of a feature would cost less than one.
        fresh = own > (COLLINEAR * whole + near.ridge)
        if fresh.any():
            free, gain = free[fresh], gain[fresh]
        return np.sort(free[np.argsort(-gain, kind="stable")[:MAX_TRIED]])
