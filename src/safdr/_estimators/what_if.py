"""what_if: the criterion of the features that matter, small enough to carry along."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, zip_longest
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr
from sklearn.utils.validation import check_is_fitted

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.criterion import fisher_columns
from safdr._engine.nearby import Products
from safdr._estimators.base import AnnealingSelectorBase
from safdr._estimators.feature_names import FeatureSpec, names_of
from safdr._estimators.parameters import WholeNumber, check_values, seed_from
from safdr._estimators.plan import SearchPlan
from safdr._estimators.training_data import TrainingData
from safdr._estimators.validation import SeenColumns
from safdr.errors import Columns, ParameterError

BoolArray = NDArray[np.bool_]

# More columns than these are carried only where they were chosen: a matrix of 120 is 60 KB.
MOST_COLUMNS = 120

# Why a feature is among those that matter, in the order in which they take turns.
REASONS = ("asked for", "another good set", "other splits", "replacement", "addition", "alone")


@dataclass(frozen=True, eq=False, repr=False)
class WhatIf:
    """The criterion of some features: the value of any subset of them, without any rows.

    Features of most columns come first, then in the order of the table: so the search looks at
    groups for columns that follow from others.

    Attributes
    ----------
    names : tuple of str
        Names of the features.
    columns : tuple of ndarray of int
        Columns of each; those of a group enter and leave together.
    reasons : tuple of str
        Why each is here: "chosen", "asked for", "another good set" (that replicas, or a proof,
        found), "other splits", "replacement" (of a chosen one), "addition" (to them), or "alone".
    chosen, required : ndarray of shape (n_features,), dtype=bool
        What the selector chose, and what constraints put into every subset.
    rivals : ndarray of shape (n_features, n_features), dtype=bool
        Pairs that constraints keep apart.
    counts : ndarray of shape (n_features,)
        What each counts towards the size.
    costs : ndarray of shape (n_features,)
        What each takes off the criterion.
    signs : ndarray of shape (n_columns,)
        Signs that coefficients must have, of the columns of all features; 0 where any will do.
    A : ndarray of shape (n_columns, n_columns)
        Of the columns of all features, one after the other; with the ridge.
    D : ndarray of shape (n_columns, n_outputs)
        The value of the columns S is trace(D_S'·A_SS⁻¹·D_S).
    collinear_tol : float
        A column that has no more variance of its own than this adds nothing to those before it.
    shares : ndarray of shape (n_classes,) or None
        Weight of each class; None where the criterion is not Fisher's ratio.
    kind : {"fisher", "r2"}
        What the criterion is.
    n_total : int
        Number of features that there are.
    """

    names: tuple[str, ...]
    columns: tuple[IntArray, ...]
    reasons: tuple[str, ...]
    chosen: BoolArray
    required: BoolArray
    rivals: BoolArray
    counts: IntArray
    costs: FloatArray
    signs: FloatArray
    A: FloatArray
    D: FloatArray
    collinear_tol: float
    shares: FloatArray | None
    kind: str
    n_total: int
    _spec: FeatureSpec = field(repr=False)

    def __repr__(self) -> str:
        return f"WhatIf({self.kind}, {len(self.names)} of {self.n_total} features)"

    def value(self, features: Any) -> float:
        """Criterion value of a subset, less the cost of its features.

        Parameters
        ----------
        features : sequence of features
            Names or indices of columns, or names of groups.

        Returns
        -------
        float
        """
        inside = self._inside(features)
        return float(np.sum(self._explained(inside) ** 2) - self.costs[inside].sum())

    def score(self, features: Any) -> float:
        """Score that the criterion value of a subset stands for.

        Parameters
        ----------
        features : sequence of features
            Names or indices of columns, or names of groups.

        Returns
        -------
        float
            R² in regression. The area under the ROC curve of two classes that are normal, Φ(√J). Of
            more classes, with equal covariances, the mean of it over the classes, each against a
            row of the others. With shrinkage J is smaller, and the score is too low.
        """
        found = self._explained(self._inside(features))
        if self.kind == "r2":
            return float(np.sum(found**2))
        if self.shares is None:
            return np.nan
        means = found @ self.class_means
        apart = np.sum((means[:, :, None] - means[:, None, :]) ** 2, axis=0)
        n, others = len(self.shares), 1 - self.shares
        weight = self.shares / others[:, None] / n
        np.fill_diagonal(weight, 0.0)
        return float(np.sum(weight * ndtr(np.sqrt(n / 2 * apart))))

    @property
    def class_means(self) -> FloatArray:
        """Means of the classes, less the mean of these, as combinations of the columns of D."""
        assert self.shares is not None
        n = len(self.shares)
        means = np.linalg.pinv(fisher_columns(self.shares, np.eye(n), np.ones(n))[0])
        return np.asarray(means, dtype=np.float64)

    def _inside(self, features: Any) -> BoolArray:
        """The features that hold the given columns; all of a group comes along."""
        wanted = self._spec.columns(features, "features")
        inside = np.array([np.isin(columns, wanted).any() for columns in self.columns])
        known = np.concatenate(self.columns)
        unknown = np.setdiff1d(wanted, known)
        if unknown.size:
            raise ParameterError(
                "features",
                "must be among the {n} that are carried here; {unknown} is not. Ask for it: "
                "what_if(…, also=…).",
                n=len(self.names),
                unknown=Columns(unknown[:1], self._spec.labels),
            )
        return inside

    def _explained(self, inside: BoolArray) -> FloatArray:
        """Z with Z'·Z = D_S'·A_SS⁻¹·D_S."""
        at = np.repeat(inside, [len(columns) for columns in self.columns])
        values, vectors = np.linalg.eigh(self.A[np.ix_(at, at)])
        kept = values > 1e-12 * values.max(initial=1.0)
        found: FloatArray = (vectors[:, kept] / np.sqrt(values[kept])).T @ self.D[at]
        return found


def what_if(
    selector: Any,
    X: Any,
    y: Any,
    *,
    n_features: int = 40,
    also: Any = None,
    sample_weight: ArrayLike | str | None = None,
) -> WhatIf:
    """Take the features that matter out of the criterion, to ask what other subsets are worth.

    Beside the chosen ones these are, in turn: those of other good subsets that were found, those
    that other splits chose, those that best replace a chosen one, that add most to all of them, and
    that are best alone. Those that constraints keep out are left out.

    Parameters
    ----------
    selector : AnnealingSelector, AnnealingSelectorCV, or one of those for regression
        Fitted, with a criterion of ours.

    X : array-like or sparse matrix of shape (n_samples, n_features), or a source
        The rows that it was fitted to.

    y : array-like of shape (n_samples,) or (n_samples, n_outputs), or str
        Their labels or measured outputs. Of a source, the name of their column.

    n_features : int, default=40
        How many features to carry; at least half as many beside the chosen ones, and no more than
        120 columns unless they were chosen.

    also : sequence of features, default=None
        Names or indices of features that come before the others.

    sample_weight : array-like of shape (n_samples,) or str, default=None
        The weights that it was fitted with. Of a source, the name of their column.

    Returns
    -------
    WhatIf

    See Also
    --------
    evaluate_subsets : Of any subset, from rows; with models.
    near_ties : All subsets that come near the best.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from safdr import AnnealingSelector, what_if
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> selector = AnnealingSelector(3, random_state=0).fit(X, y)
    >>> ask = what_if(selector, X, y)
    >>> ask
    WhatIf(fisher, 30 of 30 features)
    >>> round(ask.score(selector.get_feature_names_out()), 4)
    0.9844
    >>> round(ask.score(["mean radius", "worst texture", "worst concave points"]), 4)
    0.9833
    """
    _check_selector(selector)
    check_values("what_if", {"n_features": n_features}, {"n_features": [WholeNumber(1)]})
    plan = SearchPlan.of_fitted(selector)
    data, _ = plan.usable(_data(selector, plan, X, y, sample_weight))
    allowed, cost, spec = plan.allowed(selector), plan.cost(selector), plan.features(selector)
    known = _Known(data, plan, allowed, cost, selector.subset_)
    turns = [
        allowed.group_of[spec.in_order(also, "also")].tolist(),
        *_found(selector, allowed),
        *known.ranked(),
    ]
    reasons = _picked(allowed, known.useful, known.members, turns, int(n_features))
    every = sorted(reasons, key=lambda i: (-len(allowed.groups[i]), i))
    columns = [allowed.groups[i] for i in every]
    A, D = known.block(np.concatenate(columns))
    titles = selector.feature_groups_.names(names_of(selector))
    none = np.zeros((allowed.n_groups, allowed.n_groups), dtype=bool)
    rivals = none if allowed.conflicts is None else allowed.conflicts
    nothing = np.zeros(allowed.n_features)
    paid = nothing if cost is None else cost
    signs = nothing if allowed.signs is None else allowed.signs
    return WhatIf(
        names=tuple(titles[i] for i in every),
        columns=tuple(columns),
        reasons=tuple(reasons[i] for i in every),
        chosen=np.isin(every, known.members),
        required=np.isin(every, allowed.include),
        rivals=rivals[np.ix_(every, every)],
        counts=np.ones(len(every), dtype=np.int64),
        costs=np.array([paid[some].sum() for some in columns]),
        signs=signs[np.concatenate(columns)],
        A=A,
        D=D,
        collinear_tol=known.collinear_tol,
        shares=known.shares,
        kind=known.kind,
        n_total=int(allowed.n_groups),
        _spec=spec,
    )


def _check_selector(selector: Any) -> None:
    """Refuse what is no fitted selector, and criteria that are no formula."""
    if not isinstance(selector, AnnealingSelectorBase):
        raise ParameterError(
            "selector",
            "must be a fitted AnnealingSelector, AnnealingSelectorCV or one of those for "
            "regression; got {kind}.",
            kind=type(selector).__name__,
        )
    check_is_fitted(selector)
    if selector.ridge_ is None:
        raise ParameterError(
            "selector",
            "must have a criterion of ours: one of your own is no formula that could be carried "
            "along. Use evaluate_subsets, or the criterion itself.",
        )


def _data(selector: Any, plan: SearchPlan, X: Any, y: Any, sample_weight: Any) -> TrainingData:
    """The rows of the fit, in memory or read in passes; the selector stays as it is."""
    seen: Any = SeenColumns()
    if plan.reads(X, y):
        from safdr._estimators.streamed.reading import read

        return read(
            seen, selector._task, plan, X, y, sample_weight, seed_from(selector.random_state)
        )
    data: TrainingData = selector._task.validate(seen, X, y, sample_weight)
    ours, theirs = (getattr(each, "feature_names_in_", None) for each in (selector, seen))
    other_names = ours is not None and theirs is not None and ours.tolist() != theirs.tolist()
    if seen.n_features_in_ != selector.n_features_in_ or other_names:
        raise ParameterError(
            "X",
            "must have the {n} columns that the selector was fitted to, in their order; it has "
            "others.",
            n=selector.n_features_in_,
        )
    return data


class _Known:
    """The criterion of the rows, with all products of columns or with those of some at a time."""

    def __init__(
        self,
        data: TrainingData,
        plan: SearchPlan,
        allowed: AllowedSubsets,
        cost: FloatArray | None,
        subset: IntArray,
    ) -> None:
        rank = plan.rank(allowed, cost)
        self._allowed, self._subset, self._wide = allowed, subset, data.is_wide
        self._criterion: Any = (
            data.wide_criterion(plan.ridge) if self._wide else data.criterion(plan.ridge, rank)
        )
        redundant: Any = self._criterion.redundant
        self.members = np.flatnonzero(allowed.selection_of(subset))
        self.useful = np.ones(allowed.n_groups, dtype=bool)
        self.useful[allowed.without(redundant(rank) if self._wide else redundant).exclude] = False
        self.collinear_tol = float(self._criterion.collinear_tol)
        self.kind = data.criteria[1]

    @property
    def shares(self) -> FloatArray | None:
        """Weight of each class, where the criterion tells classes apart."""
        if self.kind != "fisher":
            return None
        criterion = self._criterion
        weight = (criterion.rows.moments if self._wide else criterion.marginals).weight
        return np.asarray(weight / weight.sum())

    def block(self, columns: IntArray) -> tuple[FloatArray, FloatArray]:
        """A and D of some columns."""
        criterion = self._criterion
        if self._wide:
            return criterion.block(columns), criterion.D[columns]
        return criterion.A[np.ix_(columns, columns)], criterion.D[columns]

    def ranked(self) -> list[list[int]]:
        """Features that best replace members, that add most to them, and that are best alone."""
        products = Products.of(self._criterion, self._subset)
        of_columns = self._allowed.group_of[self._subset]
        gains = products.gains([np.flatnonzero(of_columns == i) for i in self.members])
        alone = np.sum(products.D**2, axis=1) / np.maximum(products.diagonal, 1e-300)
        # A group is worth at least what the best of its columns is.
        of_groups = np.full((len(gains) + 1, self._allowed.n_groups), -np.inf)
        for worth, columns in zip(of_groups, [*gains, alone], strict=True):
            np.maximum.at(worth, self._allowed.group_of, columns)
        order = np.argsort(-of_groups, axis=1, kind="stable")
        first_of_each = list(dict.fromkeys(order[1:-1].T.ravel().tolist()))
        return [first_of_each, order[0].tolist(), order[-1].tolist()]


def _found(selector: Any, allowed: AllowedSubsets) -> Iterator[list[int]]:
    """Features of other good subsets, the best first; and those that other splits chose."""
    result, proof = selector.result_, selector.proof_
    order = np.lexsort((-result.criterion_values, result.losses + result.penalties))
    subsets = [*([] if proof is None else [proof.subset]), *result.subsets[order]]
    columns = np.concatenate(subsets)
    yield list(dict.fromkeys(allowed.group_of[columns[columns >= 0]].tolist()))
    times = np.zeros(allowed.n_groups, dtype=np.int64)
    if hasattr(selector, "cv_results_"):
        table = selector.cv_results_
        at = int(np.flatnonzero(table["n_features"] == selector.n_features_)[0])
        for split in range(selector.n_splits_):
            times += allowed.selection_of(np.flatnonzero(table[f"split{split}_support"][at]))
    yield [int(i) for i in np.argsort(-times, kind="stable") if times[i]]


def _picked(
    allowed: AllowedSubsets, useful: BoolArray, members: IntArray, turns: list[list[int]], n: int
) -> dict[int, str]:
    """From the groups that matter to why they do; each list names one in its turn."""
    picked = dict.fromkeys(members.tolist(), "chosen")
    n = max(n, len(picked) + n // 2)
    room = MOST_COLUMNS - sum(len(allowed.groups[i]) for i in picked)
    named = [[(i, why) for i in turn] for turn, why in zip(turns, REASONS, strict=True)]
    # What was asked for does not wait.
    for each in chain(named[0], chain.from_iterable(zip_longest(*named[1:]))):
        if len(picked) == n:
            break
        if each is None or each[0] in picked or not useful[each[0]]:
            continue
        if (room := room - len(allowed.groups[each[0]])) < 0:
            break
        picked[each[0]] = each[1]
    return picked
