"""Forward selection on the log-loss: one feature after the other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from safdr._engine.arrays import FloatArray, IntArray, RowArray
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.criterion import FisherCriterion
from safdr._engine.fits.logistic import LogisticFitter
from safdr._engine.interrupt import look_up
from safdr._engine.taken_rows import gathered

# Features that are tried at each step; of more, those that the residuals call for.
MOST_TRIED = 256

# A feature to which others leave no more of its variance than this has nothing to add.
COLLINEAR = 1e-5


class ForwardSelection:
    """The subset of each size that forward selection reaches, on rows of two classes.

    What was found is kept: sizes share it, and searches by other criteria.
    """

    def __init__(
        self,
        fitter: LogisticFitter,
        X: RowArray,
        positive: NDArray[np.bool_],
        weight: FloatArray | None,
        allowed: AllowedSubsets,
        criterion: FisherCriterion,
        path: list[int],
    ) -> None:
        self._A = criterion.A
        self._fitter = fitter
        self._X = X
        self._y = positive.astype(np.float64)
        self._weight = np.ones(len(positive)) if weight is None else weight
        self._allowed = allowed.without(criterion.redundant)
        # The caller's: it outlives this.
        self._path = path
        self._path[:] = path or allowed.include.tolist()

    def prepare(self, size: int) -> None:
        """Go as far as this size."""
        self._path_to(size)

    def candidates(self, size: int, *, n_threads: int = 1) -> IntArray:
        """The subset of this size; none where constraints end the way before."""
        del n_threads
        path = self._path_to(size)
        n_subsets = int(len(self._allowed.include) <= size <= len(path))
        return np.sort(np.array(path[:size] * n_subsets, dtype=np.int64)).reshape(n_subsets, size)

    def _path_to(self, size: int) -> list[int]:
        """Features in the order in which they come, as many as this if there are."""
        # Threads may come here at the same time: each goes its own way, and all go the same.
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
            self._path[:] = path
        return path

    def _promising(self, path: list[int]) -> IntArray:
        """Features that may come next."""
        free = np.setdiff1d(self._allowed.free, path)
        if self._allowed.conflicts is not None:
            free = free[~self._allowed.conflicts[path][:, free].any(axis=0)]
        own = free[self._own_variance(path, free) > COLLINEAR]
        # A penalty alone would like two copies better than one.
        free = own if len(own) else free
        if len(free) <= MOST_TRIED:
            return free
        residuals = self._residuals(np.sort(np.array(path, dtype=np.int64)))
        # The residuals have mean zero, so that the center of a column does not matter.
        called_for = np.asarray(gathered(self._X).T @ residuals).ravel()
        slope = np.abs(called_for / self._fitter.scale)[free]
        return np.sort(free[np.argsort(-slope, kind="stable")[:MOST_TRIED]])

    def _own_variance(self, path: list[int], free: IntArray) -> FloatArray:
        """What the features on the path leave of the variance of others, as a share."""
        # Without the ridge, which an exact copy would have for its own.
        among = self._A[path][:, path].copy()
        np.fill_diagonal(among, 1.0 + np.sqrt(np.finfo(float).eps))
        shared = self._A[path][:, free]
        own: FloatArray = 1.0 - np.einsum("ij,ij->j", shared, np.linalg.solve(among, shared))
        return own

    def _residuals(self, subset: IntArray) -> FloatArray:
        """What the model on a subset leaves unexplained in each row, by its weight."""
        if len(subset):
            fits = self._fitter.fit(subset[None])
            logits = np.asarray(self._X[:, subset] @ fits.coefficients[0]) + fits.intercepts[0]
            residuals = self._weight * (self._y - expit(logits))
        else:
            residuals = self._weight * self._y
        return residuals - self._weight * (residuals.sum() / self._weight.sum())
