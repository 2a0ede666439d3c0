"""AnnealingSelectorCV: the smallest number of features that is as good as the best."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import get_scorer
from sklearn.model_selection import StratifiedShuffleSplit, check_cv
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _raise_for_params,
    _routing_enabled,
    process_routing,
)
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_method_params, check_is_fitted

from safdr.callbacks import CallbackSupportMixin, with_callbacks
from safdr.cancellation import Cancellation
from safdr.folds import Fold, FoldScore, make_fold, score_size
from safdr.moments import FloatArray, IntArray
from safdr.rules import RULES, choose_size, one_sd_threshold
from safdr.search import Search
from safdr.selector_base import AnnealingSelectorBase, final_model
from safdr.validation import ANNEALING_CONSTRAINTS, Rows, seed_from, validate_rows


class AnnealingSelectorCV(CallbackSupportMixin, AnnealingSelectorBase):
    """Choose the number of features by cross-validation, and the features by annealing (SA-FDR).

    Each size from `min_features` to `max_features` is searched on the training rows of each fold as
    `AnnealingSelector` does, and the model on the features found is scored on the test rows. A rule
    then takes the smallest size whose scores are as good as the best, and the search is repeated at
    that size on all rows.

    Parameters
    ----------
    min_features, max_features : int, default=1 and 30
        Sizes to try. A `max_features` above the number of features is lowered to that, with a
        warning.

    cv : int, cross-validation generator or iterable, default=None
        How to split the rows. None is the paper's way: 5 stratified random splits, three quarters
        of the rows for training and one quarter for testing. An int is the number of stratified
        folds.

    scoring : str or callable, default=None
        What to score the models by; None is the area under the ROC curve.

    rule : {"one_sd", "one_se", "best"} or callable, default="one_sd"
        Which size to choose:

        - "one_sd", the paper's: the smallest whose mean score is at most one standard deviation
          below the best mean. The deviation is that of the best size over the folds (with divisor
          n).
        - "one_se": the smallest whose mean difference to the best size is at most one standard
          error. The folds are shared, so the sizes are compared in pairs, on the same fold: the
          error is that of the differences (with divisor n - 1), which is much smaller than that
          of the scores. With a single split there is none, and this is "best".
        - "best": the one with the best mean score.
        - a callable gets `cv_results_` and returns the index of the size in it.

    estimator : classifier, default=None
        The model to fit to the chosen features. None is the unpenalised logistic model.

    n_replicas, sweeps, temperature_step, max_steps, tol, n_iter_no_change, n_batches, \
batch_fraction, batch_draw, moves, ridge
        How to anneal; see `AnnealingSelector`.

    n_jobs : int, default=None
        How many pairs of fold and size are searched at the same time, through joblib: in threads,
        unless a `joblib.parallel_config` says otherwise. The answer does not depend on it.

    random_state : int, RandomState instance or None, default=None
        Source of randomness. The same int gives the same answer.

    Attributes
    ----------
    n_features_ : int
        Number of features chosen.

    n_features_by_rule_ : dict
        What each built-in rule would choose.

    cv_results_ : dict of ndarray
        One entry a size: `n_features`; `mean_test_score`, `std_test_score` and
        `split{i}_test_score` for each fold; the same for `train_score` and for `cross_entropy`,
        that of the logistic model on the training rows; `split{i}_separated`, whether the features
        found separate the classes there; and `split{i}_support` of shape (n_sizes, n_features_in_),
        the masks of the features found.

    threshold_ : float or None
        The mean score that "one_sd" asked for; None with other rules.

    n_splits_ : int
        Number of folds.

    scorer_name_ : str
        What the scores are, for labels: "ROC AUC" by default.

    support_, subset_, criterion_value_, cross_entropy_, estimator_, result_, classes_, \
