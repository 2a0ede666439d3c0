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
from safdr._engine.wide.explore import whole_groups
from safdr._engine.wide.l1_path import L1Path
from safdr._engine.wide.search import WorkingSetSearch, of_all_columns
from safdr.errors import ParameterError
from safdr.result import AnnealingResult

# Features leave the path now and then: so many steps a feature are enough.
STEPS_A_FEATURE = 8


def off_path(plan: Any) -> dict[str, str]:
    """What is given that the path can't heed, and how to say so."""
    signs = None if plan.constraints is None else plan.constraints.signs
    given = {
        "feature_cost": (plan.feature_cost, "it costs"),
        "signs": (signs, "signs its coefficients have"),
        "prove": (plan.prove, "its value"),
    }
    return {name: what for name, (value, what) in given.items() if value is not None}


def check_path(plan: Any) -> None:
    """Refuse what the path can't heed, before any row is read."""
    for name, what in off_path(plan).items():
        raise ParameterError(
            name,
            "must be left out with {criterion}='l1', whose path has one subset of each size, "
            "whatever {what}. Or take another {criterion}.",
            what=what,
        )


class L1Search(Search):
    """A search in which each size has the features that the path has at that size.

    The path is that of min b'·A·b / 2 - d'·b + t·|b|₁ as t falls, on the same A and d that the
    replicas climb on elsewhere. Where no constraint says otherwise, that leaves one subset a size.
    """

    # The longest path so far, and how many steps it was to have: a shorter one is its beginning.
    _longest: tuple[int, FloatArray] | None = None

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
        """Slopes of all features, step by step, as far as this size asks for."""
        n_steps = STEPS_A_FEATURE * (size + 1)
        # Threads may come here at the same time, and find the same.
        known = self._longest
        if known is None or known[0] < n_steps:
            known = self._longest = (n_steps, self._walk(n_steps))
        # The first column is before any step. Other sizes must not decide where it ends.
        return known[1][:, : n_steps + 1]

    def _walk(self, n_steps: int) -> FloatArray:
        """The path on features that may be chosen."""
        usable = usable_columns(self._lean)
        how: dict[str, Any] = {"n_samples": 1, "max_iter": n_steps, "method": "lasso"}
        with warnings.catch_warnings():
            # Where features say the same it ends early, and what it has will do.
            warnings.simplefilter("ignore")
            gram = self.criterion.A[np.ix_(usable, usable)]
            slopes = lars_path_gram(self.criterion.D[usable, 0], gram, **how)[2]
        path = np.zeros((self.criterion.n_features, slopes.shape[1]))
        path[usable] = slopes
        return path


class WideL1Search(WorkingSetSearch):
    """The same among very many columns: those on the path so far have the path of all of them."""

    def prepare(self, size: int) -> WideL1Search:
        """Walk as far as this size asks for."""
        if self.is_large(size):
            super().prepare(size)
        else:
            self._working_set(size)
        return self

    def run(self, size: int, *, n_threads: int = 1, prove: float | None = None) -> AnnealingResult:
        """The subset of a size, and its model; there is nothing to prove."""
        self.constraints.check_size(size)
        if self.is_large(size):
            return super().run(size, n_threads=n_threads)
        working = self._working_set(size)
        return of_all_columns(self._among(working).run(size, n_threads=n_threads), working)

    def _working_set(self, size: int) -> IntArray:
        """Columns that the path has had when it has enough for this size."""
        allowed = self._swaps[0].allowed
        working = fixed = np.flatnonzero(np.isin(allowed.group_of, allowed.include))
        for n_steps in range(1, STEPS_A_FEATURE * (size + 1) + 1):
            on_path = self._path.columns_after(n_steps)
            if on_path is None:
                break
            now = whole_groups(allowed, np.union1d(fixed, on_path))
            # Also those that have gone out again: without them others would have come in.
            working = np.union1d(working, now)
            if allowed.among(now).has_size(size):
                return working
        # Constraints leave too little of it: whatever is allowed comes in besides.
        allowed = allowed if allowed.has_size(size) else self.constraints
        some = allowed.random(size, 1, np.random.default_rng([self.seed, size]))[0]
        return np.union1d(working, allowed.columns_of(some))

    @cached_property
    def _path(self) -> L1Path:
        usable = usable_columns(self._swaps[0].allowed)
        criterion = self._swaps[0].criterion
        return L1Path(criterion, usable[criterion.scale[usable] > 0])


def usable_columns(allowed: AllowedSubsets) -> IntArray:
    """Columns of groups that may be chosen."""
    return np.flatnonzero(~np.isin(allowed.group_of, allowed.exclude))
