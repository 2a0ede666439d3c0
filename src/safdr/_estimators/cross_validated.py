"""The choice of the number of features by cross-validation, whatever the target is."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _raise_for_params,
    _routing_enabled,
    process_routing,
)
from sklearn.utils.validation import check_is_fitted

from safdr._engine.screened_search import AnySearch
from safdr._estimators.base import (
    AnnealingSelectorBase,
    typed,
)
from safdr._estimators.folds import (
    at_largest,
    cv_results,
    found_in_all,
    make_folds,
    score_folds,
    sizes_to_try,
    slope_of_folds,
    splits_of_data,
    tell_lost,
)
from safdr._estimators.parameters import (
    as_float,
    n_workers,
    seed_from,
)
from safdr._estimators.plan import SearchPlan
from safdr._estimators.plan_checks import check_proof
from safdr._estimators.progress import CallbackSupportMixin, with_callbacks
from safdr._estimators.rule_note import RuleNote
from safdr._estimators.rules import (
    Limits,
    ceiling_of,
    own_size,
    sizes_by_rule,
    threshold,
)
from safdr._estimators.scoring import scorer_name
from safdr._estimators.screening import make_search
from safdr._estimators.training_data import TrainingData


class CrossValidatedSelector(CallbackSupportMixin, AnnealingSelectorBase):
    """A selector that tries all sizes in a range."""

    min_features: int
    max_features: int
    cv: Any
    scoring: str | Callable[..., float] | None
    rule: str | Callable[[dict[str, Any]], int]
    tolerance: float
    random_state: Any

    @typed(with_callbacks)
    @typed(_fit_context(prefer_skip_nested_validation=False))
    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, **params: Any
    ) -> Self:
        """Choose the number of features, then the features, and fit the model on them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or a source
            Training rows, or where to read them in passes, as in `AnnealingSelector.fit`.

        y : array-like of shape (n_samples,) or (n_samples, n_outputs), or str
            Labels of any type, or measured outputs. Of a source, the name of their column.

        sample_weight : array-like of shape (n_samples,) or str, default=None
            Weight of each row in the search and in the model, as in `AnnealingSelector.fit`. The
            scorer gets weights only by metadata routing, if it asks:
            ``scoring=get_scorer("roc_auc").set_score_request(sample_weight=True)``. Of a source,
            the name of their column; scores are weighted too.

        **params : dict
            `groups` for the splitter; with metadata routing, whatever splitter and scorer request.

        Returns
        -------
        estimator
            Itself, fitted.
        """
        splitter_params, scorer_params = self._route(sample_weight, params)
        plan = SearchPlan.of(self)
        seed = seed_from(self.random_state)
        if plan.reads(X, y) and (splitter_params or scorer_params):
            raise ValueError(
                "Rows that are read in passes are split by buckets: `groups` and what goes to a "
                "splitter or a scorer can't be used."
            )
        data = self._given(plan, X, y, sample_weight, seed)
        usable, self.clip_limits_ = plan.usable(data)
        allowed, cost = plan.allowed(self), plan.cost(self)
        if plan.prove is not None:
            check_proof(plan, allowed)
        sizes = sizes_to_try(plan, allowed, int(self.min_features), int(self.max_features))
        folds: Any
        if data.in_passes:
            from safdr._estimators.streamed.folds import streamed_folds

            folds = streamed_folds(data, self.cv, plan.class_weight, seed)
        else:
            splits = splits_of_data(self.cv, data, seed, splitter_params)
            folds = make_folds(data, splits, plan, scorer_params)
        n_tasks = len(folds) * len(sizes) + 1
        progress = self._init_callback_context(max_subtasks=n_tasks)
        progress.call_on_fit_task_begin(estimator=self)

        def search_of(train: TrainingData) -> AnySearch:
            return make_search(plan, train, allowed, cost, seed).prepare(sizes[-1])

        def tell(task: str) -> None:
            # Told here and not by the workers, which may be anywhere.
            step = progress.subcontext(task_name=task)
            step.call_on_fit_task_begin(estimator=self)
            step.call_on_fit_task_end(estimator=self)

        how: dict[str, Any] = {"n_jobs": self.n_jobs, "tell": tell}
        scoring = self.scoring or self._default_scoring()
        if data.in_passes:
            scores, scored_on = folds.score(plan, search_of, sizes, self._scorer(), scoring, **how)
            n_test_rows = folds.n_test_rows
        else:
            scores = score_folds(plan, folds, search_of, sizes, self._fold_scorer(), **how)
            n_test_rows = [len(test) for _, test in splits]
        self.n_splits_, self.scorer_name_ = len(folds), scorer_name(scoring)
        limits = Limits(as_float(self.tolerance), ceiling_of(scoring, n_test_rows))
        self._choose(sizes, scores, scoring, limits)

        step = progress.subcontext(task_name="refit")
        step.call_on_fit_task_begin(estimator=self)
        again = {"seed": seed, "n_jobs": n_workers(self.n_jobs)}
        final = partial(self._search, plan, usable, allowed, **again)
        found: list[int] = self.cv_results_["n_features"].tolist()
        at_largest([size for size in found if size <= self.n_features_], final, warn=True)
        if plan.calibrates:
            self._calibrate(usable, folds, [fold[sizes.index(self.n_features_)] for fold in scores])
        if data.in_passes:
            self.streamed_["scored_on"] = scored_on
        step.call_on_fit_task_end(estimator=self)
        progress.call_on_fit_task_end(estimator=self)
        return self

    def score(self, X: ArrayLike, y: ArrayLike, **score_params: Any) -> float:
        """Score the model on the chosen features by `scoring`: by default ROC AUC, or R².

        **Not so in selectors of a given size**: theirs is that of the model, mostly the accuracy.

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
                splitter=self.cv if self.cv is not None else self._task.default_splitter(0),
                method_mapping=MethodMapping().add(caller="fit", callee="split"),
            )
            .add(
                scorer=self._scorer(),
                method_mapping=MethodMapping()
                .add(caller="fit", callee="score")
                .add(caller="score", callee="score"),
            )
        )

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

    def _calibrate(self, data: TrainingData, folds: Any, scores: list[Any]) -> None:
        """Multiply the slopes of the final model by the calibration slope."""
        self.calibration_slope_ = slope = slope_of_folds(data, folds, scores)
        target = data.target_of(data.y)
        self.estimator_.with_slope(slope, data.X[:, self.subset_], target, data.sample_weight)

    def _choose(
        self, tried: list[int], found: list[list[Any]], scoring: Any, limits: Limits
    ) -> None:
        """Keep the scores of the sizes at which each fold found something, and apply the rules."""
        kept = found_in_all(tried, found)
        tell_lost(tried, kept)
        scores = [[fold[i] for i in kept] for fold in found]
        self.cv_results_ = cv_results([tried[i] for i in kept], scores, self.n_features_in_)
        test_scores = np.array([[score.test_score for score in fold] for fold in scores])
        results, rule = self.cv_results_, self.rule
        sizes = results["n_features"]
        by_rule = sizes_by_rule(sizes, test_scores, limits)
        self.n_features_ = by_rule[rule] if isinstance(rule, str) else own_size(rule, results)
        self.n_features_by_rule_ = by_rule
        self.threshold_ = threshold(rule, test_scores, limits)
        note = RuleNote(rule, scoring, sizes, test_scores, limits, by_rule, self.n_features_)
        self.rule_note_ = str(note)
