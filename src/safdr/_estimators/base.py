"""What all selectors have in common: from parameters and rows to a search, from it to a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from safdr._engine.annealing.cached_function import CachedObjective
from safdr._engine.annealing.function_chains import Evaluate
from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.fits.fits import Fitter
from safdr._engine.search import Search
from safdr._estimators.feature_groups import feature_groups, measure_subsets, random_subsets
from safdr._estimators.feature_names import FeatureSpec
from safdr._estimators.orphans import watched
from safdr._estimators.parameters import (
    LARGEST_COST,
    PARAMETER_OBJECTS,
    Annealing,
    Constraints,
    check_parameters,
    settings_of,
)
from safdr._estimators.training_data import Rows
from safdr._estimators.user_criterion import (
    CrossValidatedScore,
    RowsObjective,
    as_objective,
    fit_weighted,
    model_of,
    seeded,
)
from safdr._estimators.user_model import ModelPick
from safdr._estimators.validation import warn_if_separated, warn_if_unfinished
from safdr.errors import Columns, ParameterError
from safdr.result import AnnealingResult, FeatureGroups

# Seconds of work from which on it pays to send it to other processes.
WORTH_WORKERS = 0.2


def final_model_has(method: str) -> Callable[[Any], bool]:
    """Whether the final model has the method; the default one has them all."""

    def check(self: Any) -> bool:
        model = getattr(self, "estimator_", self._model())
        return model is None or hasattr(model, method)

    return check


class AnnealingSelectorBase(SelectorMixin, MetaEstimatorMixin, BaseEstimator):
    """Selector and predictor at once: a subset of the features, and the model on it."""

    annealing: Annealing | None
    constraints: Constraints | None
    estimator: Any
    criterion: Any
    pick: str
    feature_cost: Any
    cost_strength: float
    ridge: float
    support_: NDArray[np.bool_]
    _estimator_type_words: tuple[str, str]

    # ---- What classifiers and regressors do in their own way --------------------------------

    def _validate_rows(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        """Check and translate what `fit` was given."""
        raise NotImplementedError

    def _usable(self, rows: Rows) -> Rows:
        """The rows to learn from."""
        raise NotImplementedError

    def _is_wrong_kind(self, estimator: Any) -> bool:
        """Whether an estimator predicts the other kind of target."""
        raise NotImplementedError

    def _linear_model(self, rows: Rows, coefficients: Any, intercepts: Any, n_iter: int) -> Any:
        """The default model, as scikit-learn's own."""
        raise NotImplementedError

    # ---- From parameters and rows to a search -----------------------------------------------

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of `annealing` and `constraints` too.

        Parameters
        ----------
        **params : dict
            Such as ``ridge=0.1`` or ``annealing__n_replicas=20``, which also works where
            `annealing` is None.

        Returns
        -------
        estimator
            Itself.
        """
        for name, kind in PARAMETER_OBJECTS.items():
            nested = any(key.startswith(f"{name}__") for key in params)
            if nested and params.get(name, getattr(self, name)) is None:
                params[name] = kind()
        estimator: Self = super().set_params(**params)
        return estimator

    def check_params(self) -> Self:
        """Refuse values of parameters that no rows would allow, as `fit` does before all else.

        Returns
        -------
        estimator
            Itself.

        Raises
        ------
        ParameterError
            Its `parameter` names the one that is wrong.
        """
        self._validate_params()
        return self

    def _validate_params(self) -> None:
        check_parameters(self)
        for name in PARAMETER_OBJECTS:
            if getattr(self, name) is not None:
                check_parameters(getattr(self, name))

    def _limits(self) -> Constraints:
        """The constraints as given; those that None stands for."""
        return Constraints() if self.constraints is None else self.constraints

    def _features(self) -> FeatureSpec:
        """The columns that `fit` saw."""
        names = getattr(self, "feature_names_in_", None)
        return FeatureSpec(self.n_features_in_, names, self._limits().groups)

    def _constraints(self) -> AllowedSubsets:
        """Which subsets are allowed."""
        features, limits = self._features(), self._limits()
        return AllowedSubsets.make(
            features.n_features,
            always_include=features.columns(limits.always_include, "always_include"),
            never_include=features.columns(limits.never_include, "never_include"),
            groups=features.sets(limits.groups, "groups"),
            at_most_one_of=features.sets(limits.at_most_one_of, "at_most_one_of"),
            count="groups" if limits.count_by == "group" else "columns",
            labels=features.labels,
        )

    def _total(self, constraints: AllowedSubsets) -> str:
        """How many features there are, in words."""
        total, limits = int(constraints.counts.sum()), self._limits()
        if limits.groups is None:
            return f"n_features = {total}, the number of columns of X"
        return f"{total}, the number of {limits.count_by}s"

    def _cost(self) -> FloatArray | None:
        """What each feature takes off the criterion; None if nothing."""
        if self.feature_cost is None:
            return None
        features = self._features()
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

    def _check_models(self) -> None:
        """Refuse estimators that predict the other kind of target."""
        if isinstance(self.criterion, CrossValidatedScore):
            self.criterion._validate_params()
        given = {"criterion": model_of(self.criterion), "estimator": self.estimator}
        for name, model in given.items():
            mine, other = self._estimator_type_words
            if isinstance(model, type):
                raise ParameterError(
                    name,
                    "must be a {mine}; got the class {kind}. Make one: {name}={kind}().",
                    mine=mine,
                    kind=model.__name__,
                    name=name,
                )
            if model is not None and self._is_wrong_kind(model):
                raise ParameterError(
                    name,
                    "must be a {mine}; got the {other} {model!r}.",
                    mine=mine,
                    other=other,
                    model=model,
                )

    def _model(self) -> Any:
        """The model to fit to the chosen features; None is the default one."""
        return model_of(self.criterion) if self.estimator is None else self.estimator

    def _search(
        self, rows: Rows, constraints: AllowedSubsets, seed: int, n_jobs: int = 1
    ) -> Search:
        """The search on rows that are usable."""
        cost = self._cost()
        function = self._function(rows, seed, n_jobs)
        criterion: Any = None
        noise = None
        if function is None:
            criterion = rows.criterion(float(self.ridge), constraints.rank(cost))
            noise = rows.noise(criterion)
        return Search(
            criterion,
            settings=settings_of(self.annealing),
            seed=seed,
            fitter=self._fitter(rows, criterion, seed),
            noise=noise,
            constraints=constraints,
            cost=cost,
            function=function,
        )

    def _function(self, rows: Rows, seed: int, n_jobs: int) -> Evaluate | None:
        function = as_objective(self.criterion, seed)
        if function is None:
            return None
        return CachedObjective(RowsObjective(function, rows), Workers(n_jobs))

    def _fitter(self, rows: Rows, criterion: Any, seed: int) -> Fitter | None:
        """The models that choose the winner; None where the criterion does."""
        if self.pick == "criterion":
            return None
        if self.pick == "auto" and self.estimator is not None:
            return ModelPick(self.estimator, rows, seed)
        if self.pick == "auto" and self.criterion is not None:
            return None
        return self._linear_fitter(rows, criterion)

    def _linear_fitter(self, rows: Rows, criterion: Any) -> Fitter:
        """The linear models of the task; without a criterion at hand, one is made for them."""
        if criterion is None:
            criterion = rows.criterion(float(self.ridge))
        return rows.fitter(criterion)

    # ---- From the search to a model ---------------------------------------------------------

    def _set_result(self, rows: Rows, search: Search, result: AnnealingResult) -> Self:
        """Take over what the search found, and fit the final model to it."""
        self.result_ = result
        self.subset_: IntArray = result.subset
        self.support_ = np.zeros(rows.X.shape[1], dtype=bool)
        self.support_[self.subset_] = True
        self.criterion_value_ = result.criterion_value
        self.loss_ = result.loss
        self.estimator_, separated = self._final_model(rows, search, result)
        warn_if_separated(separated and self._model() is None, result.size)
        return self

    def _final_model(self, rows: Rows, search: Search, result: AnnealingResult) -> tuple[Any, bool]:
        """The model on the chosen features, and whether they are known to separate the classes.

        It is the winning fit, or a fitted clone of the estimator.
        """
        model = self._model()
        if model is not None:
            X = rows.X[:, result.subset]
            fitted = fit_weighted(seeded(model, search.seed), X, rows.y, rows.sample_weight)
            return fitted, bool(result.separated[result.best])
        best: int = result.best
        fits: Any = result
        if result.coefficients is None:
            best, fits = 0, self._linear_fitter(rows, search.criterion).fit(result.subset[None])
        warn_if_unfinished(bool(fits.converged[best] or fits.separated[best]), result.size)
        linear = self._linear_model(
            rows,
            fits.coefficients[best, ..., : result.size],
            fits.intercepts[best],
            int(fits.n_iter[best]),
        )
        return linear, bool(fits.separated[best])

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return self.support_

    def _reduce(self, X: ArrayLike) -> Any:
        """The chosen columns of X, as an array."""
        check_is_fitted(self)
        rows: Any = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return rows[:, self.subset_]

    @available_if(final_model_has("predict"))
    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict the target of each row from the chosen features.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows with all features that `fit` saw.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Predicted labels, or predicted values.
        """
        reduced = self._reduce(X)
        return self.estimator_.predict(reduced)

    # ---- What readers ask --------------------------------------------------------------------

    @property
    def feature_groups_(self) -> FeatureGroups:
        """What counts as one feature: groups of columns, and columns of their own."""
        check_is_fitted(self)
        return feature_groups(self)

    def random_subsets(self, n: int, *, random_state: Any = None) -> list[IntArray]:
        """Draw subsets at random, of the chosen size and as the constraints allow.

        Parameters
        ----------
        n : int
            How many; a subset can come more than once.

        random_state : int, RandomState instance or None, default=None
            Source of randomness.

        Returns
        -------
        list of ndarray of int
            Sorted columns of each.
        """
        check_is_fitted(self)
        return random_subsets(self, n, random_state)

    def measure_subsets(
        self,
        X: ArrayLike,
        y: ArrayLike,
        subsets: Sequence[IntArray],
        *,
        sample_weight: ArrayLike | None = None,
        n_jobs: int | None = None,
    ) -> tuple[FloatArray, FloatArray]:
        """Measure subsets as `fit` does by default, with its ridge, class weights and cost.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with all features that `fit` saw.

        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their labels, or measured outputs.

        subsets : sequence of sequence of int
            Columns of each; they may differ in length.

        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        n_jobs : int, default=None
            Number of threads over the subsets.

        Returns
        -------
        criterion_values : ndarray of shape (n_subsets,)
            Fisher discriminant ratio of each, or R², less the cost of its features.

        losses : ndarray of shape (n_subsets,)
            Loss of the linear model on each.
        """
        check_is_fitted(self)
        return measure_subsets(self, X, y, subsets, sample_weight, n_jobs)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        return tags


