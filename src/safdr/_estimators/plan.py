"""From parameters and training data to a search, and from what it found to a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from functools import partial
from numbers import Integral
from os import PathLike
from typing import Any, Self

import numpy as np

from safdr._engine import wide
from safdr._engine.annealing.cached_function import CachedFunction
from safdr._engine.annealing.chains import Dynamics
from safdr._engine.annealing.function_chains import Evaluate
from safdr._engine.annealing.group_chains import all_count_the_same
from safdr._engine.annealing.loop import AnnealingSettings
from safdr._engine.annealing.population import PopulationSettings
from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.criterion import Noise
from safdr._engine.fits.fits import Fitter
from safdr._engine.proof.prover import Prover
from safdr._engine.search import Search, fit_padded, padded
from safdr._engine.wide.group_swaps import GroupSwaps
from safdr._engine.wide.search import AnySearch, WorkingSetSearch
from safdr._engine.wide.swaps import Swaps
from safdr._estimators.clipping import clip_limits, clipped
from safdr._estimators.feature_names import FeatureSpec
from safdr._estimators.l1_search import (
    PATHS,
    L1Search,
    MakePathCriterion,
    WideL1Search,
    check_path,
    usable_columns,
)
from safdr._estimators.on_device import check_device, device_search
from safdr._estimators.parameters import (
    AUTO,
    LARGEST_COST,
    Annealing,
    AnyAnnealing,
    Constraints,
    PopulationAnnealing,
    as_float,
)
from safdr._estimators.plan_checks import check_signs
from safdr._estimators.training_data import TrainingData
from safdr._estimators.user_criterion import (
    CrossValidatedScore,
    RowsObjective,
    as_objective,
    fit_weighted,
    model_of,
    seeded,
)
from safdr._estimators.user_model import ModelPick
from safdr._estimators.validation import warn_unfinished
from safdr._estimators.workers import Workers
from safdr._memory import check_products, check_rivals
from safdr.errors import Columns, ParameterError
from safdr.result import AnnealingResult

# The engine's settings, whatever types of numbers were given: a small NumPy int would overflow,
# and a half-precision float spoil what it is multiplied with.
PLAIN: dict[str, Callable[[Any], Any]] = {"int": int, "float": float, "str": str}
DYNAMICS: dict[type, Any] = {
    Annealing: AnnealingSettings,
    PopulationAnnealing: PopulationSettings,
}

# Half of the replicas climb on Fisher's ratio, half on the log-loss, of the rows or of their ranks.
MIXTURES = ("mixed", "ranks")

# Parameters that held-out rows may choose.
STYLE = ("criterion", "ridge", "C", "pick")


@dataclass(frozen=True, kw_only=True)
class SearchPlan:
    """What to search for, and how: parameters of `anneal_path` and of all selectors."""

    annealing: AnyAnnealing | None = None
    constraints: Constraints | None = None
    criterion: Any = None
    estimator: Any = None
    pick: str = "auto"
    feature_cost: Any = None
    cost_strength: float = 1.0
    class_weight: Any = None
    ridge: float | str = 1e-6
    C: float | str = np.inf
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
        """That of a fitted selector, which has chosen what it left open."""
        return replace(cls.of(selector), **selector.style_)

    @property
    def style(self) -> dict[str, Any]:
        """What held-out rows may choose, as parameters."""
        return {name: getattr(self, name) for name in STYLE}

    @property
    def is_open(self) -> bool:
        """Whether something is left to be chosen by held-out rows before the search."""
        return AUTO in (self.C, self.criterion if isinstance(self.criterion, str) else None)

    @property
    def own_criterion(self) -> Any:
        """The user's criterion; None where it is one of ours."""
        return None if isinstance(self.criterion, str) else self.criterion

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
        total = int(allowed.counts.sum())
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
        total = int(allowed.counts.sum())
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
        if self.criterion in PATHS:
            check_path(self)
        if self.C == AUTO and not self._uses_penalty:
            raise ParameterError(
                "C",
                'must be a number where {name} is the model: "auto" chooses the penalty of the '
                "linear model, which nothing would use. Leave {C} out; or let the linear model "
                "choose the winner, with {pick}='linear'.",
                name="criterion" if self.estimator is None else "estimator",
            )

    @staticmethod
    def reads(X: Any, y: Any) -> bool:
        """Whether rows are to be read from a source; then y is the name of a column."""
        is_source = isinstance(X, str | PathLike) or callable(X)
        return is_source or isinstance(y, str) or hasattr(X, "dask") or hasattr(X, "sample_rows")

    # ---- The search -------------------------------------------------------------------------

    def search(
        self,
        data: TrainingData,
        allowed: AllowedSubsets,
        cost: FloatArray | None,
        seed: int,
        n_jobs: int = 1,
    ) -> AnySearch:
        """The search on usable training data."""
        if allowed.signs is not None:
            check_signs(self, data)
        function = self._function(data, seed, n_jobs)
        if function is not None:
            return Search(
                None,
                settings=self.settings(),
                fitter=self.fitter(data, None, seed),
                function=function,
                seed=seed,
                constraints=allowed,
                cost=cost,
            )
        if self.device is not None or hasattr(data.X, "tensor"):
            return device_search(self, data, allowed, cost, seed)
        if allowed.n_features <= wide.WIDE or not data.is_wide:
            return self.full_search(data, allowed, cost, seed)
        # Before columns are taken: the log-loss near the model of some would be another.
        self.searched(data)
        if all_count_the_same(allowed):
            return self._wide_search(data, allowed, cost, seed)
        check_products(allowed.n_features)
        in_doubles = data.columns(np.arange(allowed.n_features))
        return self.full_search(in_doubles, allowed, cost, seed)

    def _wide_search(
        self, data: TrainingData, allowed: AllowedSubsets, cost: FloatArray | None, seed: int
    ) -> WorkingSetSearch:
        """The search where there are so many columns that it works on some of them at a time."""
        rows = self.searched(data)
        # Of the working set alone an automatic ridge would be another.
        plan = replace(self, ridge=rows.wide_criterion(self.ridge).ridge)
        by = [rows, *([rows.linearised()] if self.criterion in MIXTURES else [])]
        criteria = [each.wide_criterion(plan.ridge) for each in by]
        rank = self.rank(allowed, cost)

        def among(columns: IntArray) -> Search:
            if len(columns) == allowed.n_features:
                check_products(allowed.n_features)
            of_some = None if cost is None else cost[columns]
            some = (data.columns(columns), allowed.among(columns), of_some, seed)
            return plan.full_search(*some, on_path=True)

        def prover() -> Prover:
            return Prover(plan._criterion(rows, allowed, cost)[0], allowed, cost)

        kind = Swaps if allowed.swaps_alone else GroupSwaps
        swaps = [kind(each, allowed.without(each.redundant(rank)), cost) for each in criteria]
        how: dict[str, Any] = {"constraints": allowed, "settings": self.settings(), "seed": seed}
        if self.criterion in PATHS:
            data.check_path(criteria[0], self.criterion)
            return WideL1Search(among, swaps, prover, path_on=self._path_on(data, allowed), **how)
        return WorkingSetSearch(among, swaps, prover, **how)

    def full_search(
        self,
        data: TrainingData,
        allowed: AllowedSubsets,
        cost: FloatArray | None,
        seed: int,
        *,
        on_path: bool = False,
    ) -> Search:
        """The search of all columns at once, which may all be on a path already."""
        how: dict[str, Any] = {"seed": seed, "constraints": allowed, "cost": cost}
        settings = self.settings()
        rows = self.searched(data)
        if self.criterion in PATHS:
            criterion = rows.criterion(self.ridge, self.rank(allowed, cost))
            data.check_path(criterion, self.criterion)
            how |= {"settings": settings, "fitter": self.fitter(data, criterion, seed)}
            if on_path:
                return Search(criterion, **how)
            return L1Search(criterion, path_on=self._path_on(data, allowed), **how)
        if self.criterion not in MIXTURES:
            criterion, noise = self._criterion(rows, allowed, cost)
            fitter = self.fitter(data, self._of_rows(criterion), seed)
            return Search(criterion, settings=settings, fitter=fitter, noise=noise, **how)
        # Half of the replicas for each criterion, so that it takes no longer.
        first, second = settings.halves()
        criterion, noise = self._criterion(rows.linearised(), allowed, cost)
        logistic = Search(criterion, settings=second, noise=noise, **how)
        criterion, noise = self._criterion(rows, allowed, cost)
        forward = rows.forward(self.ridge, float(self.C), allowed, criterion)
        fitter = self.fitter(data, self._of_rows(criterion), seed)
        how["also"] = [logistic, *forward]
        return Search(criterion, settings=first, fitter=fitter, noise=noise, **how)

    def _path_on(self, data: TrainingData, allowed: AllowedSubsets) -> MakePathCriterion:
        """What the path of an L1 penalty is walked on, where that is not the criterion."""
        if self.criterion == "l1":
            return None
        # What must stay out has no say in the model either.
        return partial(data.towards_reference, usable_columns(allowed))

    def _criterion(
        self, rows: TrainingData, allowed: AllowedSubsets, cost: FloatArray | None
    ) -> tuple[Any, Noise]:
        """What is maximised on some rows, and batches of them."""
        criterion = rows.criterion(self.ridge, self.rank(allowed, cost))
        return criterion, rows.noise(criterion)

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

    def searched(self, data: TrainingData) -> TrainingData:
        """The rows that replicas climb on: as they are, ranked, or with the loss made quadratic."""
        if self.criterion == "logistic":
            return data.linearised()
        return data.ranked() if self.criterion == "ranks" else data

    def _of_rows(self, criterion: Any) -> Any:
        """The criterion, where it is one of the rows as they are: models can start from it."""
        other = self.criterion in ("logistic", "ranks") or self.device is not None
        return None if other else criterion

    def _function(self, data: TrainingData, seed: int, n_jobs: int) -> Evaluate | None:
        if self.own_criterion is None:
            return None
        function = as_objective(self.own_criterion, seed)
        return CachedFunction(RowsObjective(function, data), Workers(n_jobs))

    def fitter(self, data: TrainingData, criterion: Any, seed: int) -> Fitter | None:
        """The models that choose the winner; None where the criterion does."""
        if self.pick == "criterion":
            return None
        if self.pick == "auto" and self.estimator is not None:
            return ModelPick(self.estimator, data, seed)
        if self.pick == "auto" and self.own_criterion is not None:
            return None
        C = np.inf if self.pick == "unpenalised" else float(self.C)
        return data.linear_fitter(self.ridge, C, criterion)

    # ---- The model on what was found --------------------------------------------------------

    @property
    def _inner_model(self) -> Any:
        return None if self.own_criterion is None else model_of(self.own_criterion)

    @property
    def model(self) -> Any:
        """The model to fit to the chosen features; None is the linear one of the task."""
        return self._inner_model if self.estimator is None else self.estimator

    @property
    def _uses_penalty(self) -> bool:
        """Whether a linear model is fitted: at the end, to candidates, or by forward selection."""
        forward = isinstance(self.criterion, str) and self.criterion in (AUTO, *MIXTURES)
        return self.model is None or self.pick == "linear" or forward

    def final_model(
        self, data: TrainingData, search: AnySearch, result: AnnealingResult
    ) -> tuple[Any, bool]:
        """The winning fit, or a fitted clone of the model; and whether the classes separate."""
        if self.model is not None:
            X, model = data.X[:, result.subset], seeded(self.model, search.seed)
            fitted = fit_weighted(model, X, data.y, data.sample_weight)
            return fitted, bool(result.separated[result.best])
        best: int = result.best
        fits: Any = result
        if result.coefficients is None or self.pick == "unpenalised":
            fitter = data.linear_fitter(self.ridge, float(self.C), self._of_rows(search.criterion))
            best, fits = 0, fitter.fit(result.subset[None])
        return self._linear_model(data, result.subset, fits, best)

    def linear_winner(self, data: TrainingData, result: AnnealingResult) -> tuple[Any, bool]:
        """The winning fit, which the result holds; and whether the classes separate."""
        return self._linear_model(data, result.subset, result, result.best)

    def _linear_model(
        self, data: TrainingData, subset: IntArray, fits: Any, best: int
    ) -> tuple[Any, bool]:
        size = len(subset)
        linear = data.linear_model(
            subset,
            fits.coefficients[best, ..., :size],
            fits.intercepts[best],
            int(fits.n_iter[best]),
            float(self.C),
        )
        separated = bool(fits.separated[best])
        if not separated and not fits.converged[best]:
            warn_unfinished(size)
        return linear, separated

    def models(
        self, data: TrainingData, search: AnySearch, subsets: list[IntArray]
    ) -> Iterator[Any]:
        """The model on each of several subsets, fitted to the same rows."""
        if self.model is not None:
            for subset in subsets:
                model = seeded(self.model, search.seed)
                yield fit_weighted(model, data.X[:, subset], data.y, data.sample_weight)
            return
        yield from self.linear_models(data, search, subsets)

    def linear_models(
        self, data: TrainingData, search: AnySearch, subsets: list[IntArray]
    ) -> Iterator[Any]:
        """The linear model on each of several subsets, whatever the final model is."""
        fitter = data.linear_fitter(self.ridge, float(self.C), self._of_rows(search.criterion))
        fits = fit_padded(fitter, padded(subsets), best_only=False, n_threads=1)
        for i, subset in enumerate(subsets):
            slopes, intercepts = fits.coefficients[i, ..., : len(subset)], fits.intercepts[i]
            yield data.linear_model(subset, slopes, intercepts, int(fits.n_iter[i]), float(self.C))
