"""anneal_path: one search for each of several sizes, on moments computed once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike

from safdr._engine.constraints import AllowedSubsets
from safdr._engine.search import Search
from safdr._estimators.cancellation import Cancellation
from safdr._estimators.fixed_size import FixedSizeMixin
from safdr._estimators.parameters import as_int, is_int, seed_from
from safdr._estimators.regressor_selector import AnnealingRegressorSelector
from safdr._estimators.selector import AnnealingSelector
from safdr.result import AnnealingResult

SELECTORS: dict[str, type[FixedSizeMixin]] = {
    "classification": AnnealingSelector,
    "regression": AnnealingRegressorSelector,
}


def anneal_path(
    X: ArrayLike,
    y: ArrayLike,
    sizes: Iterable[int],
    *,
    task: str = "classification",
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
    random_state: Any = None,
    **settings: Any,
) -> list[AnnealingResult]:
    """Search for the best subset of each of several sizes.

    The moments of the rows are computed once. Each result is the one that
    ``AnnealingSelector(size, random_state=random_state)`` finds alone.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Training rows.

    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Labels, or measured outputs.

    sizes : iterable of int
        Numbers of features, each from 1 to n_features.

    task : {"classification", "regression"}, default="classification"
        Whether to search as `AnnealingSelector` or as `AnnealingRegressorSelector` does.

    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    n_jobs : int, default=None
        Number of sizes searched at the same time, through joblib. The answer does not depend on it.

    random_state : int, RandomState instance or None, default=None
        Source of randomness.

    **settings
        Other parameters of the selector, such as `annealing`, `constraints` or `criterion`.

    Returns
    -------
    list of AnnealingResult
        One for each size, in their order.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from safdr import anneal_path
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> for result in anneal_path(X, y, [1, 2, 3], random_state=0):
    ...     print(result.subset, round(result.cross_entropy, 3))
    [22] 0.184
    [23 27] 0.12
    [20 21 27] 0.089
    """
    if "n_features_to_select" in settings:
        raise ValueError("anneal_path takes no n_features_to_select: sizes says how many features.")
    template = selector_for(task, n_jobs=n_jobs, random_state=random_state, **settings)
    rows = template._usable(template._validate_rows(X, y, sample_weight))
    constraints = template._constraints()
    wanted = _check_sizes(sizes, template, constraints)
    search = template._search(rows, constraints, seed_from(random_state))
    if wanted:
        # Else threads that start together would each compute what all of them share.
        search.prepare(max(wanted))
    # Large sizes take longest: first, and one by one, so that all threads end at the same time.
    order = sorted(range(len(wanted)), key=lambda i: -wanted[i])
    # The core releases the GIL, so threads serve; a joblib.parallel_config still decides.
    with Cancellation() as cancellation:
        found = Parallel(n_jobs=as_int(n_jobs), prefer="threads", batch_size=1)(
            delayed(_run)(search, wanted[i], cancellation) for i in order
        )
    results = dict(zip(order, found, strict=True))
    return [results[i] for i in range(len(wanted))]


def _run(search: Search, size: int, cancellation: Cancellation) -> AnnealingResult:
    with cancellation.task():
        return search.run(size)


def selector_for(task: str, **settings: Any) -> FixedSizeMixin:
    """The selector of a task, its parameters checked."""
    if not isinstance(task, str) or task not in SELECTORS:
        raise ValueError(f"task must be one of {', '.join(map(repr, SELECTORS))}; got {task!r}.")
    selector: FixedSizeMixin = SELECTORS[task](**settings)
    selector._validate_params()
    selector._check_models()
    return selector


def _check_sizes(sizes: Any, template: FixedSizeMixin, constraints: AllowedSubsets) -> list[int]:
    if not isinstance(sizes, Iterable) or (isinstance(sizes, np.ndarray) and sizes.ndim == 0):
        raise ValueError(f"sizes must be an iterable of ints, such as range(1, 11); got {sizes!r}.")
    wanted: list[Any] = list(sizes)
    total = int(constraints.counts.sum())
    for size in wanted:
        if not is_int(size) or not 1 <= int(size) <= total:
            raise ValueError(
                f"sizes must be ints from 1 to {template._total(constraints)}; got {size!r}."
            )
        constraints.check_size(int(size), "sizes")
    return [int(size) for size in wanted]