class Workers:
    """Evaluates subsets, several at a time through joblib where that pays.

    Parameters
    ----------
    n_jobs : int
        How many at a time.
    """

    def __init__(self, n_jobs: int) -> None:
        self.n_jobs = n_jobs
        self._seconds = 0.0  # that one evaluation took, at the last look

    def __call__(self, objective: Any, tasks: Sequence[Any]) -> list[float]:
        """Values of the tasks, in their order."""
        first = [self._timed(objective, tasks[0])] if tasks else []
        rest = tasks[1:]
        if self.n_jobs == 1 or self._seconds * len(rest) < WORTH_WORKERS:
            return first + _values(objective, rest)
        # A few tasks at a time: the objective, with its rows, is sent along with each portion.
        portions = [rest[i :: self.n_jobs] for i in range(min(self.n_jobs, len(rest)))]
        run = Parallel(n_jobs=self.n_jobs)
        parts = run(delayed(watched(_values))(objective, portion) for portion in portions)
        values = np.empty(len(rest))
        for i, part in enumerate(parts):
            values[i :: self.n_jobs] = part
        return first + list(values.tolist())

    def _timed(self, objective: Any, task: Any) -> float:
        started = perf_counter()
        value = float(objective(*task))
        self._seconds = perf_counter() - started
        return value


def _values(objective: Any, tasks: Sequence[Any]) -> list[float]:
    return [float(objective(*task)) for task in tasks]
