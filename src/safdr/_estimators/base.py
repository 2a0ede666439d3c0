"""What all selectors share: parameters, what a fit leaves behind, predictions, what readers ask."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    MetaEstimatorMixin,
    RegressorMixin,
    clone,
)
from sklearn.feature_selection import SelectorMixin
from sklearn.metrics import get_scorer
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.constraints import AllowedSubsets
from safdr._estimators.clipping import clipped
from safdr._estimators.feature_groups import feature_groups, measure_subsets, random_subsets
from safdr._estimators.measured_data import MeasuredData
from safdr._estimators.parameters import (
    PARAMETER_OBJECTS,
    Annealing,
    AnyAnnealing,
    Constraints,
    as_float,
    check_values,
)
from safdr._estimators.plan import SearchPlan
from safdr._estimators.scoring import RocAucOfEachClass, score_by_roc_auc
from safdr._estimators.screening import make_search
from safdr._estimators.substitutes import substitutes
from safdr._estimators.training_data import ClassData, TrainingData
from safdr._estimators.validation import SeenColumns, rows_like_those_seen, warn_separated
from safdr.result import FeatureGroups

Method = TypeVar("Method", bound=Callable[..., Any])


def typed(decorator: Callable[[Any], Any]) -> Callable[[Method], Method]:
    """Let a decorator of scikit-learn's, which has no types, leave a method its own."""
    return decorator


def final_model_has(method: str) -> Callable[[Any], bool]:
    """Whether the final model has the method; the default one has them all."""

    def check(self: Any) -> bool:
        model = getattr(self, "estimator_", SearchPlan.of(self).model)
        return model is None or hasattr(model, method)

    return check


