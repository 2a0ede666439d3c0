"""The search of a plan, among the columns that a screen keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Self

import numpy as np

from safdr._engine import wide
from safdr._engine.annealing.functions import CachedFunction, Evaluate
from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.criterion import Noise
from safdr._engine.fits.forward import ForwardSelection, PlacedForward
from safdr._engine.proof.prover import Prover
from safdr._engine.screen import Duplicates, Screen, Width, find_duplicates
from safdr._engine.screened_search import AnySearch, ScreenedSearch
from safdr._engine.search import CandidateSource, Search
from safdr._engine.shrinkage import SMALLEST_AUTO
from safdr._estimators.on_device import device_search
from safdr._estimators.parameters import AUTO
from safdr._estimators.plan import SearchPlan
from safdr._estimators.plan_checks import check_signs
from safdr._estimators.training_data import TrainingData
from safdr._estimators.user_criterion import RowsObjective, as_objective
from safdr._estimators.workers import Workers
from safdr._memory import check_products, fits_products


def ridge_for_regression(ridge: float, unexplained: float) -> float:
    """Return the automatic ridge for outputs of which a model leaves a share unexplained."""
    # The shrinkage s = r / (1 + r) is multiplied: at the largest r it is close to one.
    shrinkage = unexplained * ridge / (1.0 + ridge)
    return max(shrinkage / (1.0 - shrinkage), SMALLEST_AUTO)


@dataclass(frozen=True, eq=False)
class Screening:
    """Which columns each size is searched on, and with which ridge."""

    plan: SearchPlan
    data: TrainingData
    allowed: AllowedSubsets
    cost: FloatArray | None
    width: Width

    @classmethod
    def make(
        cls,
        plan: SearchPlan,
        data: TrainingData,
        allowed: AllowedSubsets,
        cost: FloatArray | None,
    ) -> Self | None:
        """Return the screening, or None if the search is simply among all columns.

        That is the method of the paper, or a custom criterion.
        """
        width = plan.screen
        if plan.own_criterion is not None and width in (AUTO, None):
            return None
        if not plan.is_recipe and width is None and plan.ridge != AUTO:
            return None
        n_features = allowed.n_features
        # The path ignores costs.
        costs_decide = cost is not None and fits_products(n_features)
        # With more than two classes a screen saves time, but it costs a little AUC.
        if width == AUTO and (costs_decide or (data.has_many_classes and n_features <= wide.WIDE)):
            width = None
        return cls(plan, data, allowed, cost, width)

    def columns(self, size: int) -> IntArray:
        """Return the sorted columns for a size."""
        allowed = self.allowed
        if self._screen.width(size) < allowed.n_features:
            return self._screen.columns(size)
        return self.usable

    @property
    def usable(self) -> IntArray:
        """All columns but the excluded ones."""
        kept = np.ones(self.allowed.n_groups, dtype=bool)
        kept[self.allowed.exclude] = False
        return self.allowed.columns_of(kept)

    @cached_property
    def ridge(self) -> float | None:
        """Ridge of the criterion at every size; None for a custom criterion."""
        if self.plan.own_criterion is not None:
            return None
        ridge = float(self._criterion.ridge)
        if self.plan.ridge != AUTO or not self.data.is_regression:
            return ridge
        return ridge_for_regression(ridge, self._screen.unexplained)

    @cached_property
    def redundant(self) -> IntArray:
        """Columns that duplicate others."""
        return np.flatnonzero(self._duplicates.redundant)

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Pairs of duplicates: the column that stays, and the one that is left out."""
        return self._duplicates.pairs

    @cached_property
    def _duplicates(self) -> Duplicates:
        constraints = None if self.plan.constraints is None else self.allowed
        how: dict[str, Any] = {"constraints": constraints, "cost": self.cost}
        return find_duplicates(self.data.X, self.data._relative_weight, **how)

    @cached_property
    def _forward(self) -> ForwardSelection:
        allowed = self.allowed.without(self._left_out)
        data: Any = self.data
        return data.forward(float(self.plan.C), allowed, self._criterion, self.columns)

    def forward(self, columns: IntArray) -> list[PlacedForward]:
        """Return forward selection on the loss, if there is a loss and features enter alone."""
        if not (self.plan.is_recipe and self.data.has_log_loss and self.allowed.swaps_alone):
            return []
        return [PlacedForward(self._forward, columns)]

    @cached_property
    def _criterion(self) -> Any:
        """The criterion of all columns."""
        ridge = AUTO if self.plan.own_criterion is not None else self.plan.ridge
        if self.data.is_wide:
            return self.data.wide_criterion(ridge)
        return self.data.criterion(ridge, self.plan.rank(self.allowed, self.cost))

    @cached_property
    def _screen(self) -> Screen:
        return Screen(
            self._criterion,
            n_rows=self.data.n_rows,
            constraints=None if self.plan.constraints is None else self.allowed,
            redundant=self._left_out,
            ridge=self.data.path_ridge(self._criterion.ridge),
            width=self.width,
            is_regression=self.data.is_regression,
        )

    @property
    def _left_out(self) -> IntArray:
        """Duplicates, and columns that the criterion finds redundant."""
        redundant: Any = self._criterion.redundant
        if self.data.is_wide:
            redundant = redundant(self.plan.rank(self.allowed, self.cost))
        return np.union1d(self.redundant, redundant)