n_features_in_, feature_names_in_
        Of the search on all rows, as in `AnnealingSelector`.

    See Also
    --------
    AnnealingSelector : A given number of features.
    sklearn.feature_selection.RFECV : Greedy elimination with cross-validation.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from safdr import AnnealingSelectorCV
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> search = AnnealingSelectorCV(max_features=6, random_state=0).fit(X, y)
    >>> search.n_features_
    2
    >>> search.get_feature_names_out().tolist()
    ['worst area', 'worst concave points']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "min_features": [Interval(Integral, 1, None, closed="left")],
        "max_features": [Interval(Integral, 1, None, closed="left")],
        "cv": ["cv_object"],
        "scoring": [None, str, callable],
        "rule": [StrOptions(set(RULES)), callable],
        "estimator": [None, HasMethods(["fit"])],
        **ANNEALING_CONSTRAINTS,
    }

    def __init__(
        self,
        *,
        min_features: int = 1,
        max_features: int = 30,
        cv: Any = None,
        scoring: str | Callable[..., float] | None = None,
        rule: str | Callable[[dict[str, Any]], int] = "one_sd",
        estimator: Any = None,
        n_replicas: int = 50,
        sweeps: float = 0.5,
        temperature_step: float = 0.7,
        max_steps: int = 100,
        tol: float = 5e-3,
        n_iter_no_change: int = 5,
        n_batches: int = 5,
        batch_fraction: float = 0.5,
        batch_draw: str = "step",
        moves: str = "metropolis",
        ridge: float = 1e-6,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.min_features = min_features
        self.max_features = max_features
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.estimator = estimator
        self.n_replicas = n_replicas
        self.sweeps = sweeps
        self.temperature_step = temperature_step
        self.max_steps = max_steps
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.n_batches = n_batches
        self.batch_fraction = batch_fraction
        self.batch_draw = batch_draw
        self.moves = moves
        self.ridge = ridge
        self.n_jobs = n_jobs
        self.random_state = random_state

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, **params: Any
    ) -> Self:
        """Choose the number of features, then the features, and fit the model on them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows: an array or a pandas or polars data frame of finite numbers.

        y : array-like of shape (n_samples,)
            Labels of two classes, of any type.

        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row in the search and in the model. The scorer gets weights only by
            metadata routing, and then must say whether it wants them, for example
            ``scoring=get_scorer("roc_auc").set_score_request(sample_weight=True)``.

        **params : dict
            `groups` for the splitter; with metadata routing, whatever splitter and scorer request.

        Returns
        -------
        AnnealingSelectorCV
            Itself, fitted.
        """
        splitter_params, scorer_params = self._route(sample_weight, params)
        rows = validate_rows(self, X, y, sample_weight)
        usable = rows.usable()
        seed = seed_from(self.random_state)
        sizes = self._sizes(rows.X.shape[1])
        splits = self._splits(rows, seed, splitter_params)
        progress = self._init_callback_context(max_subtasks=len(splits) * len(sizes) + 1)
        progress.call_on_fit_task_begin(estimator=self)

        folds = self._folds(rows, splits, sizes, seed, scorer_params)
        scores = self._scores(folds, sizes, progress)
        self.n_splits_ = len(splits)
        self.scorer_name_ = _scorer_name(self.scoring)
        self.cv_results_ = _cv_results(sizes, scores, rows.X.shape[1])
        self._choose(np.array([[score.test_score for score in fold] for fold in scores]))

        step = progress.subcontext(task_name="refit")
        step.call_on_fit_task_begin(estimator=self)
        search = Search(
            usable.X, usable.codes, usable.sample_weight, settings=self._settings(), seed=seed
        )
        result = search.run(self.n_features_, n_threads=effective_n_jobs(self.n_jobs))
        self._set_result(usable, result)
        step.call_on_fit_task_end(estimator=self)
        progress.call_on_fit_task_end(estimator=self)
        return self

    def score(self, X: ArrayLike, y: ArrayLike, **score_params: Any) -> float:
        """Score the model on the chosen features by `scoring`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with all features that `fit` saw.

        y : array-like of shape (n_samples,)
            Their labels.

        **score_params : dict
            With metadata routing, what the scorer requests.

        Returns
        -------
        float
            The area under the ROC curve by default.
        """
        _raise_for_params(score_params, self, "score")
        check_is_fitted(self)
        routed = process_routing(self, "score", **score_params).scorer.score if score_params else {}
        return float(self._scorer()(self, X, y, **routed))

    def get_metadata_routing(self) -> MetadataRouter:
        """Tell which metadata the estimator, its splitter and its scorer want.

        Returns
        -------
        MetadataRouter
        """
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(
                splitter=self.cv if self.cv is not None else _paper_splitter(0),
                method_mapping=MethodMapping().add(caller="fit", callee="split"),
            )
            .add(
                scorer=self._scorer(),
                method_mapping=MethodMapping()
                .add(caller="fit", callee="score")
                .add(caller="score", callee="score"),
            )
        )

    def _scorer(self) -> Callable[..., float]:
        scorer: Callable[..., float] = get_scorer(
            "roc_auc" if self.scoring is None else self.scoring
        )
        return scorer

    def _splitter(self, y: NDArray[Any], seed: int) -> Any:
        return _paper_splitter(seed) if self.cv is None else check_cv(self.cv, y, classifier=True)

    def _splits(
        self, rows: Rows, seed: int, params: dict[str, Any]
    ) -> list[tuple[IntArray, IntArray]]:
        """Row numbers of each fold; training rows of weight zero count as absent."""
        if self.cv is None and len(rows.y) < 8:
            raise ValueError(
                "cv=None splits off a quarter of the rows for testing, which needs at least 8 "
                f"rows; X has {len(rows.y)}. Pass a cv, for example 2."
            )
        number = np.arange(len(rows.y))  # a cv may also give lists or masks
        splits = [
            (number[np.asarray(train)], number[np.asarray(test)])
            for train, test in self._splitter(rows.y, seed).split(rows.X, rows.y, **params)
        ]
        if not splits:
            raise ValueError(
                f"cv must give at least one split of the rows; cv={self.cv!r} gave none."
            )
        if rows.sample_weight is None:
            return splits
        return [(train[rows.sample_weight[train] > 0], test) for train, test in splits]

    def _route(
        self, sample_weight: ArrayLike | None, params: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """What goes to the splitter and to the scorer."""
        _raise_for_params(params, self, "fit", allow=["groups"])
        if not _routing_enabled():
            return params, {}
        if sample_weight is not None:
            params = {**params, "sample_weight": sample_weight}
        routed = process_routing(self, "fit", **params)
        return routed.splitter.split, routed.scorer.score

    def _sizes(self, n_features: int) -> list[int]:
        """The sizes to try."""
        if self.min_features > self.max_features:
            raise ValueError(
                f"min_features must be at most max_features = {self.max_features}; got "
                f"{self.min_features}."
            )
        if self.min_features > n_features:
            raise ValueError(
                f"min_features must be at most n_features = {n_features}, the number of columns "
                f"of X; got {self.min_features}."
            )
        if self.max_features > n_features:
            warnings.warn(
                f"max_features={self.max_features} is more than the {n_features} feature(s) of X: "
                f"sizes up to {n_features} are tried.",
                UserWarning,
                stacklevel=2,
            )
        return list(range(self.min_features, min(self.max_features, n_features) + 1))

    def _folds(
        self,
        rows: Rows,
        splits: list[tuple[IntArray, IntArray]],
        sizes: list[int],
        seed: int,
        scorer_params: dict[str, Any],
    ) -> list[Fold]:
        """The folds, with their moments."""
        return [
            make_fold(
                rows,
                number,
                train,
                test,
                size=sizes[0],
                settings=self._settings(),
                seed=seed,
                score_params={
                    "test": _check_method_params(rows.X, scorer_params, indices=test),
                    "train": _check_method_params(rows.X, scorer_params, indices=train),
                },
            )
            for number, (train, test) in enumerate(splits)
        ]

    def _scores(self, folds: list[Fold], sizes: list[int], progress: Any) -> list[list[FoldScore]]:
        """Score every size on every fold, in parallel."""
        make_model = partial(final_model, self.estimator)
        scorer = self._scorer()
        scores: list[list[FoldScore]] = [[] for _ in folds]
        with warnings.catch_warnings(), Cancellation() as cancellation:
            # A fold that can't be scored is an error, and says so.
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            tasks = (
                delayed(score_size)(fold, size, make_model, scorer, cancellation)
                for fold in folds
                for size in sizes
            )
            for number, score in enumerate(_as_they_come(tasks, self.n_jobs)):
                fold, position = divmod(number, len(sizes))
                # Told here and not by the workers, which may be anywhere.
                step = progress.subcontext(task_name=f"fold {fold}, {sizes[position]} features")
                step.call_on_fit_task_begin(estimator=self)
                step.call_on_fit_task_end(estimator=self)
                scores[fold].append(score)
        return scores

    def _choose(self, test_scores: FloatArray) -> None:
        """Apply the rules."""
        n_features = self.cv_results_["n_features"]
        self.n_features_by_rule_ = {
            name: int(n_features[choose_size(name, n_features, test_scores)]) for name in RULES
        }
        self.threshold_ = one_sd_threshold(test_scores) if self.rule == "one_sd" else None
        if isinstance(self.rule, str):
            self.n_features_ = self.n_features_by_rule_[self.rule]
            return
        index: Any = self.rule(self.cv_results_)
        if not isinstance(index, Integral) or not 0 <= int(index) < len(n_features):
            raise ValueError(
                "rule must return an index into cv_results_, an int from 0 to "
                f"{len(n_features) - 1}; got {index!r}."
            )
        self.n_features_ = int(n_features[int(index)])


def _scorer_name(scoring: Any) -> str:
    """What the scores are, for people."""
    if scoring in (None, "roc_auc"):
        return "ROC AUC"
    if isinstance(scoring, str):
        return scoring.replace("_", " ")
    function = getattr(scoring, "_score_func", scoring)  # what make_scorer wraps
    return str(getattr(function, "__name__", type(function).__name__)).replace("_", " ")


def _paper_splitter(seed: int) -> StratifiedShuffleSplit:
    """The paper's five splits, three quarters to one quarter."""
    return StratifiedShuffleSplit(n_splits=5, test_size=0.25, random_state=seed)


def _as_they_come(tasks: Iterator[Any], n_jobs: int | None) -> Iterator[Any]:
    """Results of tasks in their order, each as soon as it is there."""
    try:
        parallel = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
    except ValueError:
        # Some backends (multiprocessing, Ray) hand over everything at the end.
        parallel = Parallel(n_jobs=n_jobs, prefer="threads")
    yield from parallel(tasks)


def _cv_results(
    sizes: list[int], scores: list[list[FoldScore]], n_features: int
) -> dict[str, NDArray[Any]]:
    """Collect the scores as RFECV does."""
    results: dict[str, NDArray[Any]] = {"n_features": np.array(sizes)}
    for name in ("test_score", "train_score", "cross_entropy"):
        table = np.array([[getattr(score, name) for score in fold] for fold in scores])
        results[f"mean_{name}"] = table.mean(axis=0)
        results[f"std_{name}"] = table.std(axis=0)
        results.update({f"split{i}_{name}": row for i, row in enumerate(table)})
    for i, fold in enumerate(scores):
        results[f"split{i}_separated"] = np.array([score.separated for score in fold])
        support = np.zeros((len(sizes), n_features), dtype=bool)
        for row, score in zip(support, fold, strict=True):
            row[score.subset] = True
        results[f"split{i}_support"] = support
    return results
