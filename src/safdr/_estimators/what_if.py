"""what_if: the criterion of the most relevant features, for use without rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, zip_longest
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, validate_parameter_constraints
from sklearn.utils.validation import check_is_fitted

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.nearby import outside_gains
from safdr._estimators.inputs import Features, features_of, group_names, make_problem
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

    The selected features come first, then relevant others: from other candidates and splits, and by
    their criterion value with the selected ones and alone.

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
    if callable(selector.criterion):
        raise ParameterError(
            "criterion",
            f"must be built-in, because a callable has no matrix; got {selector.criterion!r}.",
        )
    problem = make_problem(selector, X, y, sample_weight)
    allowed, features = problem.allowed, features_of(selector, problem)
    criterion = problem.column_criterion(ridge_of(selector, problem))
    excluded = set(allowed.without(criterion.redundant).exclude.tolist())
    members = np.flatnonzero(allowed.selection_of(selector.subset_))
    requested = allowed.selection_of(features.columns(also, "also"))
    lists = [
        np.flatnonzero(requested),
        *_other_subsets(selector, allowed),
        *_nearby(criterion, allowed, selector.subset_),
    ]
    chosen = _choose(allowed, excluded, members, lists, n_features)
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


def _other_subsets(selector: Any, allowed: AllowedSubsets) -> Iterator[IntArray]:
    """Yield the features of other candidates, the best first; and those of other splits."""
    result = selector.result_
    order = np.lexsort((-result.criterion_values, result.losses + result.cost_terms))
    columns = result.subsets[order].ravel()
    features = allowed.group_of[columns[columns >= 0]]
    yield np.array(list(dict.fromkeys(features.tolist())))
    counts = np.zeros(allowed.n_groups, dtype=np.int64)
    if hasattr(selector, "cv_results_"):
        table = selector.cv_results_
        at = int(np.flatnonzero(table["n_features"] == selector.n_features_)[0])
        for split in range(selector.n_splits_):
            counts += allowed.selection_of(np.flatnonzero(table[f"split{split}_support"][at]))
    order = np.argsort(-counts, kind="stable")
    yield order[counts[order] > 0]


def _nearby(criterion: Any, allowed: AllowedSubsets, subset: IntArray) -> Iterator[IntArray]:
    """Yield the best replacements of each member, the best additions, and the best alone."""
    gains = outside_gains(criterion, allowed, subset)
    alone = outside_gains(criterion, allowed, np.empty(0, dtype=np.int64))
    order = np.argsort(-np.vstack([gains, alone]), axis=1, kind="stable")
    yield np.array(list(dict.fromkeys(order[1:-1].T.ravel().tolist())))
    yield order[0]
    yield order[-1]


def _choose(
    allowed: AllowedSubsets,
    excluded: set[int],
    members: IntArray,
    lists: list[IntArray],
    n_features: int,
) -> list[int]:
    """Return the members, the first list, and others from all lists in alternation."""
    chosen = members.tolist()
    n = max(n_features, len(chosen) + n_features // 2)
    lengths = [len(columns) for columns in allowed.groups]
    n_left = max(MAX_COLUMNS - sum(lengths[i] for i in chosen), MIN_OTHERS)
    for i in chain(lists[0].tolist(), *zip_longest(*map(np.ndarray.tolist, lists[1:]))):
        # A group that does not fit is skipped.
        is_new = i is not None and i not in chosen and i not in excluded
        if is_new and lengths[i] <= n_left and len(chosen) < n:
            n_left -= lengths[i]
            chosen.append(i)
    return sorted(chosen, key=lambda i: (-lengths[i], i))
