"""Selectors that choose the number of features by cross-validation: parameters, fit, score."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context, is_classifier
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import get_scorer
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _raise_for_params,
    _routing_enabled,
    process_routing,
)
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_method_params, check_is_fitted

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.constraints import AllowedSubsets
from safdr._estimators.auc import score_by_roc_auc
from safdr._estimators.base import AnnealingSelectorBase
from safdr._estimators.cancellation import Cancellation
from safdr._estimators.folds import Fold, FoldScore, make_fold, score_size
from safdr._estimators.parameters import (
    SELECTOR_CONSTRAINTS,
    Annealing,
    Constraints,
    WholeNumber,
    as_int,
    is_int,
    n_workers,
    seed_from,
)
from safdr._estimators.progress import CallbackSupportMixin, with_callbacks
from safdr._estimators.rules import RULES, choose_size, deviation, one_sd_threshold
from safdr._estimators.splits import splits_of
from safdr._estimators.training_data import Rows
from safdr.errors import ParameterError

# What people call the scorers that stand for None.
SCORER_NAMES = {
    "roc_auc": "ROC AUC",
    "roc_auc_ovr": "ROC AUC, each class against the rest",
    "r2": "R²",
}

CV_CONSTRAINTS: dict[str, Any] = {
    "min_features": [WholeNumber(1)],
    "max_features": [WholeNumber(1)],
    "cv": ["cv_object"],
    "scoring": [None, str, callable],
    "rule": [StrOptions(set(RULES)), callable],
    **SELECTOR_CONSTRAINTS,
}


class CrossValidatedMixin(CallbackSupportMixin, AnnealingSelectorBase):
    """A selector that tries all sizes in a range."""

    def __init__(
        self,
        *,
        min_features: int = 1,
        max_features: int = 30,
        cv: Any = None,
        scoring: str | Callable[..., float] | None = None,
        rule: str | Callable[[dict[str, Any]], int] = "one_sd",
        annealing: Annealing | None = None,
        constraints: Constraints | None = None,
        criterion: Any = None,
        estimator: Any = None,
        pick: str = "auto",
        feature_cost: Any = None,
        cost_strength: float = 1.0,
        ridge: float = 1e-6,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.min_features = min_features
        self.max_features = max_features
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.annealing = annealing
        self.constraints = constraints
        self.criterion = criterion
        self.estimator = estimator
        self.pick = pick
        self.feature_cost = feature_cost
        self.cost_strength = cost_strength
        self.ridge = ridge
        self.n_jobs = n_jobs
        self.random_state = random_state

    _fold_hint: str

    def _default_scoring(self) -> str:
        """The scorer that stands for None."""
        raise NotImplementedError

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, **params: Any
    ) -> Self:
        """Choose the number of features, then the features, and fit the model on them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows: an array, a pandas or polars data frame or a scipy sparse matrix of
            finite numbers.

        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Labels of any type, or measured outputs.

        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row in the search and in the model: 0, which leaves it out, or at least
            1e-10 of the largest. The scorer gets weights only by
            metadata routing, and then must say whether it wants them, for example
            ``scoring=get_scorer("roc_auc").set_score_request(sample_weight=True)``.

        **params : dict
            `groups` for the splitter; with metadata routing, whatever splitter and scorer request.

        Returns
        -------
        estimator
            Itself, fitted.
        """
        splitter_params, scorer_params = self._route(sample_weight, params)
        self._check_models()
        rows = self._validate_rows(X, y, sample_weight)
        usable = self._usable(rows)
        constraints = self._constraints()
        seed = seed_from(self.random_state)
        sizes = self._sizes(constraints)
        splits = self._splits(rows, seed, splitter_params)
        progress = self._init_callback_context(max_subtasks=len(splits) * len(sizes) + 1)
        progress.call_on_fit_task_begin(estimator=self)

        folds = self._folds(rows, splits, sizes, constraints, seed, scorer_params)
        scores = self._scores(folds, sizes, progress)
        self.n_splits_ = len(splits)
        self.scorer_name_ = _scorer_name(self.scoring or self._default_scoring())
        self.cv_results_ = _cv_results(sizes, scores, rows.X.shape[1])
        self._choose(np.array([[score.test_score for score in fold] for fold in scores]))

        step = progress.subcontext(task_name="refit")
        step.call_on_fit_task_begin(estimator=self)
        n_jobs = n_workers(self.n_jobs)
        search = self._search(usable, constraints, seed, n_jobs)
        self._set_result(usable, search, search.run(self.n_features_, n_threads=n_jobs))
        step.call_on_fit_task_end(estimator=self)
        progress.call_on_fit_task_end(estimator=self)
        return self

    def score(self, X: ArrayLike, y: ArrayLike, **score_params: Any) -> float:
        """Score the model on the chosen features by `scoring`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows with all features that `fit` saw.

        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their labels, or measured outputs.

        **score_params : dict
            With metadata routing, what the scorer requests.

        Returns
        -------
        float
            By default the area under the ROC curve, or R².
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
                splitter=self.cv if self.cv is not None else self._paper_splitter(0),
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
        scoring = self._default_scoring() if self.scoring is None else self.scoring
        scorer: Callable[..., float] = get_scorer(scoring)
        return scorer

    def _fold_scorer(self) -> Callable[..., float]:
        """The scorer, in a form that is quick for the model that folds usually have."""
        by_default = self.scoring is None and self._model() is None
        if by_default and self._default_scoring() == "roc_auc":
            return score_by_roc_auc
        return self._scorer()

    def _paper_splitter(self, seed: int) -> Any:
        """The paper's five splits, three quarters to one quarter."""
        kind = StratifiedShuffleSplit if is_classifier(self) else ShuffleSplit
        return kind(n_splits=5, test_size=0.25, random_state=seed)

    def _splits(
        self, rows: Rows, seed: int, params: dict[str, Any]
    ) -> list[tuple[IntArray, IntArray]]:
        """Row numbers of each fold; training rows of weight zero count as absent."""
        if self.cv is None and len(rows.y) < 8:
            raise ValueError(
                "cv=None splits off a quarter of the rows for testing, which needs at least 8 "
                f"rows; X has {len(rows.y)}. Pass a cv, for example 2."
            )
        cv = self._paper_splitter(seed) if self.cv is None else self.cv
        splits = splits_of(cv, rows.X, rows.y, classifier=is_classifier(self), **params)
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

    def _sizes(self, constraints: AllowedSubsets) -> list[int]:
        """The sizes to try."""
        total = int(constraints.counts.sum())
        least, most = int(self.min_features), int(self.max_features)
        if least > most:
            raise ParameterError(
                "min_features",
                "must be at most {max_features} = {most}; got {least}.",
                most=most,
                least=least,
            )
        if least > total:
            raise ParameterError(
                "min_features",
                "must be at most {total}; got {least}.",
                total=self._total(constraints),
                least=least,
            )
        if most > total:
            warnings.warn(
                f"max_features={most} is more than the {total} feature(s) of X: "
                f"sizes up to {total} are tried.",
                UserWarning,
                stacklevel=2,
            )
        highest = min(most, total)
        sizes = [int(n) for n in constraints.sizes(highest) if n >= least]
        if not sizes:
            constraints.check_size(highest, "max_features")  # says what rules it out
        return sizes

    def _folds(
        self,
        rows: Rows,
        splits: list[tuple[IntArray, IntArray]],
        sizes: list[int],
        constraints: AllowedSubsets,
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
                usable=self._usable,
                make_search=lambda train_rows: self._search(train_rows, constraints, seed).prepare(
                    sizes[-1]
                ),
                hint=self._fold_hint,
                score_params={
                    "test": _check_method_params(rows.X, scorer_params, indices=test),
                    "train": _check_method_params(rows.X, scorer_params, indices=train),
                },
            )
            for number, (train, test) in enumerate(splits)
        ]

    def _scores(self, folds: list[Fold], sizes: list[int], progress: Any) -> list[list[FoldScore]]:
        """Score every size on every fold, in parallel."""
        scorer = self._fold_scorer()
        scores: list[list[FoldScore]] = [[] for _ in folds]
        with warnings.catch_warnings(), Cancellation() as cancellation:
            # A fold that can't be scored is an error, and says so.
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            tasks = (
                delayed(score_size)(fold, size, self._final_model, scorer, cancellation)
                for fold in folds
                for size in sizes
            )
            for number, score in enumerate(self._as_they_come(tasks)):
                fold, position = divmod(number, len(sizes))
                # Told here and not by the workers, which may be anywhere.
                step = progress.subcontext(task_name=f"fold {fold}, {sizes[position]} features")
                step.call_on_fit_task_begin(estimator=self)
                step.call_on_fit_task_end(estimator=self)
                scores[fold].append(score)
        return scores

    def _as_they_come(self, tasks: Iterator[Any]) -> Iterator[Any]:
        """Results of tasks in their order, each as soon as it is there."""
        # The core releases the GIL, so threads serve it; models of others may not.
        own = self.criterion is None and self.estimator is None
        how: dict[str, Any] = {
            "n_jobs": as_int(self.n_jobs),
            "prefer": "threads" if own else "processes",
            # Larger batches leave one thread idle at the end. To another process a fold is sent
            # with each of them.
            "batch_size": 1 if own else "auto",
        }
        try:
            parallel = Parallel(**how, return_as="generator")
        except ValueError:
            # Some backends (multiprocessing, Ray) hand over everything at the end.
            parallel = Parallel(**how)
        yield from parallel(tasks)

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
        if not is_int(index) or not 0 <= int(index) < len(n_features):
            raise ParameterError(
                "rule",
                "must return an index into cv_results_, an int from 0 to {last}; got {index!r}.",
                last=len(n_features) - 1,
                index=index,
            )
        self.n_features_ = int(n_features[int(index)])


