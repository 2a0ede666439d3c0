"""anneal_path: one search for each of several sizes, on moments computed once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike

from safdr._engine.constraints import AllowedSubsets
from safdr._engine.screened_search import AnySearch
from safdr._estimators.measured_data import MeasuredData
from safdr._estimators.parameters import (
    REGRESSOR_CONSTRAINTS,
    SELECTOR_CONSTRAINTS,
    AnyAnnealing,
    Constraints,
    as_int,
    check_values,
    is_int,
    seed_from,
)
from safdr._estimators.plan import SearchPlan
from safdr._estimators.screening import make_search
from safdr._estimators.tasks import check_task
from safdr._estimators.training_data import ClassData
from safdr._estimators.validation import SeenColumns
from safdr._estimators.workers import Cancellation
from safdr.errors import ParameterError
from safdr.result import AnnealingResult

# `SearchPlan.check_models` refuses class weights of regression.
ALLOWED = {
    ClassData: SELECTOR_CONSTRAINTS,
    MeasuredData: SELECTOR_CONSTRAINTS | REGRESSOR_CONSTRAINTS,
}


def anneal_path(
    X: ArrayLike,
    y: ArrayLike,
    sizes: Iterable[int],
    *,
    task: str = "classification",
    sample_weight: ArrayLike | None = None,
    annealing: AnyAnnealing | None = None,
    constraints: Constraints | None = None,
    criterion: Any = "auto",
    estimator: Any = None,
    feature_cost: Any = None,
    cost_strength: float = 1.0,
    class_weight: Any = None,
    ridge: float | str = "auto",
    C: float | None = None,
    device: Any = None,
    n_jobs: int | None = None,
    random_state: Any = None,
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

    annealing : Annealing or PopulationAnnealing, default=None
        How to anneal; None is ``Annealing()``.

    constraints : Constraints, default=None
        Which subsets are allowed; None allows all.

    criterion, estimator, feature_cost, cost_strength, class_weight, ridge, device
        As in `AnnealingSelector`; regression has no class weights.

    C : float, default=None
        As in the selectors; None is their default: 1 for labels, inf for measured outputs.

    n_jobs : int, default=None
        Number of sizes searched at the same time, through joblib. The answer does not depend on it.

    random_state : int, RandomState instance or None, default=None
        Source of randomness.

    Returns
    -------
    list of AnnealingResult
        One for each size, in their order; of a data frame, with names.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from safdr import anneal_path
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> for result in anneal_path(X, y, [1, 2, 3], random_state=0):
    ...     print(result.subset, round(result.cross_entropy, 3))
    [22] 0.208
    [20 27] 0.145
    [20 21 27] 0.115
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> anneal_path(X, y, [2], random_state=0)[0].subset_names
    ('worst radius', 'worst concave points')
    """
    kind = check_task(task)
    plan = SearchPlan(
        annealing=annealing,
        constraints=constraints,
        criterion=criterion,
        estimator=estimator,
        feature_cost=feature_cost,
        cost_strength=cost_strength,
        class_weight=class_weight,
        ridge=ridge,
        C=kind.default_C if C is None else C,
        device=device,
    )
    values = vars(plan) | {"n_jobs": n_jobs, "random_state": random_state}
    check_values("anneal_path", values, ALLOWED[kind])
    plan.check_models(kind)
    seen = SeenColumns()
    data = kind.validate(seen, X, y, sample_weight).usable(class_weight)
    allowed = plan.allowed(seen)
    wanted = _check_sizes(sizes, plan, allowed)
    if not wanted:
        return []
    cost, seed = plan.cost(seen), seed_from(random_state)
    search = make_search(plan, data, allowed, cost, seed)
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
    names = getattr(seen, "feature_names_in_", None)
    return [results[i].with_names(names) for i in range(len(wanted))]


def _run(search: AnySearch, size: int, cancellation: Cancellation) -> AnnealingResult:
    with cancellation.task():
        return search.run(size)


def _check_sizes(sizes: Any, plan: SearchPlan, allowed: AllowedSubsets) -> list[int]:
    if not isinstance(sizes, Iterable) or (isinstance(sizes, np.ndarray) and sizes.ndim == 0):
        raise ParameterError(
            "sizes",
            "must be an iterable of ints, such as range(1, 11); got {sizes!r}.",
            sizes=sizes,
        )
    wanted: list[Any] = list(sizes)
    total = allowed.n_groups
    for size in wanted:
        if not is_int(size) or not 1 <= int(size) <= total:
            raise ParameterError(
                "sizes",
                "must be ints from 1 to {total}; got {size!r}.",
                total=plan.total(allowed),
                size=size,
            )
        allowed.check_size(int(size), "sizes")
    return [int(size) for size in wanted]
