"""A search among the features that an L1 penalty on the criterion lets in first."""

from __future__ import annotations

import warnings
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.linear_model import lars_path_gram

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.search import Search

# Features leave the path now and then: so many steps a feature are enough.
STEPS_A_FEATURE = 8


class L1Search(Search):
    """A search in which each size has the features that the path has at that size.

    The path is that of min b'·A·b / 2 - d'·b + t·|b|₁ as t falls, on the same A and d that the
    replicas climb on elsewhere. Where no constraint says otherwise, that leaves one subset a size.
    """

    def prepare(self, size: int) -> Search:
        """Go along the path as far as this size."""
        self._path(size)
        return super().prepare(size)

    def _constraints_for(self, size: int) -> AllowedSubsets:
        """Those that keep out what is not on the path."""
        allowed = super()._constraints_for(size)
        path = self._path(size)
        for slopes in path[:, (path != 0).sum(axis=0) > 0].T:
            first = np.argsort(-np.abs(slopes), kind="stable")[: np.count_nonzero(slopes)]
            if not self._only(allowed, first).has_size(size):
                continue
            # The fewest of them that will do.
            enough = (self._only(allowed, first[:n]) for n in range(len(first) + 1))
            return next(some for some in enough if some.has_size(size))
        return allowed

    def _only(self, allowed: AllowedSubsets, columns: IntArray) -> AllowedSubsets:
        return allowed.without(np.setdiff1d(np.arange(allowed.n_features), columns))

    def _path(self, size: int) -> FloatArray:
        """Slopes of all features, step by step."""
        # Threads may come here at the same time, and find the same.
        n_steps = STEPS_A_FEATURE * (size + 1)
        known = self._paths.get(n_steps)
        if known is None:
            known = self._paths[n_steps] = self._walk(n_steps)
        return known

    @cached_property
    def _paths(self) -> dict[int, FloatArray]:
        return {}

    def _walk(self, n_steps: int) -> FloatArray:
        """The path on features that may be chosen."""
        usable = np.setdiff1d(np.arange(self.criterion.n_features), self._lean.exclude)
        how: dict[str, Any] = {"n_samples": 1, "max_iter": n_steps, "method": "lasso"}
        with warnings.catch_warnings():
            # Where features say the same it ends early, and what it has will do.
            warnings.simplefilter("ignore")
            gram = self.criterion.A[np.ix_(usable, usable)]
            slopes = lars_path_gram(self.criterion.D[usable, 0], gram, **how)[2]
        path = np.zeros((self.criterion.n_features, slopes.shape[1]))
        path[usable] = slopes
        return path