def _scorer_name(scoring: Any) -> str:
    """What the scores are, for people."""
    if isinstance(scoring, str):
        return SCORER_NAMES.get(scoring, scoring.replace("_", " "))
    function = getattr(scoring, "_score_func", scoring)  # what make_scorer wraps
    return str(getattr(function, "__name__", type(function).__name__)).replace("_", " ")


def _cv_results(
    sizes: list[int], scores: list[list[FoldScore]], n_features: int
) -> dict[str, NDArray[Any]]:
    """Collect the scores as RFECV does."""
    results: dict[str, NDArray[Any]] = {"n_features": np.array(sizes)}
    loss_name = scores[0][0].loss_name
    for name, field in {"test_score": "", "train_score": "", loss_name: "loss"}.items():
        table = np.array([[getattr(score, field or name) for score in fold] for fold in scores])
        results[f"mean_{name}"] = table.mean(axis=0)
        results[f"std_{name}"] = deviation(table)
        results.update({f"split{i}_{name}": row for i, row in enumerate(table)})
    for i, fold in enumerate(scores):
        results[f"split{i}_separated"] = np.array([score.separated for score in fold])
        support = np.zeros((len(sizes), n_features), dtype=bool)
        for row, score in zip(support, fold, strict=True):
            row[score.subset] = True
        results[f"split{i}_support"] = support
    return results
