"""substitutes: the effect of replacing each selected feature, or leaving it out."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import get_scorer
from sklearn.utils._param_validation import Interval, validate_parameter_constraints
from sklearn.utils.validation import check_is_fitted

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.interrupt import look_up
from safdr._engine.nearby import best_replacements
from safdr._engine.rows import take_columns
from safdr._engine.signs import signed_values, wrong_signs
from safdr._engine.subsets import padded
from safdr._estimators.data import Problem
from safdr._estimators.evaluate import evaluate_rows, make_evaluate
from safdr._estimators.inputs import fit_seed, group_names, make_problem
from safdr._estimators.parallel import n_workers, run_tasks, uses_threads
from safdr._estimators.search import Recipe, model_on, ridge_of

BoolArray = NDArray[np.bool_]

# More columns than requested, since some duplicate features that stay.
N_SPARE = 10


def substitutes(
    selector: Any,
    X: Any,
    y: Any,
    *,
    n_best: int = 3,
    cv: Any = None,
    scoring: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
    n_jobs: int | None = None,
) -> dict[str, Any]:
    """Replace each selected feature by the best others, and leave it out.

    Use it to see what a feature is worth, and what could replace it. Replacements are those
    with the largest criterion value, out of all features. The subset was selected on all rows, so
    all scores are too high: compare the differences.

    Parameters
    ----------
    selector : AnnealingSelector or another selector
        Fitted selector.

    X, y, sample_weight
        Rows that the selector was fitted to.

    n_best : int, default=3
        Number of replacements for each feature. Groups are replaced as a whole.

    cv : int, splitter or iterable, default=None
        Splits of the rows; None is `cv` of the selector, or its default.

    scoring : str or callable, default=None
        Score of the models; None is `scoring` of the selector, or its default.

    groups : array-like of shape (n_samples,), default=None
        Row groups for `cv`, which must split by group.

    n_jobs : int, default=None
        Number of splits that are evaluated at the same time.

    Returns
    -------
    dict
        Columns of a table with a row for each variant: `selected` (the feature), `replacement`
        (None if it is left out), `allowed` (False if constraints forbid the variant),
        `criterion_value`, `loss`, `score`, their differences to the selected subset
        (`criterion_value_difference` and so on), and `score_difference_std` over the splits.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.datasets import load_breast_cancer
    >>> from safdr import AnnealingSelector, substitutes
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> selector = AnnealingSelector(3, random_state=0).fit(X, y)
    >>> frame = pd.DataFrame(substitutes(selector, X, y, n_best=1))
    >>> for row in frame[["selected", "replacement", "score_difference"]].values[::2]:
    ...     print("{} by {}: {:.4f}".format(*row))
    worst radius by mean radius: -0.0021
    worst texture by mean texture: 0.0025
    worst concave points by worst concavity: -0.0019
    """
    limits = {"n_best": [Interval(Integral, 1, None, closed="left")]}
    validate_parameter_constraints(limits, {"n_best": n_best}, caller_name="substitutes")
    check_is_fitted(selector)
    problem, seed = make_problem(selector, X, y, sample_weight), fit_seed(selector)
    names, subset = np.array(group_names(selector, problem), dtype=object), selector.subset_
    if problem.is_wide and not callable(selector.criterion):
        # A matrix of the selected columns and the best replacements is enough.
        criterion = problem.column_criterion(ridge_of(selector, problem))
        allowed = problem.allowed.without(criterion.redundant)
        n_columns = n_best + N_SPARE
        columns = best_replacements(criterion, allowed, problem.cost, subset, n_columns)
        names = names[np.unique(problem.allowed.group_of[columns])]
        problem, subset = problem.columns(columns), np.searchsorted(columns, subset)
    n_threads = n_workers(n_jobs)
    variants = list(_find_variants(selector, problem, subset, n_best, n_threads))
    measures = _measure(selector, problem, variants, n_threads)
    if problem.allowed.signs is not None:  # the models may have other signs than the criterion
        kept = [i for i, v in enumerate(variants) if v.replacement < 0 or measures["allowed"][i]]
        variants = [variants[i] for i in kept]
        measures = {name: values[kept] for name, values in measures.items()}
    cv = getattr(selector, "cv", None) if cv is None else cv
    scoring = getattr(selector, "scoring", None) if scoring is None else scoring
    scorer = get_scorer(scoring or problem.default_scoring)
    of_groups = {} if groups is None else {"groups": groups}
    folds = problem.folds(cv, seed, of_groups, {} if scoring else problem.score_params)
    subsets = [variant.columns for variant in variants]
    tasks = ((selector, fold, subsets, scorer, seed) for fold in folds)
    threads = uses_threads(selector)
    scores = np.array(list(run_tasks(_score_fold, tasks, n_jobs, threads=threads)))
    return _make_table(variants, measures, scores, names)


# ---- Variants of the subset ---------------------------------------------------------------------


class Variant(NamedTuple):
    """The selected subset with one feature replaced or left out; -1 stands for none."""

    dropped: int
    replacement: int
    columns: IntArray


def _find_variants(
    selector: Any, problem: Problem, subset: IntArray, n_best: int, n_threads: int
) -> Iterator[Variant]:
    """Yield the subset; then for each feature the best replacements, and the subset without it.

    Replacements whose coefficients in the criterion have wrong signs are left out.
    """
    allowed, original = problem.allowed, np.arange(problem.n_features)
    ridge = ridge_of(selector, problem)
    criterion, evaluate = make_evaluate(selector, problem, ridge, n_threads)
    useful = allowed if criterion is None else allowed.without(criterion.redundant)
    for kept, duplicate in problem.duplicates.pairs:
        original[duplicate] = kept
    selection = allowed.selection_of(subset)
    yield Variant(-1, -1, subset)
    for dropped in np.flatnonzero(selection).tolist():
        look_up()
        rest = selection.copy()
        rest[dropped] = False
        columns = allowed.columns_of(rest)
        # A duplicate of a feature that stays adds nothing.
        same = allowed.group_of[np.isin(original, original[columns])]
        excluded = np.concatenate([useful.exclude, np.flatnonzero(selection), same])
        groups = np.setdiff1d(np.arange(allowed.n_groups), excluded)
        swapped = rest | np.eye(allowed.n_groups, dtype=bool)[groups]
        keep = allowed.allows_each(swapped)
        groups, swapped = groups[keep], swapped[keep]
        width = int(swapped[:, allowed.group_of].sum(axis=1).max(initial=0))
        subsets = allowed.subsets_of(swapped, width)
        values = np.nan_to_num(evaluate(subsets, np.full(len(subsets), -1)), nan=-np.inf)
        if criterion is not None and allowed.signs is not None:
            values[signed_values(criterion, subsets, allowed.signs)[1] > 0] = -np.inf
        best = np.argsort(-values, kind="stable")[:n_best]
        for i in best[values[best] > -np.inf]:
            yield Variant(dropped, int(groups[i]), subsets[i][subsets[i] >= 0])
        yield Variant(dropped, -1, columns)


def _measure(
    selector: Any, problem: Problem, variants: list[Variant], n_threads: int
) -> dict[str, Any]:
    """Return criterion values and losses, and which variants constraints allow."""
    allowed = problem.allowed
    is_full = np.array([len(variant.columns) > 0 for variant in variants])
    subsets = padded([variant.columns for variant in variants if len(variant.columns)])
    evaluation = evaluate_rows(selector, problem, subsets, n_threads)
    values = np.full(len(variants), np.nan if callable(selector.criterion) else 0.0)
    values[is_full] = evaluation.criterion_values
    losses = -values
    fitter = Recipe.make(selector, problem, fit_seed(selector)).fitter(problem)
    if fitter is not None:
        losses[~is_full] = 0.0 if is_full.all() else fitter.baseline()
    losses[is_full] = evaluation.losses
    is_allowed = allowed.allows_each(np.array([allowed.selection_of(v.columns) for v in variants]))
    if allowed.signs is not None:
        coefficients = np.asarray(evaluation.coefficients)
        wrong = wrong_signs(subsets, coefficients, allowed.signs).any(axis=1)
        is_allowed[is_full] &= ~wrong
    return {"criterion_value": values, "loss": losses, "allowed": is_allowed}


# ---- Scores -------------------------------------------------------------------------------------


def _score_fold(
    selector: Any, fold: Any, subsets: list[IntArray], scorer: Any, seed: int
) -> list[float]:
    """Return the score of a model on each subset, fitted to training rows, on test rows."""
    train, test = fold.train(), fold.test()
    params, scores = fold.scorer_params(), []
    for subset in subsets:
        look_up()
        if len(subset):
            model = model_on(selector, train, subset, seed)
        else:
            rows = take_columns(train.X, np.array([0]))
            model = train.null_model().fit(rows, train.y, sample_weight=train.sample_weight)
        columns = subset if len(subset) else np.array([0])
        scores.append(scorer(model, take_columns(test.X, columns), test.y, **params))
    return scores


def _make_table(
    variants: list[Variant], measures: dict[str, Any], scores: FloatArray, names: NDArray[Any]
) -> dict[str, Any]:
    """Return a row for each variant but the first, which the others are compared with."""
    others = variants[1:]
    table: dict[str, Any] = {
        "selected": [names[v.dropped] for v in others],
        "replacement": [None if v.replacement < 0 else names[v.replacement] for v in others],
        "allowed": measures.pop("allowed")[1:],
    }
    for name, numbers in (measures | {"score": scores.mean(axis=0)}).items():
        table[name] = numbers[1:]
        table[f"{name}_difference"] = (numbers - numbers[0])[1:]
    table["score_difference_std"] = (scores - scores[:, :1]).std(axis=0)[1:]
    return table