class AnnealingSelectorBase(SelectorMixin, MetaEstimatorMixin, BaseEstimator):
    """Selector and predictor at once: a subset of the features, and the model on it."""

    _task: ClassVar[type[TrainingData]]
    annealing: AnyAnnealing | None
    constraints: Constraints | None
    n_jobs: int | None
    n_features_: int
    support_: NDArray[np.bool_]

    # ---- Parameters -------------------------------------------------------------------------

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

    @classmethod
    def as_published(cls, *args: Any, **params: Any) -> Self:
        """Make a selector that uses the method of the paper.

        No screen, no shrinkage, Fisher's ratio (R² for regression), models without a penalty or a
        calibration slope, and the smallest size within one standard deviation of the best score.

        Parameters
        ----------
        *args, **params
            Parameters of the selector. They override those of the paper, except that the screen of
            `annealing` is always switched off.

        Returns
        -------
        estimator
            A new selector.

        Examples
        --------
        >>> from safdr import AnnealingSelectorCV
        >>> AnnealingSelectorCV.as_published(max_features=10).rule
        'one_sd'
        """
        published = {"criterion": cls._task.criteria[1], "ridge": 1e-6, "C": np.inf}
        if "rule" in cls._parameter_constraints:
            published["rule"] = "one_sd"
        given = params.get("annealing")
        annealing = Annealing() if given is None else clone(given)
        annealing.set_params(screen=None)
        return cls(*args, **published | params | {"annealing": annealing})

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
        values = self.get_params(deep=False)
        check_values(type(self).__name__, values, self._parameter_constraints)

    # ---- What a fit gets, and what it leaves behind -----------------------------------------

    def _given(self, plan: SearchPlan, X: Any, y: Any, sample_weight: Any, seed: int) -> Any:
        """Checked rows, or of a source a sample of those that pass by."""
        plan.check_models(self._task)
        if not plan.reads(X, y):
            return self._task.validate(self, X, y, sample_weight)
        from safdr._estimators.streamed.reading import read

        return read(self, self._task, plan, X, y, sample_weight, seed)

    def _search(
        self,
        plan: SearchPlan,
        data: TrainingData,
        allowed: AllowedSubsets,
        size: int,
        seed: int,
        n_jobs: int,
    ) -> None:
        """Search usable rows at the chosen size, and fit the final model to what was found."""
        self.__dict__.pop("streamed_", None)  # of an earlier fit
        search = make_search(plan, data, allowed, plan.cost(self), seed, n_jobs)
        seconds = None if plan.prove is None else as_float(plan.prove)
        result = search.run(size, n_threads=n_jobs, prove=seconds)
        if data.in_passes:
            from safdr._estimators.streamed.exact import settled

            result, self.streamed_ = settled(plan, data, result, allowed), data.told
        self.n_features_ = size
        own = plan.own_criterion is not None
        self.criterion_ = plan.criterion if own else data.criteria[1]
        self.C_ = as_float(plan.C)
        names = getattr(self, "feature_names_in_", None)
        self.result_ = result = result.with_names(names)
        self.proof_ = result.proof
        self.duplicates_ = search.duplicates
        self.ridge_ = None if own else result.ridge
        self.subset_: IntArray = result.subset
        self.support_ = np.zeros(data.X.shape[1], dtype=bool)
        self.support_[self.subset_] = True
        self.criterion_value_ = result.criterion_value
        self.loss_ = result.loss
        for name in ("cross_entropy_", "calibration_slope_"):
            self.__dict__.pop(name, None)  # of an earlier fit
        if result.loss_name == "cross_entropy":
            self.cross_entropy_ = result.loss
        self.estimator_, separated = plan.final_model(data, result, seed)
        if separated and plan.model is None:
            warn_separated(len(self.subset_))

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return self.support_

    def _reduce(self, X: ArrayLike) -> Any:
        """The chosen columns of X, as an array."""
        check_is_fitted(self)
        rows = rows_like_those_seen(self, X)
        limits = self.clip_limits_
        reduced = rows[:, self.subset_]
        return reduced if limits is None else clipped(reduced, limits[:, self.subset_])

    @typed(available_if(final_model_has("predict")))
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
        return feature_groups(SearchPlan.of(self), self)

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
        size = int(self.n_features_)
        return random_subsets(SearchPlan.of(self), self, size, n, random_state)

    def measure_subsets(
        self,
        X: ArrayLike,
        y: ArrayLike,
        subsets: Any,
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

        subsets : sequence of subsets
            As in `evaluate_subsets`: names, indices or masks, of any sizes.

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
        plan = SearchPlan.of_fitted(self)
        # The check of rows tells what it saw, which must not change a fitted selector.
        data, _ = plan.usable(self._task.validate(SeenColumns(), X, y, sample_weight))
        return measure_subsets(plan, self, data, subsets, n_jobs)

    def substitutes(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        n_best: int = 3,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        n_jobs: int | None = None,
        backend: Any = None,
    ) -> Any:
        """Tell what could stand in for each chosen feature, and what it would cost.

        Each chosen feature is replaced by the features that are best in its place by the criterion,
        and then left out. Held-out scores are means over the splits that `cv` makes, by `scoring`
        (of selectors that have neither: the default ones of `AnnealingSelectorCV`), of models that
        are fitted to the training rows of each split. The subset itself was chosen on all rows, so
        the scores are too good, those of all rows of the frame alike: read the differences.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows with all features that `fit` saw.

        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their labels, or measured outputs.

        n_best : int, default=3
            Number of replacements for each feature. Those that constraints rule out, or that are
            collinear with the other features, are none, nor those with which a coefficient would
            have another sign than it must; a group is replaced as a whole, by what
            counts the same.

        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        groups : array-like of shape (n_samples,), default=None
            Row groups, for `cv`.

        n_jobs : int, default=None
            Number of splits that are worked on at the same time, and of threads.

        backend : {"pandas", "polars", "pyarrow", "dict"}, default=None
            Kind of the frame; None is that of `X`, or pandas; "dict" is a dict of its columns.

        Returns
        -------
        DataFrame
            One row a variant: `chosen` and `replacement` (None where the feature is left out);
            `allowed`, False where constraints forbid to leave it out, those on signs too;
            `criterion_value`, `loss` (as `loss_`) and the mean held-out `score`, each with its
            difference to the chosen subset (`criterion_value_difference` and so on), and
            `score_difference_std` over the splits.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from safdr import AnnealingSelector
        >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
        >>> selector = AnnealingSelector(3, random_state=0).fit(X, y)
        >>> frame = selector.substitutes(X, y, n_best=1)
        >>> for row in frame[["chosen", "replacement", "score_difference"]].values[::2]:
        ...     print("{} by {}: {:.4f}".format(*row))
        worst radius by mean radius: -0.0021
        worst texture by mean texture: 0.0025
        worst concave points by worst concavity: -0.0019
        """
        check_is_fitted(self)
        return substitutes(
            self,
            X,
            y,
            n_best=n_best,
            sample_weight=sample_weight,
            groups=groups,
            n_jobs=n_jobs,
            backend=backend,
        )

    # ---- Scores -----------------------------------------------------------------------------

    def _default_scoring(self) -> str:
        return self._task.default_scoring(len(getattr(self, "classes_", ())))

    def _scorer(self) -> Callable[..., float]:
        given = getattr(self, "scoring", None)
        scoring = self._default_scoring() if given is None else given
        scorer: Callable[..., float] = get_scorer(scoring)
        return scorer

    def _fold_scorer(self) -> Callable[..., float]:
        """The scorer, in a form that is quick for the model that folds usually have."""
        if getattr(self, "scoring", None) is None and SearchPlan.of(self).model is None:
            if self._default_scoring() == "roc_auc":
                return score_by_roc_auc
            if self._default_scoring() == "roc_auc_ovr":
                return RocAucOfEachClass()
        return self._scorer()

    def _route(
        self, sample_weight: ArrayLike | None, params: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """What goes to the splitter and to the scorer."""
        return params, {}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        return tags


class ClassSelectorBase(ClassifierMixin, AnnealingSelectorBase):
    """A selector whose target are labels."""

    _task = ClassData
    classes_: NDArray[Any]

    @typed(available_if(final_model_has("predict_proba")))
    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Predict the probability of each class from the chosen features.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows with all features that `fit` saw.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, in the order of `classes_`.
        """
        reduced = self._reduce(X)
        return self.estimator_.predict_proba(reduced)

    @typed(available_if(final_model_has("predict_log_proba")))
    def predict_log_proba(self, X: ArrayLike) -> FloatArray:
        """Predict the logarithm of the probability of each class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows with all features that `fit` saw.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Log-probabilities, in the order of `classes_`.
        """
        reduced = self._reduce(X)
        return self.estimator_.predict_log_proba(reduced)

    @typed(available_if(final_model_has("decision_function")))
    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Score each row: above zero means the second of two `classes_`, else the largest wins.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows with all features that `fit` saw.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For the default model of two classes the log-odds.
        """
        reduced = self._reduce(X)
        return self.estimator_.decision_function(reduced)

    def count_scores(self, X: Any, y: str, sample_weight: str | None = None) -> FloatArray:
        """Count rows that are not in memory by class and log-odds: all that a ROC curve needs.

        Parameters
        ----------
        X : path, Stream or other source
            Rows with all features that `fit` saw, as `fit` takes them where `y` is a name. They are
            read three times, the last two only the chosen features.

        y : str
            The column with the labels, of two classes.

        sample_weight : str, default=None
            The column with weights, by which rows are counted.

        Returns
        -------
        ndarray of shape (2, n_bins)
            Rows of each of the two `classes_` in bins of log-odds, from low to high: some 30,000,
            half of them of a single value. From so many the area under the curve is right to 1e-4.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from sklearn.datasets import load_breast_cancer
        >>> from safdr import AnnealingSelector, Stream
        >>> table = pa.Table.from_pandas(load_breast_cancer(as_frame=True).frame)
        >>> stream = Stream(lambda: table.to_batches(max_chunksize=100))
        >>> selector = AnnealingSelector(2, random_state=0).fit(stream, "target")
        >>> selector.count_scores(stream, "target").sum(axis=1).tolist()
        [212.0, 357.0]
        """
        check_is_fitted(self)
        from safdr._estimators.streamed.counting import count_scores

        return count_scores(self, X, y, sample_weight)


class RegressorSelectorBase(RegressorMixin, AnnealingSelectorBase):
    """A selector whose target was measured: one output, or several."""

    _task = MeasuredData

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
