"""The parameters of a search, for the columns at hand, and the final model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from numbers import Integral
from os import PathLike
from typing import Any, Self

import numpy as np

from safdr._engine.annealing.chains import Dynamics
from safdr._engine.annealing.loop import AnnealingSettings
from safdr._engine.annealing.population import PopulationSettings
from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.fits.fits import Fitter
from safdr._engine.search import fit_padded, padded
from safdr._estimators.clipping import clip_limits, clipped
from safdr._estimators.feature_names import FeatureSpec
from safdr._estimators.on_device import check_device
from safdr._estimators.parameters import (
    AUTO,
    LARGEST_COST,
    Annealing,
    AnyAnnealing,
    Constraints,
    PopulationAnnealing,
    as_float,
)
from safdr._estimators.training_data import TrainingData
from safdr._estimators.user_criterion import (
    CrossValidatedScore,
    fit_weighted,
    model_of,
    seeded,
)
from safdr._estimators.user_model import ModelPick
from safdr._estimators.validation import warn_unfinished
from safdr._memory import check_rivals
from safdr.errors import Columns, ParameterError
from safdr.result import AnnealingResult

# The engine's settings, whatever types of numbers were given: a small NumPy int would overflow,
# and a half-precision float spoil what it is multiplied with.
PLAIN: dict[str, Callable[[Any], Any]] = {"int": int, "float": float, "str": str}
DYNAMICS: dict[type, Any] = {
    Annealing: AnnealingSettings,
    PopulationAnnealing: PopulationSettings,
}


@dataclass(frozen=True, kw_only=True)
class SearchPlan:
    """What to search for, and how: parameters of `anneal_path` and of all selectors."""

    annealing: AnyAnnealing | None = None
    constraints: Constraints | None = None
    criterion: Any = AUTO
    estimator: Any = None
    feature_cost: Any = None
    cost_strength: float = 1.0
    class_weight: Any = None
    ridge: float | str = AUTO
    C: float = np.inf
    clip: float | None = None
    prove: float | None = None
    device: Any = None

    @classmethod
    def of(cls, selector: Any) -> Self:
        """That of a selector; those of regressors have no class weights."""
        given = selector.get_params(deep=False)
        return cls(**{field.name: given.get(field.name) for field in fields(cls)})

    @classmethod
    def of_fitted(cls, selector: Any) -> Self:
        """Return the plan of a fitted selector, with its ridge, to evaluate given subsets."""
        plan = cls.of(selector)
        return plan if selector.ridge_ is None else replace(plan, ridge=selector.ridge_)

    @property
    def own_criterion(self) -> Any:
        """The user's criterion; None where it is one of ours."""
        return None if isinstance(self.criterion, str) else self.criterion

    @property
    def is_recipe(self) -> bool:
        """Return True unless the user gave a criterion."""
        return isinstance(self.criterion, str) and self.criterion == AUTO

    @property
    def screen(self) -> int | str | None:
        """Return how many features are annealed."""
        return AUTO if self.annealing is None else self.annealing.screen

    @property
    def only_ours(self) -> bool:
        """Whether all that is fitted is ours, which releases the GIL: threads serve it."""
        return self.own_criterion is None and self.estimator is None

    def usable(self, data: TrainingData) -> tuple[Any, FloatArray | None]:
        """Rows to learn from, and between what their values count, if not all do."""
        found = data.usable(self.class_weight)
        if self.clip is None:
            return found, None
        limits = clip_limits(found.X, as_float(self.clip), found.sample_weight)
        return replace(found, X=clipped(found.X, limits)), limits

    # ---- What is given, for the columns at hand ---------------------------------------------

    @property
    def groups(self) -> Any:
        """Features that enter together, as given."""
        return None if self.constraints is None else self.constraints.groups

    def features(self, seen: Any) -> FeatureSpec:
        """The columns that an estimator saw, to be found by name."""
        names = getattr(seen, "feature_names_in_", None)
        return FeatureSpec(seen.n_features_in_, names, self.groups)

    def allowed(self, seen: Any) -> AllowedSubsets:
        """Which subsets of the columns that an estimator saw are allowed."""
        if self.constraints is None:
            return AllowedSubsets.without_limits(seen.n_features_in_)
        if self.constraints.at_most_one_of is not None:
            check_rivals(seen.n_features_in_)
        return self.features(seen).allowed(self.constraints)

    def size(self, allowed: AllowedSubsets, wanted: Any) -> int:
        """The number of features to choose: as told, a share of all, or by default half."""
        total = allowed.n_groups
        if wanted is None:
            half = max(1, total // 2)
            return min(allowed.sizes(), key=lambda size: abs(size - half), default=half)
        if not isinstance(wanted, Integral):
            wanted = max(1, int(float(wanted) * total))
        if wanted > total:
            raise ParameterError(
                "n_features_to_select",
                "must be at most {total}; got {wanted}.",
                total=self.total(allowed),
                wanted=wanted,
            )
        allowed.check_size(int(wanted))
        return int(wanted)

    def total(self, allowed: AllowedSubsets) -> str:
        """How many features there are, in words."""
        total = allowed.n_groups
        if self.constraints is None or self.groups is None:
            return f"n_features = {total}, the number of columns of X"
        return f"{total}, the number of {self.constraints.count_by}s"

    def cost(self, seen: Any) -> FloatArray | None:
        """What each feature takes off the criterion; None if nothing."""
        if self.feature_cost is None:
            return None
        features = self.features(seen)
        cost = features.numbers(self.feature_cost, "feature_cost")
        strength = float(self.cost_strength)
        largest = int(np.argmax(np.abs(cost)))
        if abs(cost[largest]) > LARGEST_COST / max(strength, 1.0):
            raise ParameterError(
                "feature_cost",
                "times {cost_strength} must be at most {most:.0e} in size, or nothing is left of "
                "the criterion beside it; got {cost:.3g} times {strength:.3g} for {column}. To "
                "keep a feature out, there is {never_include}; to keep it in, {always_include}.",
                most=LARGEST_COST,
                cost=cost[largest],
                strength=strength,
                column=Columns([largest], features.labels),
            )
        cost = strength * cost
        return cost if cost.any() else None

    def check_models(self, task: type[TrainingData]) -> None:
        """Refuse models that predict the other kind of target."""
        if isinstance(self.criterion, CrossValidatedScore):
            self.criterion._validate_params()
        if isinstance(self.criterion, str) and self.criterion not in task.criteria:
            raise ParameterError(
                "criterion",
                "must be one of {known}, or your own, for {task}; got {given!r}.",
                known=", ".join(map(repr, task.criteria)),
                task=task.target_word,
                given=self.criterion,
            )
        for name, model in {"criterion": self._inner_model, "estimator": self.estimator}.items():
            if isinstance(model, type):
                raise ParameterError(
                    name,
                    "must be a {mine}; got the class {kind}. Make one: {name}={kind}().",
                    mine=task.model_word,
                    kind=model.__name__,
                    name=name,
                )
            if model is not None and task.is_wrong_model(model):
                raise ParameterError(
                    name,
                    "must be a {mine}; got the {other} {model!r}.",
                    mine=task.model_word,
                    other=task.wrong_model_word,
                    model=model,
                )
        if self.device is not None:
            check_device(self)

    @staticmethod
    def reads(X: Any, y: Any) -> bool:
        """Whether rows are to be read from a source; then y is the name of a column."""
        is_source = isinstance(X, str | PathLike) or callable(X)
        return is_source or isinstance(y, str) or hasattr(X, "dask") or hasattr(X, "sample_rows")

    # ---- What a search needs ----------------------------------------------------------------

    def plain(self, data: TrainingData) -> Self:
        """Return the plan that evaluates subsets by the criterion alone, with the same models."""
        return replace(self, criterion=data.criteria[1]) if self.is_recipe else self

    def rank(self, allowed: AllowedSubsets, cost: FloatArray | None) -> FloatArray | None:
        """Without constraints and costs no column comes before another."""
        return None if self.constraints is None and cost is None else allowed.rank(cost)

    def settings(self) -> Dynamics:
        """How to anneal, in plain numbers."""
        if self.annealing is None:
            return AnnealingSettings()
        given, settings = self.annealing.get_params(), DYNAMICS[type(self.annealing)]
        kinds = {field.name: PLAIN[str(field.type)] for field in fields(settings)}
        return settings(**{name: kind(given[name]) for name, kind in kinds.items()})

    def fitter(self, data: TrainingData, criterion: Any, seed: int) -> Fitter | None:
        """The models that choose the winner; None where the criterion does."""
        if self.estimator is not None:
            return ModelPick(self.estimator, data, seed)
        if self.own_criterion is not None:
            return None
        return data.linear_fitter(float(self.C), criterion)

    # ---- The model on what was found --------------------------------------------------------

    @property
    def _inner_model(self) -> Any:
        """The model that a custom criterion scores; None for other criteria."""
        return None if self.own_criterion is None else model_of(self.own_criterion)

    @property
    def model(self) -> Any:
        """The model to fit to the chosen features; None is the linear one of the task."""
        return self._inner_model if self.estimator is None else self.estimator

    @property
    def calibrates(self) -> bool:
        """Return True if the slopes of the final model are multiplied by a calibration slope."""
        return self.is_recipe and self.model is None

    def final_model(
        self, data: TrainingData, result: AnnealingResult, seed: int
    ) -> tuple[Any, bool]:
        """The winning fit, or a fitted clone of the model; and whether the classes separate."""
        if self.model is not None:
            X, model = data.X[:, result.subset], seeded(self.model, seed)
            fitted = fit_weighted(model, X, data.y, data.sample_weight)
            return fitted, bool(result.separated[result.best])
        best: int = result.best
        fits: Any = result
        if result.coefficients is None:
            best, fits = 0, data.linear_fitter(float(self.C)).fit(result.subset[None])
        return self._linear_model(data, result.subset, fits, best)

    def linear_winner(self, data: TrainingData, result: AnnealingResult) -> tuple[Any, bool]:
        """The winning fit, which the result holds; and whether the classes separate."""
        return self._linear_model(data, result.subset, result, result.best)

    def _linear_model(
        self, data: TrainingData, subset: IntArray, fits: Any, best: int
    ) -> tuple[Any, bool]:
        size = len(subset)
        linear = self._made_model(
            data,
            subset,
            fits.coefficients[best, ..., :size],
            fits.intercepts[best],
            int(fits.n_iter[best]),
        )
        separated = bool(fits.separated[best])
        if not separated and not fits.converged[best]:
            warn_unfinished(size)
        return linear, separated

    def models(self, data: TrainingData, subsets: list[IntArray], seed: int) -> Iterator[Any]:
        """The model on each of several subsets, fitted to the same rows."""
        if self.model is not None:
            for subset in subsets:
                model = seeded(self.model, seed)
                yield fit_weighted(model, data.X[:, subset], data.y, data.sample_weight)
            return
        fitter = data.linear_fitter(float(self.C))
        fits = fit_padded(fitter, padded(subsets), best_only=False, n_threads=1)
        for i, subset in enumerate(subsets):
            slopes, intercepts = fits.coefficients[i, ..., : len(subset)], fits.intercepts[i]
            yield self._made_model(data, subset, slopes, intercepts, int(fits.n_iter[i]))

    def _made_model(self, data: TrainingData, subset: IntArray, *fit: Any) -> Any:
        """Return the fit as a model; only the recipe clips predictions of a regression."""
        slopes, intercepts, n_iter = fit
        how = (slopes, intercepts, n_iter, float(self.C))
        return data.linear_model(subset, *how, clip=self.is_recipe)
