"""Cross-validation: scores of sizes on folds, their table, and the rule that selects a size."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import get_scorer

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.rows import take_columns
from safdr._engine.screened_search import AnySearch
from safdr._estimators.data import Problem
from safdr._estimators.models import calibration_slope
from safdr._estimators.parallel import n_workers, run_tasks, uses_threads
from safdr._estimators.search import make_search, model_of
from safdr.errors import NoSubsetError, ParameterError

RULES = ("one_se", "one_sd", "best")

# Scorers for which 1 is perfect, and one wrong row of n costs 1/n.
COUNTING = ("accuracy", "balanced_accuracy", "roc_auc", "roc_auc_ovr", "roc_auc_ovo")
# Smallest number of test rows of which half a row counts as perfect.
MIN_ROWS = 10
# A score that equals a threshold passes, whatever the rounding.
SLACK = 1.0 + 1e-12

# Smallest calibration slope, so that the model still ranks rows.
MIN_SLOPE = 0.01


@dataclass(frozen=True, eq=False)
class FoldScore:
    """Score of one size on one fold."""

    score: float
    subset: IntArray
    predictions: FloatArray | None  # linear predictors of the test rows


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Scores of the sizes that every fold has a subset of."""

    sizes: list[int]
    scores: list[list[FoldScore]]  # by fold, then size
    held_out: list[tuple[Any, ...]]  # of each fold: target and weights of test rows, training rows
    table: dict[str, Any]
    size: int  # selected by the rule

    def slope(self, problem: Any) -> float:
        at = self.sizes.index(self.size)
        targets, weights, n_train = zip(*self.held_out, strict=True)
        slope = calibration_slope(
            np.concatenate([fold[at].predictions for fold in self.scores]),
            np.concatenate(targets),
            np.concatenate(weights),
            regression=problem.is_regression,
            family=problem.family,
            train_share=float(np.mean(n_train)) / problem.n_rows,
        )
        return max(slope, MIN_SLOPE)


def cross_validate(
    selector: Any,
    problem: Problem,
    folds: list[Any],
    sizes: list[int],
    seed: int,
    *,
    n_jobs: Any = None,
    report: Callable[[str], None] = lambda task: None,
) -> CrossValidation:
    """Score every size on every fold, and select one by the rule."""
    scorer = fold_scorer(selector, problem)
    job = copy(selector)
    job.cv = None  # a generator cannot be sent to other processes
    fold_scores: list[list[Any]] = []
    held_out: list[tuple[Any, ...]] = []
    threads = uses_threads(selector)
    at_once = n_workers(n_jobs) if threads else 1
    prepare = partial(_prepared, selector, max(sizes), seed)
    for first in range(0, len(folds), at_once):
        some = [(fold,) for fold in folds[first : first + at_once]]
        prepared = list(run_tasks(prepare, some, n_jobs if threads else 1, threads=threads))
        tasks = [(*each, size) for each in prepared for size in sizes]
        score = partial(score_size, job, scorer)
        with warnings.catch_warnings():
            # A fold that cannot be scored is an error.
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            scores = run_tasks(score, tasks, n_jobs, threads=threads)
            for fold, _, train, test in prepared:
                fold_scores.append([])
                for size in sizes:
                    fold_scores[-1].append(next(scores))
                    report(f"fold {fold.number}, {size} features")
                held_out.append((test.target, _test_weight(train, test), train.n_rows))
    kept = _feasible(selector, sizes, fold_scores)
    sizes, fold_scores = [sizes[i] for i in kept], [[fold[i] for i in kept] for fold in fold_scores]
    values = np.array([[score.score for score in fold] for fold in fold_scores])
    table = _make_table(sizes, fold_scores, values, problem.n_features)
    ceiling = _ceiling(selector.scoring, problem, [len(target) for target, _, _ in held_out])
    size = select_size(selector.rule, table, values, ceiling)
    return CrossValidation(sizes, fold_scores, held_out, table, size)


def _prepared(selector: Any, size: int, seed: int, fold: Any) -> tuple[Any, ...]:
    """Return a fold with its search, training and test rows."""
    train = fold.train()
    return fold, make_search(selector, train, seed).prepare(size), train, fold.test()


def _feasible(selector: Any, sizes: list[int], scores: list[list[Any]]) -> list[int]:
    """Return the positions of the sizes with a subset of the required signs in every fold."""
    kept = [i for i in range(len(sizes)) if all(fold[i] is not None for fold in scores)]
    if len(kept) < (1 if isinstance(selector.sizes, Integral) else len(sizes)):
        lost = [size for i, size in enumerate(sizes) if i not in kept]
        raise NoSubsetError(
            "signs",
            f"cannot be met: the search found no subset of {lost} features with these signs in "
            "every fold. Leave these sizes out, or require fewer signs.",
        )
    return kept


def sizes_to_try(sizes: Any, allowed: Any) -> list[int]:
    """Return the sizes in order: those given, or all feasible ones up to a largest one."""
    if isinstance(sizes, Integral):
        feasible: list[int] = allowed.sizes(int(sizes))
        if not feasible:
            allowed.check_size(int(sizes), "sizes")  # says why there is none
        return feasible
    distinct = sorted({int(size) for size in sizes})
    if not distinct:
        raise ParameterError("sizes", "must hold at least one number of features; got none.")
    for size in distinct:
        allowed.check_size(size, "sizes")
    return distinct


