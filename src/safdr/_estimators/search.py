"""The search that a selector describes: screen, shrinkage, criterion, penalised choice."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from safdr._engine.annealing.functions import Evaluate
from safdr._engine.arrays import IntArray
from safdr._engine.criterion import Criterion, Ridge
from safdr._engine.fits.fits import Fitter
from safdr._engine.fits.forward import ForwardSelection
from safdr._engine.screen import Screen
from safdr._engine.screened_search import AnySearch, ScreenedSearch
from safdr._engine.search import Search
from safdr._engine.shrinkage import SMALLEST_AUTO
from safdr._estimators.custom import ModelFitter, custom_criterion, fit_model, seeded
from safdr._estimators.data import Problem
from safdr._estimators.device import device_search
from safdr._estimators.models import SeparationWarning
from safdr._estimators.options import engine_settings
from safdr._memory import check_products, fits_products
from safdr.errors import ParameterError
from safdr.result import AnnealingResult


def make_search(selector: Any, problem: Problem, seed: int, n_jobs: int = 1) -> AnySearch:
    """Return the search that a selector describes, among the columns that its screen keeps."""
    _check_signs(selector, problem)
    recipe = Recipe.make(selector, problem, seed, n_jobs)
    device = None if selector.annealing is None else selector.annealing.device
    if device is not None or hasattr(problem.X, "tensor"):
        return device_search(recipe, device)
    if not recipe.screens:
        return recipe.search_all()
    return ScreenedSearch(recipe.columns, recipe.usable, recipe.search_in, problem.allowed, seed)


def useful_criterion(selector: Any, problem: Problem) -> tuple[Criterion, IntArray]:
    """Return the criterion with the shrinkage of a fit, and the columns that it has."""
    # These are all columns; of very many, those that a subset may need.
    recipe = Recipe.make(selector, problem, 0)
    criterion = problem.column_criterion(ridge_of(selector, problem))
    columns = np.arange(problem.n_features)
    if recipe.screens:
        criterion = criterion.without(recipe.duplicates)
    if criterion.is_dense:
        return criterion, columns
    forced = columns[np.isin(problem.allowed.group_of, problem.allowed.include)]
    columns = np.union1d(np.setdiff1d(recipe.usable, criterion.redundant), forced)
    check_products(len(columns))
    return criterion.among(columns), columns


def duplicate_pairs(selector: Any, problem: Problem) -> list[tuple[int, int]]:
    """Return pairs of duplicates that a search looks for: the kept and the dropped column."""
    recipe = Recipe.make(selector, problem, 0)
    looks = recipe.screens or (selector.annealing is not None and selector.annealing.device)
    return problem.duplicates.pairs if looks and not hasattr(problem.X, "tensor") else []


@dataclass(frozen=True, eq=False, kw_only=True)
class Recipe:
    """Which columns each size is searched on, by which criteria and models."""

    problem: Any
    seed: int
    n_jobs: int
    function: Any  # a custom criterion
    estimator: Any  # a custom model
    is_auto: bool  # criterion="auto"
    wanted_ridge: Ridge
    C: float
    width: int | str | None
    settings: Any

    @classmethod
    def make(cls, selector: Any, problem: Any, seed: int, n_jobs: int = 1) -> Self:
        annealing, criterion = selector.annealing, selector.criterion
        width = "auto" if annealing is None else annealing.screen
        # The path ignores costs. With more than two classes a screen costs a little AUC.
        costs_decide = problem.cost is not None and fits_products(problem.n_features)
        many_classes = problem.n_classes > 2 and not problem.is_wide
        if width == "auto" and (costs_decide or many_classes):
            width = None
        return cls(
            problem=problem,
            seed=seed,
            n_jobs=n_jobs,
            function=criterion if callable(criterion) else None,
            estimator=selector.estimator,
            is_auto=isinstance(criterion, str) and criterion == "auto",
            wanted_ridge=_wanted_ridge(selector.shrinkage),
            C=penalty_of(selector, problem),
            width=width,
            settings=engine_settings(annealing),
        )

    @property
    def screens(self) -> bool:
        """Return False for the method of the paper, and for a custom criterion by default."""
        if self.function is not None:
            return isinstance(self.width, int)
        return self.is_auto or self.width is not None or self.wanted_ridge == "auto"

    @property
    def descends(self) -> bool:
        """Return True if exchanges lower the loss of the best candidate."""
        return self.is_auto and self.problem.family is not None

    @property
    def is_least_squares(self) -> bool:
        """Return True if the criterion is the loss of the models."""
        return self.problem.is_regression and self.problem.family is None

    # ---- Columns ------------------------------------------------------------------------------

    def columns(self, size: int) -> IntArray:
        if self._screen.width(size) < self.problem.n_features:
            return self._screen.columns(size)
        return self.usable

    @property
    def usable(self) -> IntArray:
        allowed = self.problem.allowed
        kept = np.ones(allowed.n_groups, dtype=bool)
        kept[allowed.exclude] = False
        return allowed.columns_of(kept)

    @property
    def duplicates(self) -> IntArray:
        """Columns that duplicate others."""
        return np.flatnonzero(self.problem.duplicates.redundant)

    @cached_property
    def _criterion(self) -> Criterion:
        """The criterion of all columns; of a regression, before its shrinkage is reduced."""
        wanted = "auto" if self.function is not None else self.wanted_ridge
        criterion: Criterion = self.problem.column_criterion(wanted)
        return criterion

    @cached_property
    def ridge(self) -> float:
        ridge = float(self._criterion.ridge)
        if self.wanted_ridge != "auto" or not self.is_least_squares:
            return ridge
        # Precise outputs are shrunk less: s = r / (1 + r) times the unexplained share.
        shrinkage = self._screen.unexplained * ridge / (1.0 + ridge)
        return max(shrinkage / (1.0 - shrinkage), SMALLEST_AUTO)

    @cached_property
    def _screen(self) -> Screen:
        problem = self.problem
        return Screen(
            self._criterion,
            n_rows=problem.n_rows,
            constraints=problem.constraints,
            redundant=np.union1d(self.duplicates, self._criterion.redundant),
            ridge=SMALLEST_AUTO if self.is_least_squares else self._criterion.ridge,
            width=self.width,
            is_regression=self.is_least_squares,
        )

    # ---- Searches -----------------------------------------------------------------------------

    def search_in(self, columns: IntArray) -> Search:
        """Return the search among a pool of columns."""
        problem = self.problem
        everything = len(columns) == problem.n_features
        if everything and problem.is_wide:
            check_products(problem.n_features)
        among = problem if everything and not problem.is_wide else problem.columns(columns)
        if self.function is not None:
            return self._search(among, None)
        if problem.is_wide:
            criterion = among.criterion(self.ridge)
        else:
            criterion = self._criterion if everything else self._criterion.among(columns)
            if criterion.ridge != self.ridge:
                criterion = criterion.with_ridge(self.ridge)
        duplicates = np.intersect1d(columns, self.duplicates)
        criterion = criterion.without(np.searchsorted(columns, duplicates))
        return self._search(among, criterion, columns)

    def search_all(self) -> Search:
        """Return the search among all columns, without a look for duplicates."""
        if self.function is not None:
            return self._search(self.problem, None)
        return self._search(self.problem, self.problem.criterion(self.wanted_ridge))

    def _search(self, problem: Problem, criterion: Any, columns: Any = None) -> Search:
        """Return the search by a criterion among some columns; None is the custom criterion."""
        how: dict[str, Any] = {"settings": self.settings, "seed": self.seed}
        how |= {"constraints": problem.allowed, "cost": problem.cost}
        fitter = self.fitter(problem, criterion)
        if criterion is None:
            return Search(None, function=self.evaluate(problem), fitter=fitter, **how)
        how["batches"] = problem.batches()
        if not self.descends:
            return Search(criterion, fitter=fitter, **how)
        linear = fitter if self.estimator is None else problem.fitter(self.C, criterion)
        forward = self._forward(problem, linear, criterion, columns)
        default = Search(criterion, fitter=linear, descends=True, forward=forward, **how)
        if self.estimator is None:
            return default
        return Search(criterion, fitter=fitter, default=default, **how)

    def fitter(self, problem: Problem, criterion: Any = None) -> Fitter | None:
        """Return what chooses among the candidates; None if a custom criterion does."""
        if self.estimator is not None:
            return ModelFitter(self.estimator, problem, self.seed)
        return None if self.function is not None else problem.fitter(self.C, criterion)

    def evaluate(self, problem: Problem) -> Evaluate | None:
        """Return the custom criterion of column indices, with its values kept."""
        if self.function is None:
            return None
        return custom_criterion(self.function, problem, self.n_jobs)

    def _forward(
        self, problem: Problem, fitter: Any, criterion: Criterion, columns: IntArray
    ) -> ForwardSelection | None:
        """Return forward selection in a pool of columns, if features enter alone."""
        if not problem.allowed.swaps_alone:
            return None
        allowed = problem.allowed.without(criterion.redundant)
        return ForwardSelection(fitter, allowed, partial(self._places, columns))

    def _places(self, pool: IntArray, size: int) -> IntArray:
        """Return the positions of the columns of a size in a pool."""
        columns = self.columns(size)
        return np.searchsorted(pool, columns[np.isin(columns, pool)])


def ridge_of(selector: Any, problem: Problem) -> float:
    """Return the ridge of a fitted selector, or the one that its search would use."""
    shrinkage = getattr(selector, "shrinkage_", None)
    if shrinkage is None:
        return Recipe.make(selector, problem, 0).ridge
    return float(shrinkage / (1.0 - shrinkage))


def _wanted_ridge(shrinkage: Any) -> Ridge:
    """Return the ridge r of a shrinkage s = r / (1 + r)."""
    if shrinkage is None:
        return SMALLEST_AUTO
    if isinstance(shrinkage, str):
        return shrinkage
    return max(float(shrinkage) / (1.0 - float(shrinkage)), SMALLEST_AUTO)


def penalty_of(selector: Any, problem: Problem) -> float:
    return problem.default_C if selector.C is None else float(selector.C)


def _check_signs(selector: Any, problem: Any) -> None:
    """Refuse signs unless each feature has one coefficient, and that model chooses."""
    if problem.allowed.signs is None:
        return
    n = problem.outputs.shape[1] + 1 if problem.is_regression else len(problem.classes)
    if n > 2 or callable(selector.criterion) or selector.estimator is not None:
        raise ParameterError(
            "signs", "need two classes or one output, and the built-in criterion and model."
        )


# ---- The model on a subset -------------------------------------------------------------------


def model_of(
    selector: Any, problem: Problem, result: AnnealingResult, seed: int
) -> tuple[Any, bool]:
    """Return the winning fit as a model, or a fitted clone; and whether the classes separate."""
    if selector.estimator is not None or result.coefficients is None:
        return model_on(selector, problem, result.subset, seed), False
    return _linear_model(selector, problem, result.subset, result, result.best)


def model_on(selector: Any, problem: Problem, subset: IntArray, seed: int) -> Any:
    if selector.estimator is not None:
        model = seeded(selector.estimator, seed)
        return fit_model(model, problem.X[:, subset], problem.y, problem.sample_weight)
    fits = problem.fitter(penalty_of(selector, problem)).fit(subset[None])
    return _linear_model(selector, problem, subset, fits, 0)[0]


def _linear_model(
    selector: Any, problem: Problem, subset: IntArray, fits: Any, i: int
) -> tuple[Any, bool]:
    """Return fit i as a model; only the default recipe clips predictions of a regression."""
    is_auto = isinstance(selector.criterion, str) and selector.criterion == "auto"
    C = penalty_of(selector, problem)
    separated = bool(fits.separated[i])
    if not separated and not fits.converged[i]:
        warnings.warn(
            f"The fit on {len(subset)} feature(s) did not converge: rounding hides the optimum. "
            "Columns that are nearly equal, or values of very different size, are the usual "
            "reason; transform or drop them.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return problem.linear_model(subset, fits, i, C, clip=is_auto), separated


def warn_separated(size: int) -> None:
    warnings.warn(
        f"The {size} selected feature(s) separate the classes: the coefficients of a model without "
        "a penalty are not finite. Use C=1, the default, or fewer features.",
        SeparationWarning,
        stacklevel=2,
    )
