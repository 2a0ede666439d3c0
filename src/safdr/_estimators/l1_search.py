"""A search among the features that an L1 penalty lets in first."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from safdr._engine.arrays import IntArray
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.criterion import Criterion
from safdr._engine.l1_path import L1Path, PathCriterion
from safdr._engine.search import Search
from safdr._engine.wide.explore import whole_groups
from safdr._engine.wide.search import WorkingSetSearch, of_all_columns
from safdr.errors import ParameterError
from safdr.result import AnnealingResult

# On the criterion itself, or towards what a model of all features predicts.
PATHS = ("l1", "reference")

# Features leave the path now and then: so many steps a feature are enough.
STEPS_A_FEATURE = 8

# Makes what the path is walked on, when it is asked for; None is the criterion itself.
MakePathCriterion: TypeAlias = Callable[[], PathCriterion] | None


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
            "must be left out with {criterion}={path!r}, whose path has one subset of each size, "
            "whatever {what}. Or take another {criterion}.",
            path=plan.criterion,
            what=what,
        )


class L1Search(Search):
    """A search in which each size has the features that the path has at that size.

    The path is that of min b'·A·b / 2 - d'·b + t·|b|₁ as t falls. Where no constraint says
    otherwise, that leaves one subset a size.
    """

    def __init__(self, criterion: Criterion, *, path_on: MakePathCriterion, **how: Any) -> None:
        super().__init__(criterion, **how)
        self._path_on = path_on

    @cached_property
    def _path(self) -> L1Path:
        criterion = self._path_on() if self._path_on else self.criterion
        return L1Path(criterion, usable_columns(self._lean))

    def _constraints_for(self, size: int) -> AllowedSubsets:
        """Those that keep out what is not on the path."""
        allowed = super()._constraints_for(size)
        on_path = enough_columns(self._path, allowed, size)
        if on_path is None:
            return allowed
        return allowed.without(np.setdiff1d(np.arange(allowed.n_features), on_path))


class WideL1Search(WorkingSetSearch):
    """The same among very many columns, in a search among those that the path has at a size."""

    def __init__(self, *given: Any, path_on: MakePathCriterion, **how: Any) -> None:
        super().__init__(*given, **how)
        self._path_on = path_on

    @cached_property
    def _path(self) -> L1Path:
        usable = usable_columns(self._swaps[0].allowed)
        criterion = self._path_on() if self._path_on else self.criterion
        return L1Path(criterion, usable[self.criterion.scale[usable] > 0])

    def prepare(self, size: int) -> WideL1Search:
        """Walk as far as this size asks for."""
        self._on_path(size)
        return self

    def run(self, size: int, *, n_threads: int = 1, prove: float | None = None) -> AnnealingResult:
        """The subset of a size, and its model; there is nothing to prove."""
        self.constraints.check_size(size)
        on_path = self._on_path(size)
        if on_path is None:
            return super().run(size, n_threads=n_threads)
        return of_all_columns(self._among(on_path).run(size, n_threads=n_threads), on_path)

    def _on_path(self, size: int) -> IntArray | None:
        allowed = self._swaps[0].allowed
        return enough_columns(self._path, allowed, size) if allowed.has_size(size) else None


def usable_columns(allowed: AllowedSubsets) -> IntArray:
    """Columns of groups that may be chosen."""
    return np.flatnonzero(~np.isin(allowed.group_of, allowed.exclude))


def enough_columns(path: L1Path, allowed: AllowedSubsets, size: int) -> IntArray | None:
    """The columns with slopes when these first suffice for a size: the fewest of largest slopes.

    With those that must be in, and whole groups. None where constraints leave too little.
    """
    fixed = np.flatnonzero(np.isin(allowed.group_of, allowed.include))

    def with_fixed(columns: IntArray) -> IntArray:
        return whole_groups(allowed, np.concatenate([fixed, columns]))

    def suffice(columns: IntArray) -> bool:
        # Nothing that counts has less than a column.
        return len(columns) >= size and allowed.among(columns).has_size(size)

    for n_steps in range(1, STEPS_A_FEATURE * (size + 1) + 1):
        step = path.after(n_steps)
        if step is None:
            return None
        on_path = step.features
        if suffice(with_fixed(on_path)):
            some = (with_fixed(on_path[:n]) for n in range(len(on_path) + 1))
            return next(columns for columns in some if suffice(columns))
    return None