def score_size(
    selector: Any,
    scorer: Callable[..., float],
    fold: Any,
    search: AnySearch,
    train: Problem,
    test: Problem,
    size: int,
) -> FoldScore | None:
    """Search and score one size on one fold; None if no subset has the required signs."""
    try:
        result = search.run(size)
    except NoSubsetError:
        return None
    model, _ = model_of(selector, train, result, search.seed)
    rows = take_columns(test.X, result.subset)
    try:
        score = float(scorer(model, rows, test.y, **fold.scorer_params()))
    except (AttributeError, TypeError, ValueError) as error:
        raise ValueError(
            f"The model of fold {fold.number} with {size} features cannot be scored: {error}. Use "
            "another scoring."
        ) from error
    if not np.isfinite(score):
        raise ValueError(
            f"The score of fold {fold.number} with {size} features must be finite; got {score}. "
            "Use a cv with all classes in every fold, such as StratifiedKFold, or fewer splits."
        )
    predictions = model.linear_predictor(rows) if calibrates(selector) else None
    return FoldScore(score, result.subset, predictions)


def calibrates(selector: Any) -> bool:
    return bool(selector.criterion == "auto") and selector.estimator is None


def _test_weight(train: Any, test: Any) -> FloatArray:
    """Return the weights of test rows, with the class weights of training."""
    weight = test.row_weight
    if weight is None or not weight.any():
        weight = np.ones(len(test.y))
    return weight if test.is_regression else weight * train.class_factors[test.codes]


# ---- Scores --------------------------------------------------------------------------------------


def fold_scorer(selector: Any, problem: Any) -> Callable[..., float]:
    """Return the scorer, or a faster one if scorer and model are the default ones."""
    if selector.scoring is None and selector.estimator is None and not problem.is_regression:
        return score_auc
    scorer: Callable[..., float] = get_scorer(selector.scoring or problem.default_scoring)
    return scorer


def score_auc(model: Any, X: Any, y: NDArray[Any], sample_weight: Any = None) -> float:
    """Return the score "roc_auc" or "roc_auc_ovr" of a linear model, 100 times faster."""
    scores, labels = model.linear_predictor(X), model.classes_
    if len(labels) == 2:
        return roc_auc(scores, y == labels[1], sample_weight)
    columns = softmax(scores, axis=1).T
    areas = [
        roc_auc(p, y == label, sample_weight) for p, label in zip(columns, labels, strict=True)
    ]
    return float(np.mean(areas))


def roc_auc(scores: FloatArray, positive: NDArray[np.bool_], weight: Any = None) -> float:
    """Return the share of pairs of both classes in which the positive row scores higher."""
    weight = np.ones(len(scores)) if weight is None else np.asarray(weight)
    levels, index = np.unique(scores, return_inverse=True)
    n_levels = len(levels)
    won = np.bincount(index[positive], weight[positive], n_levels)
    lost = np.bincount(index[~positive], weight[~positive], n_levels)
    total = won.sum() * lost.sum()
    if not total > 0 or np.isnan(levels[-1]):
        return float("nan")
    below = np.cumsum(lost) - lost
    return float((won * (2 * below + lost)).sum() / (2.0 * total))


# ---- Rules ---------------------------------------------------------------------------------------


def _make_table(
    sizes: list[int], scores: list[list[FoldScore]], values: FloatArray, n_features: int
) -> dict[str, Any]:
    table: dict[str, Any] = {
        "n_features": np.array(sizes),
        "mean_test_score": values.mean(axis=0),
        "std_test_score": values.std(axis=0),
    }
    for i, fold in enumerate(scores):
        support = np.zeros((len(sizes), n_features), dtype=bool)
        for mask, score in zip(support, fold, strict=True):
            mask[score.subset] = True
        table[f"split{i}_test_score"] = values[i]
        table[f"split{i}_support"] = list(support)  # masks as cells of a data frame
    return table


def _ceiling(scoring: Any, problem: Any, n_test_rows: list[int]) -> float:
    """Return the mean score that counts as perfect: within half a test row of one.

    Most folds have equal scores there, so that their standard error is no guide.
    """
    scoring = scoring or problem.default_scoring
    if not (isinstance(scoring, str) and scoring.removesuffix("_weighted") in COUNTING):
        return np.inf
    return 1.0 - SLACK * float(np.mean([0.5 / max(n, MIN_ROWS) for n in n_test_rows]))


def select_size(rule: Any, table: Mapping[str, Any], scores: FloatArray, ceiling: float) -> int:
    """Return the smallest size whose mean score the rule accepts."""
    sizes = table["n_features"]
    if callable(rule):
        index = rule(table)
        if not isinstance(index, Integral) or not 0 <= int(index) < len(sizes):
            raise ParameterError(
                "rule", f"must return an index from 0 to {len(sizes) - 1}; got {index!r}."
            )
        return int(sizes[index])
    mean, n_splits = scores.mean(axis=0), len(scores)
    best = int(mean.argmax())
    required = mean[best]
    if rule == "one_sd":
        required -= scores[:, best].std()
    elif rule == "one_se" and n_splits > 1:
        standard_error = scores[:, best].std(ddof=1) / np.sqrt(n_splits)
        required = min(required - standard_error, ceiling)
    return int(sizes[np.flatnonzero(mean >= required)[0]])