def make_search(
    plan: SearchPlan,
    data: TrainingData,
    allowed: AllowedSubsets,
    cost: FloatArray | None,
    seed: int,
    n_jobs: int = 1,
) -> AnySearch:
    """Return the search on usable training data, among the columns that a screen keeps."""
    if allowed.signs is not None:
        check_signs(plan, data)
    if plan.device is not None or hasattr(data.X, "tensor"):
        return device_search(plan, data, allowed, cost, seed)
    screening = Screening.make(plan, data, allowed, cost)
    if screening is None:
        return search_all(plan, data, allowed, cost, seed, n_jobs)
    # Not local functions: searches are sent to other processes.
    among = partial(_search_among, screening, seed, n_jobs)
    return ScreenedSearch(screening, among, partial(_prover, screening), allowed, seed)


def search_all(
    plan: SearchPlan,
    data: TrainingData,
    allowed: AllowedSubsets,
    cost: FloatArray | None,
    seed: int,
    n_jobs: int = 1,
    *,
    redundant: IntArray | None = None,
    also: Sequence[CandidateSource] = (),
) -> Search:
    """Return the search among all columns of the data; `redundant` ones are duplicates."""
    how: dict[str, Any] = {"seed": seed, "constraints": allowed, "cost": cost}
    settings, function = plan.settings(), _function(plan, data, seed, n_jobs)
    if function is not None:
        fitter = plan.fitter(data, None, seed)
        return Search(None, settings=settings, fitter=fitter, function=function, **how)
    criterion, noise = _criterion(plan, data, allowed, cost, redundant)
    fitter = plan.fitter(data, criterion, seed)
    if not (plan.is_recipe and data.has_log_loss):
        return Search(criterion, settings=settings, noise=noise, fitter=fitter, **how)
    # Half of the replicas for each criterion, so that it takes no longer.
    first, second = settings.halves()
    plan = replace(plan, ridge=criterion.ridge)
    log_loss, its_noise = _criterion(plan, data.linearised(), allowed, cost, redundant)
    other = Search(log_loss, settings=second, noise=its_noise, **how)
    how |= {"fitter": fitter, "also": [other, *also]}
    return Search(criterion, settings=first, noise=noise, **how)


def _search_among(screening: Screening, seed: int, n_jobs: int, columns: IntArray) -> Search:
    """Return the search among some of the columns."""
    plan, data, allowed, cost = screening.plan, screening.data, screening.allowed, screening.cost
    everything = len(columns) == allowed.n_features
    if everything and data.is_wide:
        check_products(allowed.n_features)
    some = data if everything and not data.is_wide else data.columns(columns)
    if screening.ridge is not None:
        plan = replace(plan, ridge=screening.ridge)
    how: dict[str, Any] = {"also": screening.forward(columns)}
    if everything:
        how["redundant"] = screening.redundant
        return search_all(plan, some, allowed, cost, seed, n_jobs, **how)
    its_cost = None if cost is None else cost[columns]
    duplicates = np.intersect1d(columns, screening.redundant)
    how["redundant"] = np.searchsorted(columns, duplicates)
    return search_all(plan, some, allowed.among(columns), its_cost, seed, n_jobs, **how)


def _prover(screening: Screening, ridge: float) -> Prover:
    """Return the prover over all columns."""
    plan, allowed, cost = replace(screening.plan, ridge=ridge), screening.allowed, screening.cost
    criterion, _ = _criterion(plan, screening.data, allowed, cost, screening.redundant)
    return Prover(criterion, allowed, cost)


def _criterion(
    plan: SearchPlan,
    rows: TrainingData,
    allowed: AllowedSubsets,
    cost: FloatArray | None,
    redundant: IntArray | None,
) -> tuple[Any, Noise]:
    """Return the criterion of some rows, and its batches."""
    criterion = rows.criterion(plan.ridge, plan.rank(allowed, cost))
    if redundant is not None and len(redundant):
        redundant = np.union1d(criterion.redundant, redundant)
        criterion = replace(criterion, redundant=redundant)
    return criterion, rows.noise(criterion)


def _function(plan: SearchPlan, data: TrainingData, seed: int, n_jobs: int) -> Evaluate | None:
    """Return the custom criterion, with its values kept; None for a built-in one."""
    if plan.own_criterion is None:
        return None
    function = as_objective(plan.own_criterion, seed)
    return CachedFunction(RowsObjective(function, data), Workers(n_jobs))
