"""stability: counts of the features that random halves of the rows select."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GroupShuffleSplit, StratifiedShuffleSplit
from sklearn.utils._param_validation import Interval, validate_parameter_constraints
from sklearn.utils.parallel import _get_threadpool_controller

from safdr._engine.arrays import IntArray
from safdr._engine.stability import expected_errors, nogueira_index, share_intervals
from safdr._estimators.cross_validation import cross_validate, sizes_to_try
from safdr._estimators.data import Problem
from safdr._estimators.inputs import fit_seed, group_names, make_problem
from safdr._estimators.parallel import run_tasks, uses_threads
from safdr._estimators.search import make_search
from safdr.errors import NoSubsetError, ParameterError
from safdr.result import Stability

BoolArray = NDArray[np.bool_]

LIMITS = {
    "n_resamples": [Interval(Integral, 4, None, closed="left")],
    "choose_size": ["boolean"],
    "random_state": ["random_state"],
}


def stability(
    selector: Any,
    X: Any,
    y: Any,
    *,
    n_resamples: int = 50,
    choose_size: bool = False,
    sample_weight: Any = None,
    groups: Any = None,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> Stability:
    """Select features on random halves of the rows, and count how often each is selected.

    Use it to see which features depend on the sample. The halves are complementary pairs,
    stratified by class unless rows have groups.

    Parameters
    ----------
    selector : AnnealingSelector or another selector
        Selector, fitted to these rows or not; a copy is fitted if needed.

    X, y, sample_weight
        Training rows, as in `AnnealingSelector.fit`.

    n_resamples : int, default=50
        Number of halves; an even number.

    choose_size : bool, default=False
        Whether each half selects its number of features by cross-validation, which needs an
        `AnnealingSelectorCV`. If not, all halves use the selected number, or fewer if no subset of
        this size has the required signs.

    groups : array-like of shape (n_samples,), default=None
        Row groups; rows of one group stay in one half.

    n_jobs : int, default=None
        Number of halves that are searched at the same time. The result does not depend on it.

    random_state : int, RandomState instance or None, default=None
        Seed of the halves.

    Returns
    -------
    Stability

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from safdr import AnnealingSelector, stability
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> selector = AnnealingSelector(3, random_state=0).fit(X, y)
    >>> result = stability(selector, X, y, n_resamples=30, random_state=0)
    >>> round(result.index, 2)
    0.74
    """
    values = {"n_resamples": n_resamples, "choose_size": choose_size, "random_state": random_state}
    validate_parameter_constraints(LIMITS, values, caller_name="stability")
    if n_resamples % 2:
        raise ParameterError("n_resamples", f"must be even; got {n_resamples}.")
    if choose_size and not hasattr(selector, "sizes"):
        kind = type(selector).__name__
        raise ParameterError("choose_size", f"needs an AnnealingSelectorCV; got {kind}.")
    if not hasattr(selector, "support_"):
        params = {} if groups is None or not hasattr(selector, "sizes") else {"groups": groups}
        selector = clone(selector).fit(X, y, sample_weight=sample_weight, **params)
    problem = make_problem(selector, X, y, sample_weight)
    unit_groups = _match_rows(groups, sample_weight, problem)
    kind = StratifiedShuffleSplit if groups is None else GroupShuffleSplit
    splitter = kind(n_resamples // 2, test_size=0.5, random_state=random_state)
    pairs = splitter.split(problem.unit_codes, problem.unit_codes, unit_groups)
    halves = [np.sort(half) for pair in pairs for half in pair]
    tasks = ((selector, problem, half, unit_groups, choose_size) for half in halves)
    with _get_threadpool_controller().limit(limits=1, user_api="blas"):
        subsets = list(run_tasks(_select, tasks, n_jobs, threads=uses_threads(selector)))
    selections = np.array([problem.allowed.selection_of(subset) for subset in subsets])
    counts = selections.sum(axis=0)
    # Constraints fix the other features.
    free = selections[:, problem.allowed.free]
    index, interval = nogueira_index(free, block=2)
    return Stability(
        names=group_names(selector, problem),
        selected=problem.allowed.selection_of(selector.subset_),
        counts=counts,
        frequency_intervals=share_intervals(counts, n_resamples),
        index=index,
        index_interval=interval,
        sizes=selections.sum(axis=1),
        subsets=tuple(subsets),
        expected_errors=expected_errors(free.sum(axis=1).mean(), free.shape[1], n_resamples),
    )


def _match_rows(groups: Any, sample_weight: Any, problem: Problem) -> NDArray[Any] | None:
    """Return the group of each row of the problem, which has no rows of weight zero."""
    if groups is None:
        return None
    groups = np.asarray(groups)
    if sample_weight is not None and len(groups) != problem.n_units:
        groups = groups[np.asarray(sample_weight) > 0]
    return groups


def _select(
    selector: Any, problem: Problem, rows: IntArray, groups: NDArray[Any] | None, choose_size: bool
) -> IntArray:
    """Return the columns that one half selects, with the seed of the fit."""
    seed, size = fit_seed(selector), int(selector.n_features_)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of unused models
        try:
            half = problem.take(rows).usable()
            if choose_size:
                params = {} if groups is None else {"groups": groups[rows]}
                folds = half.folds(selector.cv, seed, params, {})
                sizes = sizes_to_try(selector.sizes, half.allowed)
                size = cross_validate(selector, half, folds, sizes, seed).size
            search = make_search(selector, half, seed)
        except ValueError as error:
            raise ValueError(f"A half of {len(rows)} rows cannot be searched: {error}") from None
        while True:
            try:
                return search.run(size).subset
            except NoSubsetError:
                if size == 1:
                    raise
                size -= 1  # no subset of this size has the required signs
