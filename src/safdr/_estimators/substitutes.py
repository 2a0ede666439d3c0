"""substitutes: the effect of replacing each selected feature, or leaving it out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import get_scorer
from sklearn.utils._param_validation import Interval, validate_parameter_constraints
from sklearn.utils.validation import check_is_fitted

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.interrupt import look_up
from safdr._engine.nearby import best_replacements
from safdr._engine.search import fit_padded, padded
from safdr._engine.signs import wrong_signs
from safdr._engine.taken_rows import take_columns
from safdr._estimators.data import Problem
from safdr._estimators.evaluate import measure_subsets
from safdr._estimators.features import group_names
from safdr._estimators.inputs import fit_seed, make_problem
from safdr._estimators.parallel import n_workers, run_tasks
from safdr._estimators.search import fitter_of, function_of, model_on, ridge_of

BoolArray = NDArray[np.bool_]

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
        columns = _relevant_columns(selector, problem, n_best + N_SPARE)
        names = names[np.unique(problem.allowed.group_of[columns])]
        problem, subset = problem.columns(columns), np.searchsorted(columns, subset)
    variants = list(_find_variants(selector, problem, subset, n_best, n_workers(n_jobs)))
    cv = getattr(selector, "cv", None) if cv is None else cv
    scoring = getattr(selector, "scoring", None) if scoring is None else scoring
    scorer = get_scorer(scoring or problem.default_scoring)
    folds = problem.folds(cv, seed, {} if groups is None else {"groups": groups}, {})
    subsets = [variant.columns for variant in variants]
    tasks = ((selector, fold, subsets, scorer, seed) for fold in folds)
    threads = selector.estimator is None and not callable(selector.criterion)
    scores = np.array(list(run_tasks(_score_fold, tasks, n_jobs, threads=threads)))
    return _make_table(variants, scores, names)


def _relevant_columns(selector: Any, problem: Problem, n_best: int) -> IntArray:
    """Return the selected columns and the best replacements, without a matrix of all columns."""
    criterion = problem.column_criterion(ridge_of(selector, problem))
    allowed = problem.allowed.without(criterion.redundant(problem.rank))
    return best_replacements(criterion, allowed, problem.cost, selector.subset_, n_best)


# ---- Variants of the subset ---------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Variant:
    """The selected subset with one feature replaced or left out; -1 stands for none."""

    dropped: int
    replacement: int
    columns: IntArray
    value: float
    loss: float
    allowed: bool


def _find_variants(
    selector: Any, problem: Problem, subset: IntArray, n_best: int, n_threads: int
) -> Iterator[Variant]:
    """Yield the subset; then for each feature the best replacements, and the subset without it."""
    allowed, measure = problem.allowed, _Measure.make(selector, problem, n_threads)
    selection = allowed.selection_of(subset)
    yield from measure.variants(-1, [-1], selection[None])
    for dropped in np.flatnonzero(selection).tolist():
        look_up()
        rest = selection.copy()
        rest[dropped] = False
        groups = np.flatnonzero(measure.can_join(rest) & ~selection)
        swapped = rest | np.eye(allowed.n_groups, dtype=bool)[groups]
        values = np.where(allowed.allows_each(swapped), measure.values(swapped), -np.inf)
        n_spare = 0 if allowed.signs is None else N_SPARE
        best = np.argsort(-values, kind="stable")[: n_best + n_spare]
        best = best[values[best] > -np.inf]
        found = measure.variants(dropped, groups[best], swapped[best])
        yield from islice((variant for variant in found if variant.allowed), n_best)
        yield from measure.variants(dropped, [-1], rest[None])


@dataclass(frozen=True, eq=False)
class _Measure:
    """Criterion values, less the cost, and losses of selections of features."""

    problem: Problem
    criterion: Any
    function: Any  # a custom criterion, or None
    fitter: Any
    useful: BoolArray
    original: IntArray  # of each column the one that it duplicates, or itself
    n_threads: int

    @classmethod
    def make(cls, selector: Any, problem: Problem, n_threads: int) -> Self:
        """Return the measure of a selector."""
        allowed, seed = problem.allowed, fit_seed(selector)
        function, criterion = function_of(selector, problem, seed, n_threads), None
        if function is None:
            criterion = problem.criterion(ridge_of(selector, problem))
            allowed = allowed.without(criterion.redundant)
        useful = np.ones(allowed.n_groups, dtype=bool)
        useful[allowed.exclude] = False
        original = np.arange(problem.n_features)
        for kept, duplicate in problem.duplicates().pairs:
            original[duplicate] = kept
        fitter = fitter_of(selector, problem, criterion, seed)
        return cls(problem, criterion, function, fitter, useful, original, n_threads)

    def can_join(self, selection: BoolArray) -> BoolArray:
        """Return the features that add something to a selection: not duplicates of its columns."""
        allowed, useful = self.problem.allowed, self.useful.copy()
        same = np.isin(self.original, self.original[allowed.columns_of(selection)])
        useful[allowed.group_of[same]] = False
        return useful

    def values(self, selections: BoolArray) -> FloatArray:
        """Return the values; minus infinity if there is none, 0 or NaN without features."""
        allowed = self.problem.allowed
        widths = selections[:, allowed.group_of].sum(axis=1)
        subsets = allowed.subsets_of(selections, int(widths.max(initial=0)))
        if subsets.size == 0:
            return np.full(len(subsets), 0.0 if self.function is None else np.nan)
        values = measure_subsets(self.problem, self.criterion, self.function, subsets)
        return np.where(np.isnan(values), -np.inf, values)

    def variants(self, dropped: int, groups: Any, selections: BoolArray) -> list[Variant]:
        """Return the variants with given replacements of one feature."""
        allowed = self.problem.allowed
        columns = [allowed.columns_of(selection) for selection in selections]
        values = self.values(selections)
        losses, has_signs = self._fit(columns, values)
        is_allowed = has_signs & allowed.allows_each(selections)
        rows = zip(groups, columns, values, losses, is_allowed, strict=True)
        return [Variant(dropped, int(group), *row) for group, *row in rows]

    def _fit(self, columns: list[IntArray], values: FloatArray) -> tuple[FloatArray, BoolArray]:
        """Return losses, and whether the coefficients have the required signs."""
        has_signs, signs = np.ones(len(columns), dtype=bool), self.problem.allowed.signs
        if self.fitter is None or not columns:
            return -values, has_signs
        if not len(columns[0]):
            return np.full(len(columns), self.fitter.baseline()), has_signs
        subsets = padded(columns)
        fits = fit_padded(self.fitter, subsets, best_only=False, n_threads=self.n_threads)
        if signs is not None:
            wrong = wrong_signs(subsets, fits.coefficients, signs)
            has_signs = np.asarray(~wrong.any(axis=1))
        return fits.losses, has_signs


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


def _make_table(variants: list[Variant], scores: FloatArray, names: NDArray[Any]) -> dict[str, Any]:
    """Return a row for each variant but the first, which the others are compared with."""
    found = variants[1:]
    table: dict[str, Any] = {
        "selected": [names[v.dropped] for v in found],
        "replacement": [None if v.replacement < 0 else names[v.replacement] for v in found],
        "allowed": np.array([v.allowed for v in found]),
    }
    values, losses = np.array([(v.value, v.loss) for v in variants]).T
    means = {"criterion_value": values, "loss": losses, "score": scores.mean(axis=0)}
    for name, numbers in means.items():
        table[name] = numbers[1:]
        table[f"{name}_difference"] = (numbers - numbers[0])[1:]
    table["score_difference_std"] = (scores - scores[:, :1]).std(axis=0)[1:]
    return table
