"""Forward selection on the log-loss: one feature after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from safdr._engine.arrays import FloatArray, IntArray, RowArray
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.fits.fits import Fitter
from safdr._engine.interrupt import look_up
from safdr._engine.taken_rows import gathered

# Features that are tried at each step; of more, those that the residuals call for.
MOST_TRIED = 256

# A feature to which others leave no more of its variance than this has nothing to add.
COLLINEAR = 1e-5


class ForwardSelection:
    """The subset of each size on one path of forward selection, on rows of two classes.

    Each step adds a feature that the screen keeps for the size that it leads to.
    """

    def __init__(
        self,
        fitter: Fitter,
        X: RowArray,
        positive: NDArray[np.bool_],
        weight: FloatArray | None,
        allowed: AllowedSubsets,
        criterion: Any,
        columns: Callable[[int], IntArray],
    ) -> None:
        self._criterion = criterion
        self._fitter = fitter
        self._X = X
        self._y = positive.astype(np.float64)
        self._weight = np.ones(len(positive)) if weight is None else weight
        self._allowed = allowed
        self._columns = columns
        self._path: list[int] = allowed.include.tolist()

    def subset(self, size: int) -> IntArray | None:
        """Return the sorted subset of this size; None if constraints end the path before."""
        path = self._path_to(size)
        return np.sort(path[:size]) if len(self._allowed.include) <= size <= len(path) else None

    def _path_to(self, size: int) -> list[int]:
        """Return features in the order in which they enter, up to this many."""
        # Threads may come here at the same time: all compute the same.
        path = list(self._path)
        while len(path) < size:
            look_up()
            tried = self._promising(path)
            if not len(tried):
                break
            subsets = np.sort([[*path, j] for j in tried], axis=1)
            losses = self._fitter.fit(subsets, best_only=True).losses
            path.append(int(tried[np.nanargmin(losses)]))
        if len(path) > len(self._path):
            self._path = path
        return path

    def _promising(self, path: list[int]) -> IntArray:
        """Return the features that may enter next."""
        free = np.intersect1d(self._allowed.free, self._columns(len(path) + 1))
        free = np.setdiff1d(free, path)
        if self._allowed.conflicts is not None:
            free = free[~self._allowed.conflicts[path][:, free].any(axis=0)]
        own = free[self._own_variance(path, free) > COLLINEAR]
        # A penalty alone would like two copies better than one.
        free = own if len(own) else free
        if len(free) <= MOST_TRIED:
            return free
        residuals = self._residuals(np.sort(np.array(path, dtype=np.int64)))
        # The residuals have mean zero, so that the center of a column does not matter.
        gradient = np.asarray(gathered(self._X).T @ residuals).ravel()
        slope = np.abs(gradient / np.where(self._criterion.scale == 0, 1.0, self._criterion.scale))
        return np.sort(free[np.argsort(-slope[free], kind="stable")[:MOST_TRIED]])

    def _own_variance(self, path: list[int], free: IntArray) -> FloatArray:
        """Return the share of the variance of features that those on the path leave."""
        members = np.array([*path, *free.tolist()], dtype=np.int64)
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

    def _residuals(self, subset: IntArray) -> FloatArray:
        """What the model on a subset leaves unexplained in each row, by its weight."""
        if len(subset):
            fits: Any = self._fitter.fit(subset[None])
            logits = np.asarray(self._X[:, subset] @ fits.coefficients[0]) + fits.intercepts[0]
            residuals = self._weight * (self._y - expit(logits))
        else:
            residuals = self._weight * self._y
        return residuals - self._weight * (residuals.sum() / self._weight.sum())


class PlacedForward:
    """Forward selection for a search among some of the columns."""

    def __init__(self, forward: ForwardSelection, columns: IntArray) -> None:
        self._forward = forward
        self._columns = columns

    def prepare(self, size: int) -> None:
        """Compute the path up to this size."""
        self._forward.subset(size)

    def candidates(self, size: int, *, n_threads: int = 1) -> IntArray:
        """Return the subset of this size as a row, if there is one."""
        del n_threads
        subset = self._forward.subset(size)
        if subset is None:
            return np.empty((0, size), dtype=np.int64)
        return np.searchsorted(self._columns, subset)[None]
