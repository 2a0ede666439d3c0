"""Selectors that select the number of features by cross-validation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from numbers import Integral
from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.metrics import get_scorer
from sklearn.model_selection import GroupKFold
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _raise_for_params,
    _routing_enabled,
    process_routing,
)
from sklearn.utils.validation import check_is_fitted

from safdr._estimators.base import (
    AnnealingSelectorBase,
    ClassSelectorBase,
    RegressorSelectorBase,
    typed,
)
from safdr._estimators.cross_validation import RULES, calibrates, cross_validate, sizes_to_try
from safdr._estimators.inputs import read_problem, seed_from, target_values
from safdr._estimators.options import (
    AT_LEAST_ONE,
    CLASS_PARAMETERS,
    REGRESSOR_PARAMETERS,
    AnyAnnealing,
    Constraints,
)

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # before scikit-learn 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        pass

    def with_callbacks(method: Any) -> Any:
        return method


CV_PARAMETERS: dict[str, Any] = {
    "sizes": [AT_LEAST_ONE, "array-like"],
    "cv": ["cv_object"],
    "scoring": [None, str, callable],
    "rule": [StrOptions(set(RULES)), callable],
}


class _CrossValidatedSelector(CallbackSupportMixin, AnnealingSelectorBase):
    sizes: int | Sequence[int]
    cv: Any
    scoring: str | Callable[..., float] | None
    rule: str | Callable[[dict[str, Any]], int]
    random_state: Any

    @typed(with_callbacks)
    @typed(_fit_context(prefer_skip_nested_validation=False))
    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, **params: Any
    ) -> Self:
        """Select the number of features, then the features, and fit the model on them.

        Parameters
        ----------
        X, y
            Training rows, as in `AnnealingSelector.fit`.

        sample_weight : array-like of shape (n_samples,) or str, default=None
            Weights, as in `AnnealingSelector.fit`. The scorer gets them by metadata routing only.

        **params : dict
            `groups`: rows of one group are never split between training and test; they need no
            request. With metadata routing, parameters of the splitter and the scorer.

        Returns
        -------
        self
            The fitted selector.
        """
        split_params, score_params = self._route(sample_weight, params)
        seed = seed_from(self.random_state)
        problem = read_problem(self, X, y, sample_weight, seed)
        weighted = problem.usable()  # rows of weight zero may be in test folds
        if self.scoring is None:
            score_params = problem.score_params | score_params
        folds = problem.folds(self.cv, seed, split_params, score_params)
        sizes = sizes_to_try(self.sizes, problem.allowed)
        with self._progress(len(folds) * len(sizes) + 1) as report:
            scores = cross_validate(
                self, problem, folds, sizes, seed, n_jobs=self.n_jobs, report=report
            )
            self._fit_size(weighted, scores.size, seed)
            report("refit")
        self.cv_results_ = scores.table
        self.n_splits_ = len(folds)
        self.scorer_ = self._scorer()
        self.calibration_slope_ = 1.0
        if calibrates(self):
            self.calibration_slope_ = scores.slope(weighted)
            rows, weight = weighted.X[:, self.subset_], weighted.sample_weight
            self.estimator_.with_slope(self.calibration_slope_, rows, weighted.target, weight)
        self.estimator_ = weighted.refit(self.estimator_, self.subset_)
        return self

    @contextmanager
    def _progress(self, n_tasks: int) -> Iterator[Callable[[str], None]]:
        """Yield a function that reports a finished task to the callbacks of scikit-learn."""
        if not hasattr(self, "_init_callback_context"):
            yield lambda name: None
            return
        context = self._init_callback_context(max_subtasks=n_tasks)
        context.call_on_fit_task_begin(estimator=self)

        def report(name: str) -> None:
            task = context.subcontext(task_name=name)
            task.call_on_fit_task_begin(estimator=self)
            task.call_on_fit_task_end(estimator=self)

        yield report
        context.call_on_fit_task_end(estimator=self)

    def score(self, X: ArrayLike, y: ArrayLike, **score_params: Any) -> float:
        """Return the score by `scoring`: by default the area under the ROC curve, or R².

        Parameters
        ----------
        X, y
            Rows with all features of the fit, and their labels or targets, as in `fit`.

        **score_params : dict
            With metadata routing, parameters of the scorer.

        Returns
        -------
        float
        """
        _raise_for_params(score_params, self, "score")
        check_is_fitted(self)
        routed = process_routing(self, "score", **score_params).scorer.score if score_params else {}
        return float(self._scorer()(self, X, target_values(X, y), **routed))

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the metadata that the selector, its splitter and its scorer request.

        Returns
        -------
        MetadataRouter
        """
        # None and an int split by group, if there are groups.
        by_group = self.cv is None or isinstance(self.cv, Integral)
        splitter = GroupKFold() if by_group else self.cv
        to_split = MethodMapping().add(caller="fit", callee="split")
        to_score = MethodMapping().add(caller="fit", callee="score")
        to_score.add(caller="score", callee="score")
        router = MetadataRouter(owner=self).add_self_request(self)
        router.add(splitter=splitter, method_mapping=to_split)
        return router.add(scorer=self._scorer(), method_mapping=to_score)

    def _scorer(self) -> Callable[..., float]:
        scorer: Callable[..., float] = get_scorer(self.scoring or self._default_scoring())
        return scorer

    def _route(
        self, sample_weight: ArrayLike | None, params: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the parameters of the splitter and of the scorer."""
        _raise_for_params(params, self, "fit", allow=["groups"])
        if not _routing_enabled():
            return params, {}
        if sample_weight is not None:
            params = {**params, "sample_weight": sample_weight}
        routed = process_routing(self, "fit", **params)
        return routed.splitter.split, routed.scorer.score


class AnnealingSelectorCV(_CrossValidatedSelector, ClassSelectorBase):
    """Select the number of features by cross-validation, and the features by annealing.

    Each size is searched and scored on every fold, and a rule selects the size. The search of
    `AnnealingSelector` is then repeated on all rows. The coefficients of the final model are
    multiplied by the calibration slope, because a model on selected features is overconfident.

    Parameters
    ----------
    sizes : int or sequence of int, default=30
        Numbers of features to try. An int is all feasible sizes up to that number.

    cv : int, cross-validation generator or iterable, default=None
        Splits of the rows. None is 5 random stratified splits, with a quarter of the rows for
        testing. An int is the number of folds. With `groups`, None and an int split by group.

    scoring : str or callable, default=None
        Scorer of the models. None is the area under the ROC curve; with more than two classes, the
        mean of each class against the rest.

    rule : {"one_se", "one_sd", "best"} or callable, default="one_se"
        Rule that selects the size: the smallest within one standard error ("one_se") or one
        standard deviation ("one_sd", as in the paper) of the best mean score, or the best. "one_sd"
        selects fewer features. A callable gets `cv_results_` and returns an index.

    n_jobs : int, default=None
        Number of sizes that are searched at the same time. The result does not depend on it.

    criterion, estimator, shrinkage, C, constraints, feature_cost, class_weight, annealing,
    random_state
        As in `AnnealingSelector`.

    Attributes
    ----------
    cv_results_ : dict of ndarray
        One entry for each size: `n_features`, `mean_test_score`, `std_test_score`, and for each
        split i `split{i}_test_score` and `split{i}_support` (masks of the features).

    n_splits_, scorer_ : int, callable
        Number of splits, and the scorer.

    calibration_slope_ : float
        Factor on the coefficients of the final model; 1 unless `criterion` is "auto" and
        `estimator` None.

    support_, subset_, n_features_, estimator_, criterion_, criterion_value_, shrinkage_, result_, \
    duplicates_, classes_, n_features_in_, feature_names_in_
        Of the search on all rows, as in `AnnealingSelector`.

    See Also
    --------
    AnnealingSelector : Selects a given number of features.
    AnnealingRegressorSelectorCV : Selects features for continuous targets.
    sklearn.feature_selection.RFECV : Eliminates features one by one.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from safdr import AnnealingSelectorCV
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> selector = AnnealingSelectorCV(sizes=[1, 2, 5, 10], random_state=0).fit(X, y)
    >>> selector.n_features_
    2
    >>> selector.score(X, y) > 0.98
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {**CV_PARAMETERS, **CLASS_PARAMETERS}

    def __init__(
        self,
        sizes: int | Sequence[int] = 30,
        *,
        cv: Any = None,
        scoring: str | Callable[..., float] | None = None,
        rule: str | Callable[[dict[str, Any]], int] = "one_se",
        criterion: Any = "auto",
        estimator: Any = None,
        shrinkage: float | str | None = "auto",
        C: float | None = None,
        constraints: Constraints | None = None,
        feature_cost: Any = None,
        class_weight: Any = None,
        annealing: AnyAnnealing | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.sizes = sizes
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.criterion = criterion
        self.estimator = estimator
        self.shrinkage = shrinkage
        self.C = C
        self.constraints = constraints
        self.feature_cost = feature_cost
        self.class_weight = class_weight
        self.annealing = annealing
        self.n_jobs = n_jobs
        self.random_state = random_state


class AnnealingRegressorSelectorCV(_CrossValidatedSelector, RegressorSelectorBase):
    """Select the number of features for regression by cross-validation.

    As `AnnealingSelectorCV`, with the search of `AnnealingRegressorSelector`, R² as the default
    scorer (for counts and amounts the share of the deviance that is explained, with the weights of
    the rows), and splits that are not stratified.

    Parameters
    ----------
    sizes, cv, scoring, rule, n_jobs
        As in `AnnealingSelectorCV`.

    family, criterion, estimator, shrinkage, C, constraints, feature_cost, annealing, random_state
        As in `AnnealingRegressorSelector`.

    Attributes
    ----------
    cv_results_, n_splits_, scorer_, calibration_slope_
        As in `AnnealingSelectorCV`.

    support_, subset_, n_features_, estimator_, criterion_, criterion_value_, shrinkage_, result_, \
    duplicates_, n_features_in_, feature_names_in_
        Of the search on all rows, as in `AnnealingRegressorSelector`.

    See Also
    --------
    AnnealingRegressorSelector : Selects a given number of features.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from safdr import AnnealingRegressorSelectorCV
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> selector = AnnealingRegressorSelectorCV(sizes=10, random_state=0).fit(X, y)
    >>> selector.get_feature_names_out().tolist()
    ['sex', 'bmi', 'bp', 's3', 's5']
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {**CV_PARAMETERS, **REGRESSOR_PARAMETERS}

    def __init__(
        self,
        sizes: int | Sequence[int] = 30,
        *,
        cv: Any = None,
        scoring: str | Callable[..., float] | None = None,
        rule: str | Callable[[dict[str, Any]], int] = "one_se",
        family: str = "gaussian",
        criterion: Any = "auto",
        estimator: Any = None,
        shrinkage: float | str | None = "auto",
        C: float | None = None,
        constraints: Constraints | None = None,
        feature_cost: Any = None,
        annealing: AnyAnnealing | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.sizes = sizes
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.family = family
        self.criterion = criterion
        self.estimator = estimator
        self.shrinkage = shrinkage
        self.C = C
        self.constraints = constraints
        self.feature_cost = feature_cost
        self.annealing = annealing
        self.n_jobs = n_jobs
        self.random_state = random_state
