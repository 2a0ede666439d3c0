"""what_if: the criterion of the most relevant features, without rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, zip_longest
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr
from sklearn.utils._param_validation import Interval, validate_parameter_constraints
from sklearn.utils.validation import check_is_fitted

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.criterion import fisher_columns
from safdr._engine.nearby import outside_gains
from safdr._estimators.data import make_problem
from safdr._estimators.features import Features, features_of, group_names
from safdr._estimators.search import ridge_of
from safdr.errors import ParameterError

BoolArray = NDArray[np.bool_]

# A matrix of 120 columns takes 60 KB on a page. Beside many selected columns there are 60 others.
MAX_COLUMNS, MIN_OTHERS = 120, 60

REASONS = ("requested", "other candidate", "other split", "replacement", "addition", "alone")


@dataclass(frozen=True, eq=False, repr=False)
class WhatIf:
    """The criterion of some features: values of all their subsets, without rows.

    Attributes
    ----------
    names : tuple of str
        Names of the features; a group is one feature. Large groups come first.
    columns : tuple of ndarray of int
        Columns of each feature.
    reasons : tuple of str
        Why each feature is here: "selected", "requested", "other candidate", "other split",
        "replacement" (of a selected feature), "addition" (to all of them), or "alone".
    selected, required : ndarray of shape (n_features,), dtype=bool
        Features that the selector selected, and those that constraints always include.
    exclusive : ndarray of shape (n_features, n_features), dtype=bool
        Pairs of mutually exclusive features.
    costs : ndarray of shape (n_features,)
        Cost of each feature.
    signs : ndarray of shape (n_columns,)
        Required signs of the coefficients; 0 for any sign.
    A : ndarray of shape (n_columns, n_columns)
        Matrix of the criterion, shrinkage included.
    D : ndarray of shape (n_columns, n_outputs)
        The value of columns S is trace(D_S' A_SS⁻¹ D_S).
    collinear_tol : float
        Smallest residual variance of a column that is not collinear with others.
    class_shares : ndarray of shape (n_classes,) or None
        Weight of each class; None in regression.
    criterion : {"fisher", "r2"}
        Name of the criterion.
    n_total : int
        Number of all features.
    """

    names: tuple[str, ...]
    columns: tuple[IntArray, ...]
    reasons: tuple[str, ...]
    selected: BoolArray
    required: BoolArray
    exclusive: BoolArray
    costs: FloatArray
    signs: FloatArray
    A: FloatArray
    D: FloatArray
    collinear_tol: float
    class_shares: FloatArray | None
    criterion: str
    n_total: int
    _features: Features = field(repr=False)

    def __repr__(self) -> str:
        return f"WhatIf({self.criterion!r}, {len(self.names)} of {self.n_total} features)"

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
        return float(np.sum(self._explained(inside) ** 2) - self.costs[inside].sum())

    def score(self, features: Any) -> float:
        """Return the score that the criterion value of a subset implies.

        Parameters
        ----------
        features : sequence of (str or int)
            Names of features, or names or indices of columns.

        Returns
        -------
        float
            R² in regression. For two classes the AUC of normal classes, Φ(√J); for more, the mean
            over classes of the AUC of each against the others. Shrinkage lowers the score.
        """
        explained = self._explained(self._find(features))
        if self.class_shares is None:
            return float(np.sum(explained**2))
        means = explained @ self.class_means
        squares = np.sum((means[:, :, None] - means[:, None, :]) ** 2, axis=0)
        n, others = len(self.class_shares), 1 - self.class_shares
        weight = self.class_shares / others[:, None] / n
        np.fill_diagonal(weight, 0.0)
        return float(np.sum(weight * ndtr(np.sqrt(n / 2 * squares))))

    @property
    def class_means(self) -> FloatArray:
        """Means of the classes as combinations of the columns of D; their mean is zero."""
        if self.class_shares is None:
            raise AttributeError("Only the criterion of classes has `class_means`.")
        n = len(self.class_shares)
        means = np.linalg.pinv(fisher_columns(self.class_shares, np.eye(n), np.ones(n))[0])
        return np.asarray(means, dtype=np.float64)

    def _find(self, features: Any) -> BoolArray:
        """Return a mask of the features; a column stands for its whole group."""
        wanted = self._features.columns(features, "features")
        unknown = np.setdiff1d(wanted, np.concatenate(self.columns))
        if unknown.size:
            names, j = self._features.names, int(unknown[0])
            one = j if names is None else names[j]
            raise ParameterError(
                "features",
                f"must be among the {len(self.names)} features of this WhatIf; got {one!r}. Use "
                f"what_if(..., also=[{one!r}]).",
            )
        return np.array([np.isin(columns, wanted).any() for columns in self.columns])

    def _explained(self, inside: BoolArray) -> FloatArray:
        """Return Z with Z'Z = D_S' A_SS⁻¹ D_S."""
        at = np.repeat(inside, [len(columns) for columns in self.columns])
        values, vectors = np.linalg.eigh(self.A[np.ix_(at, at)])
        kept = values > 1e-12 * values.max(initial=1.0)
        explained: FloatArray = (vectors[:, kept] / np.sqrt(values[kept])).T @ self.D[at]
        return explained


def what_if(
    selector: Any,
    X: Any,
    y: Any,
    *,
    n_features: int = 40,
    also: Any = None,
    sample_weight: Any = None,
) -> WhatIf:
    """Extract the criterion of the most relevant features, to evaluate other subsets.

    The selected features come first. The others alternate between features of other candidates,
    features of other splits, the best replacements, the best additions, and the best alone.

    Parameters
    ----------
    selector : AnnealingSelector, AnnealingSelectorCV, or one of those for regression
        Fitted selector with a built-in criterion. It does not change.

    X : array-like or sparse matrix of shape (n_samples, n_features), or a source
        Rows that the selector was fitted to.

    y : array-like of shape (n_samples,) or (n_samples, n_outputs), or str
        Labels or outputs; the name of their column if X is a source.

    n_features : int, default=40
        Number of features. At least half as many are unselected ones. All features have at most
        120 columns, or 60 beside the selected ones.

    also : sequence of features, default=None
        Names or indices of features to include before the others.

    sample_weight : array-like of shape (n_samples,) or str, default=None
        Weights of the rows.

    Returns
    -------
    WhatIf

    See Also
    --------
    evaluate_subsets : Values and models of any subsets, from rows.
    near_optimal : All subsets close to the best.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from safdr import AnnealingSelector, what_if
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> selector = AnnealingSelector(3, random_state=0).fit(X, y)
    >>> result = what_if(selector, X, y)
    >>> result
    WhatIf('fisher', 30 of 30 features)
    >>> round(result.score(selector.get_feature_names_out()), 4)
    0.9844
    >>> round(result.score(["mean radius", "worst texture", "worst concave points"]), 4)
    0.9833
    """
    limits = {"n_features": [Interval(Integral, 1, None, closed="left")]}
    validate_parameter_constraints(limits, {"n_features": n_features}, caller_name="what_if")
    check_is_fitted(selector)
    if callable(selector.criterion):
        raise ParameterError("criterion", "must be a built-in criterion; a function has no matrix.")
    problem = make_problem(selector, X, y, sample_weight)
    allowed, features = problem.allowed, features_of(selector, problem)
    criterion = problem.column_criterion(ridge_of(selector, problem))
    redundant = criterion.redundant(problem.rank) if problem.is_wide else criterion.redundant
    useful = np.ones(allowed.n_groups, dtype=bool)
    useful[allowed.without(redundant).exclude] = False
    members = np.flatnonzero(allowed.selection_of(selector.subset_))
    requested = allowed.selection_of(features.columns(also, "also"))
    lists = [
        np.flatnonzero(requested),
        *_other_subsets(selector, allowed),
        *_nearby(criterion, allowed, selector.subset_),
    ]
    reasons = _pick(allowed, useful, members, lists, n_features)
    picked = sorted(reasons, key=lambda i: (-len(allowed.groups[i]), i))
    columns = [allowed.groups[i] for i in picked]
    every = np.concatenate(columns)
    names, n = group_names(selector, problem), problem.n_features
    exclusive = np.zeros((len(picked), len(picked)), dtype=bool)
    if allowed.conflicts is not None:
        exclusive = allowed.conflicts[np.ix_(picked, picked)]
    cost = np.zeros(n) if problem.cost is None else problem.cost
    signs = np.zeros(n) if allowed.signs is None else allowed.signs
    shares = None
    if not problem.is_regression:
        weights = np.bincount(problem.codes, problem.sample_weight)
        shares = weights / weights.sum()
    return WhatIf(
        names=tuple(names[i] for i in picked),
        columns=tuple(columns),
        reasons=tuple(reasons[i] for i in picked),
        selected=np.isin(picked, members),
        required=np.isin(picked, allowed.include),
        exclusive=exclusive,
        costs=np.array([cost[group].sum() for group in columns]),
        signs=signs[every],
        A=criterion.block(every),
        D=criterion.D[every],
        collinear_tol=float(criterion.collinear_tol),
        class_shares=shares,
        criterion=problem.criterion_name,
        n_total=allowed.n_groups,
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


def _pick(
    allowed: AllowedSubsets,
    useful: BoolArray,
    members: IntArray,
    lists: list[IntArray],
    n_features: int,
) -> dict[int, str]:
    """Return the features and the reason of each; the lists alternate after the requested ones."""
    picked = dict.fromkeys(members.tolist(), "selected")
    n = max(n_features, len(picked) + n_features // 2)
    n_left = max(MAX_COLUMNS - sum(len(allowed.groups[i]) for i in picked), MIN_OTHERS)
    named = [[(int(i), why) for i in ranked] for ranked, why in zip(lists, REASONS, strict=True)]
    for one in chain(named[0], chain.from_iterable(zip_longest(*named[1:]))):
        if len(picked) >= n:
            break
        if one is None or one[0] in picked or not useful[one[0]]:
            continue
        # A group that does not fit is skipped.
        if len(allowed.groups[one[0]]) <= n_left:
            n_left -= len(allowed.groups[one[0]])
            picked[one[0]] = one[1]
    return picked
