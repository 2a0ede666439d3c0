"""The screen of a search: its width, its shrinkage and the duplicates that it leaves out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from safdr._engine import wide
from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.fits.forward import ForwardSelection, PlacedForward
from safdr._engine.screen import Duplicates, Screen, Width, find_duplicates
from safdr._engine.shrinkage import SMALLEST_AUTO
from safdr._estimators.parameters import AUTO
from safdr._estimators.training_data import TrainingData
from safdr._memory import fits_products

if TYPE_CHECKING:
    from safdr._estimators.plan import SearchPlan


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
        kept = np.ones(allowed.n_groups, dtype=bool)
        kept[allowed.exclude] = False
        return allowed.columns_of(kept)

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
        allowed = self.allowed.without(np.union1d(self.redundant, self._redundant))
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
            redundant=np.union1d(self.redundant, self._redundant),
            ridge=self.data.path_ridge(self._criterion.ridge),
            width=self.width,
            is_regression=self.data.is_regression,
        )

    @property
    def _redundant(self) -> IntArray:
        """Columns that the criterion finds redundant."""
        redundant = self._criterion.redundant
        return (
            redundant(self.plan.rank(self.allowed, self.cost)) if self.data.is_wide else redundant
        )
