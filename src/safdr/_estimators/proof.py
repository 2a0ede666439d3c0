"""prove and near_optimal: bounds on the criterion over all subsets of a size."""

from __future__ import annotations

import time
from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, validate_parameter_constraints
from sklearn.utils.validation import check_is_fitted

from safdr._engine.arrays import IntArray
from safdr._engine.proof.prover import Prover, check_provable
from safdr._engine.proof.root import MAX_FEATURES
from safdr._estimators.data import Problem
from safdr._estimators.inputs import built_in_problem
from safdr._estimators.parallel import n_workers
from safdr._estimators.search import useful_criterion
from safdr.errors import ParameterError
from safdr.result import NearOptimal, Proof

LIMITS = {
    "size": [None, Interval(Integral, 1, None, closed="left")],
    "time_limit": [Interval(Real, 0, None, closed="left")],
    "rtol": [Interval(Real, 0, 1, closed="left")],
    "max_subsets": [Interval(Integral, 1, None, closed="left")],
}


def prove(
    selector: Any,
    X: Any,
    y: Any,
    *,
    size: int | None = None,
    time_limit: float = 10.0,
    sample_weight: Any = None,
    n_jobs: int | None = None,
) -> Proof:
    """Prove which subset of a size has the largest criterion value, or bound that value.

    The proof is about all features (at most 2,000) without a screen, and about the criterion on the
    training rows with the shrinkage of the selector. It says nothing about losses or scores of
    models.

    Parameters
    ----------
    selector : AnnealingSelector or another selector
        Selector with a built-in criterion, without groups of columns and signs.

    X, y, sample_weight
        Training rows, as in `AnnealingSelector.fit`.

    size : int, default=None
        Number of features; None is the number that a fitted selector selected.

    time_limit : float, default=10.0
        Seconds after which the search stops and returns the bound. The matrices are always
        completed, which takes seconds for 2,000 features.

    n_jobs : int, default=None
        Number of threads. The result depends on it only if the time runs out.

    Returns
    -------
    Proof

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from safdr import AnnealingSelector, prove
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> selector = AnnealingSelector(4, random_state=0).fit(X, y)
    >>> proof = prove(selector, X, y)
    >>> proof.optimal, proof.subset.tolist()
    (True, [20, 21, 23, 27])
    """
    validate_parameter_constraints(LIMITS, {"size": size, "time_limit": time_limit}, "prove")
    start = time.monotonic()
    problem, prover, columns, size = _make_prover(selector, X, y, sample_weight, size)
    proof = prover.prove(
        size,
        incumbent=_incumbent(selector, size, columns),
        seconds=max(0.0, start + time_limit - time.monotonic()),
        n_threads=n_workers(n_jobs),
    )
    found = {name: columns[getattr(proof, name)] for name in ("subset", "fixed_in", "fixed_out")}
    seconds = time.monotonic() - start
    return replace(proof, feature_names=problem.names, seconds=seconds, **found)


def near_optimal(
    selector: Any,
    X: Any,
    y: Any,
    *,
    size: int | None = None,
    rtol: float = 0.01,
    max_subsets: int = 1000,
    time_limit: float = 10.0,
    sample_weight: Any = None,
    n_jobs: int | None = None,
) -> NearOptimal:
    """Return all subsets of a size with a criterion value close to the largest.

    Use `evaluate_subsets` for the losses of models on them.

    Parameters
    ----------
    selector, X, y, sample_weight, size, n_jobs
        As in `prove`.

    rtol : float, default=0.01
        Largest distance to the best value, relative to it.

    max_subsets : int, default=1000
        Number of subsets to list, the best first. All near-optimal subsets are counted.

    time_limit : float, default=10.0
        Seconds after which the search stops. Then `complete` is False.

    Returns
    -------
    NearOptimal

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from safdr import AnnealingSelector, near_optimal
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> selector = AnnealingSelector(4, random_state=0).fit(X, y)
    >>> near = near_optimal(selector, X, y)
    >>> near.n_total, near.complete, near.in_all.tolist()
    (3, True, [20, 21, 27])
    """
    limits = {"rtol": rtol, "max_subsets": max_subsets, "time_limit": time_limit}
    validate_parameter_constraints(LIMITS, {"size": size} | limits, "near_optimal")
    start = time.monotonic()
    problem, prover, columns, size = _make_prover(selector, X, y, sample_weight, size)
    near = prover.near_optimal(
        size,
        rtol=float(rtol),
        max_subsets=int(max_subsets),
        seconds=max(0.0, start + time_limit - time.monotonic()),
        n_threads=n_workers(n_jobs),
    )
    counts = np.zeros(problem.n_features, dtype=np.int64)
    counts[columns] = near.feature_counts
    names, subsets = problem.names, columns[near.subsets]
    return replace(near, subsets=subsets, feature_counts=counts, feature_names=names)


def _make_prover(
    selector: Any, X: Any, y: Any, sample_weight: Any, size: Any
) -> tuple[Problem, Prover, IntArray, int]:
    problem = built_in_problem(selector, X, y, sample_weight)
    if size is None:
        check_is_fitted(selector)
        size = selector.n_features_
    allowed = problem.allowed
    check_provable(allowed)
    allowed.check_size(size, "size")
    if (n := len(allowed.include) + len(allowed.free)) > MAX_FEATURES:
        raise ParameterError(
            "X",
            f"must have at most {MAX_FEATURES:,} features for bounds; got {n:,}. Leave features "
            "out by never_include, or use stability.",
        )
    criterion, columns = useful_criterion(selector, problem)
    cost = None if problem.cost is None else problem.cost[columns]
    return problem, Prover(criterion, allowed.among(columns), cost), columns, int(size)


def _incumbent(selector: Any, size: int, columns: IntArray) -> IntArray | None:
    """Return the best known subset of a fitted selector, if it has this size."""
    result = getattr(selector, "result_", None)
    if result is None or result.size != size:
        return None
    subset: IntArray = result.subsets[np.argmax(result.criterion_values)]
    places = np.searchsorted(columns, subset)
    return places if np.isin(subset, columns).all() else None
