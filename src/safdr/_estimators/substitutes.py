"""substitutes: the effect of replacing each selected feature, or leaving it out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import get_scorer
from sklearn.utils._param_validation import Interval, validate_parameter_constraints
from sklearn.utils.validation import check_is_fitted

from safdr._engine.annealing.function_chains import less_cost
from safdr._engine.annealing.quadratic_function import QuadraticFunction
from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.interrupt import look_up
from safdr._engine.nearby import best_replacements
from safdr._engine.search import fit_padded, padded
from safdr._engine.signs import wrong_signs
from safdr._engine.taken_rows import take_columns
from safdr._estimators.data import Problem, fit_seed, make_problem
from safdr._estimators.features import group_names
from safdr._estimators.parallel import n_workers, run_tasks
from safdr._estimators.search import fitter_of, function_of, model_on, ridge_of

BoolArray = NDArray[np.bool_]
Values = Callable[[BoolArray, bool], FloatArray]

# More replacements than requested, since models of some may have the wrong signs.
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

    Replacements are the features with the largest criterion value in its place, out of all
    features. Scores are means over test rows of models that are fitted to training rows. The
    subset was selected on all rows, so all scores are too high: compare the differences.

    Parameters
    ----------
    selector : AnnealingSelector, AnnealingSelectorCV, or one of those for regression
        Fitted selector. It does not change.

    X : array-like or sparse matrix of shape (n_samples, n_features), or a source
        Rows that the selector was fitted to.

    y : array-like of shape (n_samples,) or (n_samples, n_outputs), or str
        Labels or outputs; the name of their column if X is a source.

    n_best : int, default=3
        Number of replacements for each feature. Groups are replaced as a whole.

    cv : int, splitter or iterable, default=None
        Splits of the rows; None is `cv` of the selector, or its default.

    scoring : str or callable, default=None
        Score of the models; None is `scoring` of the selector, or its default.

    sample_weight : array-like of shape (n_samples,) or str, default=None
        Weights of the rows.

    groups : array-like of shape (n_samples,), default=None
        Row groups for `cv`, which must split by group.

    n_jobs : int, default=None
        Number of splits evaluated at the same time.

    Returns
    -------
    dict
        Columns of a table with one row for each variant: `selected` (the feature), `replacement`
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
        problem, subset, places = _reduce(selector, problem, n_best + N_SPARE)
        names = names[places]
    variants, losses = _find_variants(selector, problem, subset, n_best, n_workers(n_jobs))
    cv = getattr(selector, "cv", None) if cv is None else cv
    scoring = getattr(selector, "scoring", None) if scoring is None else scoring
    scorer = get_scorer(scoring or problem.default_scoring)
    folds = problem.folds(cv, seed, {} if groups is None else {"groups": groups}, {})
    columns = [variant.columns for variant in variants]
    tasks = ((selector, fold, columns, scorer, seed) for fold in folds)
    threads = selector.estimator is None and not callable(selector.criterion)
    scores = np.array(list(run_tasks(_score_fold, tasks, n_jobs, threads=threads)))
    return _make_table(variants, losses, scores, names)


def _reduce(selector: Any, problem: Problem, n_best: int) -> tuple[Problem, IntArray, IntArray]:
    """Keep the selected columns and the best replacements: the problem, subset, and features."""
    criterion = problem.column_criterion(ridge_of(selector, problem))
    allowed = problem.allowed.without(criterion.redundant(problem.rank))
    subset = selector.subset_
    columns = best_replacements(criterion, allowed, problem.cost, subset, n_best)
    features = np.unique(problem.allowed.group_of[columns])
    return problem.columns(columns), np.searchsorted(columns, subset), features


# ---- Variants of the subset ---------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Variant:
    """The selected subset with one feature replaced or left out; -1 stands for none."""

    dropped: int
    replacement: int
    columns: IntArray
    value: float
    allowed: bool = True


def _find_variants(
    selector: Any, problem: Problem, subset: IntArray, n_best: int, n_threads: int
) -> tuple[list[Variant], FloatArray]:
    """Return the subset itself and its variants, and the loss of each."""
    seed, allowed = fit_seed(selector), problem.allowed
    function = function_of(selector, problem, seed, n_threads)
    criterion = None if function else problem.criterion(ridge_of(selector, problem))
    useful = np.ones(allowed.n_groups, dtype=bool)
    useful[(allowed if function else allowed.without(criterion.redundant)).exclude] = False
    values = _make_values(problem, criterion, function, n_threads)
    original = np.arange(problem.n_features)
    for kept, duplicate in problem.duplicates().pairs:
        original[duplicate] = kept
    n_ranked = n_best if allowed.signs is None else n_best + N_SPARE
    variants = list(_rank(problem, subset, useful, original, values, n_ranked))
    fitter = fitter_of(selector, problem, criterion, seed)
    if fitter is None:
        return variants, -np.array([variant.value for variant in variants])
    losses, is_right = _fit(fitter, variants, allowed.signs, n_threads)
    variants = [
        replace(v, allowed=v.allowed and ok) for v, ok in zip(variants, is_right, strict=True)
    ]
    kept = list(_first_allowed(variants, n_best))
    return [variants[i] for i in kept], losses[kept]


def _first_allowed(variants: list[Variant], n_best: int) -> Iterator[int]:
    """Yield the indices of the first allowed replacements of each feature, and of all others."""
    counts: Counter[int] = Counter()
    for i, variant in enumerate(variants):
        if variant.replacement >= 0:
            counts[variant.dropped] += variant.allowed
            if not variant.allowed or counts[variant.dropped] > n_best:
                continue
        yield i


def _make_values(problem: Problem, criterion: Any, function: Any, n_threads: int) -> Values:
    """Return the criterion, less the cost, as a function of selections of groups."""
    allowed, how = problem.allowed, {"constraints": problem.allowed, "n_threads": n_threads}
    quadratic = None if function else QuadraticFunction(criterion, **how)
    evaluate = less_cost(function or quadratic, problem.cost)

    def values(selections: BoolArray, refuse_collinear: bool) -> FloatArray:
        widths = selections[:, allowed.group_of].sum(axis=1)
        subsets = allowed.subsets_of(selections, int(widths.max(initial=0)))
        if subsets.size == 0:
            return np.full(len(subsets), np.nan if quadratic is None else 0.0)
        if quadratic is not None:
            quadratic.refuse_collinear = refuse_collinear
        found = evaluate(subsets, np.full(len(subsets), -1))
        return np.where(np.isnan(found), -np.inf, found)

    return values


def _rank(
    problem: Problem,
    subset: IntArray,
    useful: BoolArray,
    original: IntArray,
    values: Values,
    n_best: int,
) -> Iterator[Variant]:
    """Yield the subset; then for each feature the best replacements, and the subset without it."""
    allowed = problem.allowed
    selection = allowed.selection_of(subset)
    yield Variant(-1, -1, subset, values(selection[None], False)[0])
    for dropped in np.flatnonzero(selection):
        look_up()
        rest = selection.copy()
        rest[dropped] = False
        # A duplicate of a feature that stays adds nothing.
        staying = np.isin(original, original[allowed.columns_of(rest)])
        others = useful & ~selection
        others[allowed.group_of[staying]] = False
        swapped = rest | np.eye(allowed.n_groups, dtype=bool)[others]
        groups, keep = np.flatnonzero(others), allowed.allows_each(swapped)
        groups, swapped = groups[keep], swapped[keep]
        found = values(swapped, True)
        best = np.argsort(-found, kind="stable")[:n_best]
        for i in best[found[best] > -np.inf]:
            columns = allowed.columns_of(swapped[i])
            yield Variant(int(dropped), int(groups[i]), columns, found[i])
        value = values(rest[None], False)[0]
        yield Variant(int(dropped), -1, allowed.columns_of(rest), value, allowed.allows(rest))


def _fit(
    fitter: Any, variants: list[Variant], signs: FloatArray | None, n_threads: int
) -> tuple[FloatArray, BoolArray]:
    """Return the loss of each variant, and whether its coefficients have the required signs."""
    is_right = np.ones(len(variants), dtype=bool)
    losses = np.empty(len(variants))
    is_empty = np.array([len(variant.columns) == 0 for variant in variants])
    if is_empty.any():
        losses[is_empty] = fitter.baseline()
    full = np.flatnonzero(~is_empty)
    subsets = padded([variants[i].columns for i in full])
    fits = fit_padded(fitter, subsets, best_only=False, n_threads=n_threads)
    losses[full] = fits.losses
    if signs is not None:
        is_right[full] = ~wrong_signs(subsets, fits.coefficients, signs).any(axis=1)
    return losses, is_right


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
            dummy = DummyRegressor() if train.is_regression else DummyClassifier()
            rows = take_columns(train.X, np.array([0]))
            model = dummy.fit(rows, train.y, sample_weight=train.sample_weight)
        columns = subset if len(subset) else np.array([0])
        scores.append(scorer(model, take_columns(test.X, columns), test.y, **params))
    return scores


def _make_table(
    variants: list[Variant], losses: FloatArray, scores: FloatArray, names: NDArray[Any]
) -> dict[str, Any]:
    """Return a row for each variant but the first, which the others are compared with."""
    found = variants[1:]
    table: dict[str, Any] = {
        "selected": [names[v.dropped] for v in found],
        "replacement": [None if v.replacement < 0 else names[v.replacement] for v in found],
        "allowed": np.array([v.allowed for v in found]),
    }
    values = np.array([variant.value for variant in variants])
    means = {"criterion_value": values, "loss": losses, "score": scores.mean(axis=0)}
    for name, numbers in means.items():
        table[name] = numbers[1:]
        table[f"{name}_difference"] = (numbers - numbers[0])[1:]
    table["score_difference_std"] = (scores - scores[:, :1]).std(axis=0)[1:]
    return table
