"""prove and near_ties: how good the best subset is, from moments alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from safdr._engine.arrays import IntArray
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.proof.prover import Prover
from safdr._engine.screen import Screen, duplicates_in
from safdr._engine.shrinkage import SMALLEST_AUTO
from safdr._estimators.feature_names import FeatureSpec
from safdr._estimators.moments import Moments
from safdr._estimators.parameters import (
    AUTO,
    SELECTOR_CONSTRAINTS,
    Constraints,
    Number,
    WholeNumber,
    check_values,
    n_workers,
)
from safdr._estimators.plan import SearchPlan
from safdr._estimators.screening import ridge_for_regression
from safdr.errors import ParameterError
from safdr.result import NearTies, Proof

# A list of more is not read by anyone, and takes gigabytes.
MOST_LISTED = 10_000_000

SHARED: dict[str, Any] = {
    "moments": "no_validation",
    "size": [WholeNumber(1)],
    "constraints": SELECTOR_CONSTRAINTS["constraints"],
    "feature_cost": SELECTOR_CONSTRAINTS["feature_cost"],
    "cost_strength": SELECTOR_CONSTRAINTS["cost_strength"],
    "ridge": SELECTOR_CONSTRAINTS["ridge"],
    "time_limit": [Number(0, None, closed="left")],
    "n_jobs": SELECTOR_CONSTRAINTS["n_jobs"],
}


def prove(
    moments: Moments,
    size: int,
    *,
    incumbent: Any = None,
    constraints: Constraints | None = None,
    feature_cost: Any = None,
    cost_strength: float = 1.0,
    ridge: float | str = "auto",
    time_limit: float = 10.0,
    n_jobs: int | None = None,
) -> Proof:
    """Prove which subset of a size has the largest criterion value, or bound how much is missing.

    Branch and bound over all subsets of this size. What is proven is the optimum of the criterion
    (Fisher's ratio, or R²) on the rows that the moments are of, with the ridge: not that of a
    model's loss, nor of a score on other rows.

    Parameters
    ----------
    moments : Moments
        Of the training rows.

    size : int
        Number of features.

    incumbent : sequence of features, default=None
        A good subset, such as `subset_` of a selector: names, indices or a mask. The search also
        finds one of its own to start from.

    constraints : Constraints, default=None
        Which subsets are allowed; None allows all. Groups of several columns can't be proven.
        Whatever they say, a subset with collinear features is not allowed where there are others,
        as in `AnnealingSelector`.

    feature_cost, cost_strength, ridge
        As in `AnnealingSelector`.

    time_limit : float, default=10.0
        Seconds after which to stop, with the bound so far.

    n_jobs : int, default=None
        Number of threads. The answer does not depend on it, unless time is up.

    Returns
    -------
    Proof

    See Also
    --------
    near_ties : All subsets that come near the best.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from safdr import Moments, prove
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> proof = prove(Moments.from_rows(X, y), 4)
    >>> proof.optimal, proof.subset.tolist()
    (True, [20, 21, 23, 27])
    """
    values = {
        "moments": moments,
        "size": size,
        "constraints": constraints,
        "feature_cost": feature_cost,
        "cost_strength": cost_strength,
        "ridge": ridge,
        "time_limit": time_limit,
        "n_jobs": n_jobs,
    }
    _check_moments(moments)
    check_values("prove", values, SHARED)
    features, prover = _prover(values)
    proof = prover.prove(
        int(size),
        incumbent=_incumbent(incumbent, int(size), features, prover.allowed),
        seconds=float(time_limit),
        n_threads=n_workers(n_jobs),
    )
    return replace(proof, feature_names=moments.feature_names)


def near_ties(
    moments: Moments,
    size: int,
    *,
    within: float | None = 0.01,
    at_most: int = 1000,
    constraints: Constraints | None = None,
    feature_cost: Any = None,
    cost_strength: float = 1.0,
    ridge: float | str = "auto",
    time_limit: float = 10.0,
    n_jobs: int | None = None,
) -> NearTies:
    """All subsets of a size whose criterion value comes near the best, proven to be all.

    Parameters
    ----------
    moments : Moments
        Of the training rows.

    size : int
        Number of features.

    within : float, default=0.01
        How near: a share of the best value (of its size, where costs make it negative), from 0 to
        below 1. None lists the `at_most` best, however near, in less time where many come near.

    at_most : int, default=1000
        How many to list, the best first; all that come near are counted.

    constraints, feature_cost, cost_strength, ridge, n_jobs
        As in `prove`.

    time_limit : float, default=10.0
        Seconds after which to stop. Then `exact` is False, and the list has what the search met and
        what is one swap away from the best subset that replicas found.

    Returns
    -------
    NearTies

    See Also
    --------
    prove : The best subset alone, in less time.
    evaluate_subsets : Losses and scores of models on the subsets, from rows.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from safdr import Moments, near_ties
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> ties = near_ties(Moments.from_rows(X, y), 4, within=0.01)
    >>> ties.n_total, ties.exact, ties.in_all.tolist()
    (3, True, [20, 21, 27])

    Their losses take rows; so do scores, on rows held out.

    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from safdr import evaluate_subsets
    >>> evaluate_subsets(X, y, ties.subsets).losses.round(3).tolist()
    [0.108, 0.11, 0.112]
    >>> model = make_pipeline(StandardScaler(), LogisticRegression())
    >>> scores = [cross_val_score(model, X[:, subset], y).mean() for subset in ties.subsets]
    >>> np.round(scores, 3).tolist()
    [0.965, 0.965, 0.967]
    """
    values = {
        "moments": moments,
        "size": size,
        "within": within,
        "at_most": at_most,
        "constraints": constraints,
        "feature_cost": feature_cost,
        "cost_strength": cost_strength,
        "ridge": ridge,
        "time_limit": time_limit,
        "n_jobs": n_jobs,
    }
    allowed = {
        "within": [None, Number(0, 1, closed="left")],
        "at_most": [WholeNumber(1, MOST_LISTED)],
    }
    _check_moments(moments)
    check_values("near_ties", values, SHARED | allowed)
    _, prover = _prover(values)
    ties = prover.near_ties(
        int(size),
        within=None if within is None else float(within),
        at_most=int(at_most),
        seconds=float(time_limit),
        n_threads=n_workers(n_jobs),
    )
    return replace(ties, feature_names=moments.feature_names)


def _check_moments(moments: Any) -> None:
    """Refuse rows, which say too little without their target."""
    if not isinstance(moments, Moments):
        raise ParameterError(
            "moments",
            "must be Moments, which Moments.from_rows(X, y) makes of rows; got {kind}.",
            kind=type(moments).__name__,
        )


def _prover(values: dict[str, Any]) -> tuple[FeatureSpec, Prover]:
    """The features and the criterion, of parameters that are checked."""
    moments = values["moments"]
    seen = _SeenColumns(moments)
    names = ("constraints", "feature_cost", "cost_strength", "ridge")
    plan = SearchPlan(**{name: values[name] for name in names})
    allowed, cost = plan.allowed(seen), plan.cost(seen)
    if values["size"] > moments.n_features:
        raise ParameterError(
            "size",
            "must be from 1 to {most}, the number of features of {moments}; got {size}.",
            most=moments.n_features,
            size=values["size"],
        )
    criterion: Any = moments._criterion(plan.ridge, allowed.rank(cost))
    limits = None if plan.constraints is None else allowed
    found = duplicates_in(moments._total_covariance(), constraints=limits, cost=cost)
    redundant = np.union1d(criterion.redundant, np.flatnonzero(found.redundant))
    if plan.ridge == AUTO and moments.task == "regression":
        how = {"n_rows": criterion.marginals.weight, "ridge": SMALLEST_AUTO, "redundant": redundant}
        screen = Screen(criterion, constraints=limits, is_regression=True, **how)
        ridge = ridge_for_regression(criterion.ridge, screen.unexplained)
        criterion = moments._criterion(ridge, allowed.rank(cost))
    criterion = replace(criterion, redundant=redundant)
    return plan.features(seen), Prover(criterion, allowed, cost)


class _SeenColumns:
    """The columns that moments are of, as a plan asks for them."""

    def __init__(self, moments: Moments) -> None:
        self.n_features_in_ = moments.n_features
        if moments.feature_names is not None:
            self.feature_names_in_ = np.array(moments.feature_names, dtype=object)


def _incumbent(
    given: Any, size: int, features: FeatureSpec, allowed: AllowedSubsets
) -> IntArray | None:
    """Columns of a subset that was found elsewhere."""
    if given is None:
        return None
    subset = features.columns(given, "incumbent")
    if len(subset) != size:
        raise ParameterError(
            "incumbent",
            "must hold {size} features, as {size_name} says; got {n}.",
            size=size,
            size_name="size",
            n=len(subset),
        )
    if not allowed.allows(allowed.selection_of(subset)):
        raise ParameterError("incumbent", "must be a subset that {constraints} allow; it is not.")
    return subset
