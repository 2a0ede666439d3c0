"""what_if: the criterion of the most relevant features, for use without rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, validate_parameter_constraints
from sklearn.utils.validation import check_is_fitted

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.criterion import Criterion
from safdr._engine.nearby import outside_gains
from safdr._estimators.inputs import Features, built_in_problem, features_of, group_names
from safdr._estimators.search import ridge_of
from safdr.errors import ParameterError

BoolArray = NDArray[np.bool_]

# A matrix of 120 columns takes 60 KB on a page. Beside many selected columns there are 60 others.
MAX_COLUMNS, MIN_OTHERS = 120, 60


@dataclass(frozen=True, eq=False, repr=False)
class WhatIf:
    """Criterion of the most relevant features, for all their subsets, without rows.

    Attributes
    ----------
    names : tuple of str
        Names of the features; a group is one feature. Large groups come first.
    columns : tuple of ndarray of int
        Columns of each feature.
    selected, required : ndarray of shape (n_features,), dtype=bool
        Features that the selector selected, and those that constraints always include.
    exclusive : ndarray of shape (n_features, n_features), dtype=bool
        Pairs of mutually exclusive features.
    costs : ndarray of shape (n_features,)
        Cost of each feature.
    A, D : ndarray of shape (n_columns, n_columns) and (n_columns, n_outputs)
        Matrices of the criterion, shrinkage included: columns S have the value
        trace(D_S' A_SS⁻¹ D_S).
    criterion : {"fisher", "r2"}
        Name of the criterion.
    """

    names: tuple[str, ...]
    columns: tuple[IntArray, ...]
    selected: BoolArray
    required: BoolArray
    exclusive: BoolArray
    costs: FloatArray
    A: FloatArray
    D: FloatArray
    criterion: str
    _features: Features = field(repr=False)

    def __repr__(self) -> str:
        return f"WhatIf(criterion={self.criterion!r}, n_features={len(self.names)})"

    def value(self, features: Any) -> float:
        """Return the criterion value of a subset, less the cost of its features.

        Parameters
        ----------
        features : sequence of (str or int)
            Names of features, or names or indices of columns.

        Returns
        -------
        float
        """
        inside = self._find(features)
        at = np.repeat(inside, [len(columns) for columns in self.columns])
        explained = self.D[at] * (
            np.linalg.pinv(self.A[np.ix_(at, at)], hermitian=True) @ self.D[at]
        )
        return float(explained.sum() - self.costs[inside].sum())

    def _find(self, features: Any) -> BoolArray:
        """Return a mask of the features; a column stands for its whole group."""
        requested = self._features.columns(features, "features")
        unknown = np.setdiff1d(requested, np.concatenate(self.columns))
        if unknown.size:
            names, j = self._features.names, int(unknown[0])
            feature = j if names is None else names[j]
            raise ParameterError(
                "features",
                f"must be among the {len(self.names)} features of this WhatIf; got {feature!r}. "
                f"Use what_if(..., also=[{feature!r}]).",
            )
        return np.array([np.isin(columns, requested).any() for columns in self.columns])


def what_if(
    selector: Any,
    X: Any,
    y: Any,
    *,
    n_features: int = 40,
    also: Any = None,
    sample_weight: Any = None,
) -> WhatIf:
    """Extract the criterion of the most relevant features, to evaluate other subsets without rows.

    Besides the selected features, these are the best additions and replacements, and the features
    with the largest criterion values alone.

    Parameters
    ----------
    selector : AnnealingSelector or another selector
        Fitted selector with a built-in criterion.

    X, y, sample_weight
        Rows that the selector was fitted to.

    n_features : int, default=40
        Number of features. At least half as many are unselected. Fewer are returned if they have
        more than 120 columns.

    also : sequence of features, default=None
        Names or indices of features to include before the others.

    Returns
    -------
    WhatIf

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from safdr import AnnealingSelector, what_if
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> selector = AnnealingSelector(3, random_state=0).fit(X, y)
    >>> result = what_if(selector, X, y)
    >>> result
    WhatIf(criterion='fisher', n_features=30)
    >>> round(result.value(selector.get_feature_names_out()), 3)
    4.639
    >>> round(result.value(["mean radius", "worst texture", "worst concave points"]), 3)
    4.529
    """
    limits = {"n_features": [Interval(Integral, 1, None, closed="left")]}
    validate_parameter_constraints(limits, {"n_features": n_features}, caller_name="what_if")
    check_is_fitted(selector)
    problem = built_in_problem(selector, X, y, sample_weight)
    allowed, features = problem.allowed, features_of(selector, problem)
    criterion = problem.column_criterion(ridge_of(selector, problem))
    members = np.flatnonzero(allowed.selection_of(selector.subset_))
    requested = np.flatnonzero(allowed.selection_of(features.columns(also, "also")))
    others = [*requested.tolist(), *_relevant(criterion, allowed, selector.subset_)]
    excluded = {*members.tolist(), *allowed.without(criterion.redundant).exclude.tolist()}
    others = [i for i in dict.fromkeys(others) if i not in excluded]
    chosen = _choose(allowed, members.tolist(), others, n_features)
    columns = [allowed.groups[i] for i in chosen]
    all_columns = np.concatenate(columns)
    names = group_names(selector, problem)
    exclusive = np.zeros((len(chosen), len(chosen)), dtype=bool)
    if allowed.conflicts is not None:
        exclusive = allowed.conflicts[np.ix_(chosen, chosen)]
    cost = np.zeros(problem.n_features) if problem.cost is None else problem.cost
    return WhatIf(
        names=tuple(names[i] for i in chosen),
        columns=tuple(columns),
        selected=np.isin(chosen, members),
        required=np.isin(chosen, allowed.include),
        exclusive=exclusive,
        costs=np.array([cost[group].sum() for group in columns]),
        A=criterion.block(all_columns),
        D=criterion.D[all_columns],
        criterion=problem.criterion_name,
        _features=features,
    )


def _relevant(criterion: Criterion, allowed: AllowedSubsets, subset: IntArray) -> list[int]:
    """Return all features: in turns the best addition, replacement of each member, and alone."""
    alone = outside_gains(criterion, allowed, subset[:0])
    gains = np.vstack([outside_gains(criterion, allowed, subset), alone])
    order: list[int] = np.argsort(-gains, axis=1, kind="stable").T.ravel().tolist()
    return order


def _choose(
    allowed: AllowedSubsets, members: list[int], others: list[int], n_features: int
) -> list[int]:
    """Return the members, and the first others that fit; large groups come first."""
    lengths, chosen = allowed.lengths, list(members)
    n = max(n_features, len(members) + n_features // 2)
    n_left = max(MAX_COLUMNS - lengths[members].sum(), MIN_OTHERS)
    for i in others:  # a group that does not fit is skipped
        if lengths[i] <= n_left and len(chosen) < n:
            n_left -= lengths[i]
            chosen.append(i)
    return sorted(chosen, key=lambda i: (-lengths[i], i))
