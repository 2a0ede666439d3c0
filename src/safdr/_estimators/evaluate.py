"""evaluate_subsets: criterion value and linear model of any subsets, however they were found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.criterion import Ridge
from safdr._engine.search import fit_padded, padded, values_padded
from safdr._estimators.feature_names import WAYS, FeatureSpec, is_single
from safdr._estimators.parameters import AUTO, C_NUMBER, check_values, n_workers
from safdr._estimators.plan import SearchPlan
from safdr._estimators.screening import Screening
from safdr._estimators.tasks import check_task
from safdr._estimators.training_data import TrainingData
from safdr._estimators.validation import SeenColumns
from safdr._frames import to_frame
from safdr.errors import ParameterError

# What to say to those who pass on what a result holds.
FILLED = (
    " Rows that a result has filled up with -1 are passed as [row[row >= 0] for row in "
    "result.subsets]."
)


@dataclass(frozen=True, eq=False)
class SubsetEvaluation:
    """Criterion values and linear models of given subsets on the same rows.

    Attributes
    ----------
    subsets : ndarray of shape (n_subsets, size)
        Columns of each subset, in the order given. Where subsets differ in size, rows are filled up
        with -1, and those of the coefficients with 0.
    criterion_values : ndarray of shape (n_subsets,)
        Fisher discriminant ratio of each, or R².
    fits : named tuple of arrays
        The model of each, penalised by `C`: `coefficients`, `intercepts`, `losses`, `separated`.
    loss_name : {"cross_entropy", "squared_error"}
        What the losses are.
    losses : ndarray of shape (n_subsets,)
        Mean cross-entropy of each model on the rows, or mean squared error; the penalty included.
    cross_entropies : ndarray of shape (n_subsets,)
        The losses of logistic models.
    feature_names : tuple of str or None
        Of all features, for people; None where they have no names.
    """

    subsets: IntArray
    criterion_values: FloatArray
    fits: Any
    loss_name: str
    feature_names: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        best = int(np.argmin(self.losses))
        return (
            f"SubsetEvaluation(n_subsets={len(self.subsets)}, best={self._named(best)}, "
            f"criterion_value={self.criterion_values[best]:.6g}, "
            f"{self.loss_name}={self.losses[best]:.6g})"
        )

    def _named(self, i: int) -> list[Any]:
        """Names of the columns of a subset, or their indices."""
        subset = self.subsets[i][self.subsets[i] >= 0].tolist()
        return subset if self.feature_names is None else [self.feature_names[j] for j in subset]

    def to_frame(self, backend: Any = "pandas") -> Any:
        """Give subsets and what was measured as a data frame.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, default="pandas"
            Kind of the frame.

        Returns
        -------
        DataFrame
            A row for each subset, in the order given: `features`, its names or indices, set apart
            by commas; `n_features`, `criterion_value`, and the loss under its name.
        """
        named = [self._named(i) for i in range(len(self.subsets))]
        columns = {
            "features": [", ".join(map(str, names)) for names in named],
            "n_features": [len(names) for names in named],
            "criterion_value": self.criterion_values,
            self.loss_name: self.losses,
        }
        return to_frame(columns, backend, "SubsetEvaluation.to_frame")

    @property
    def losses(self) -> FloatArray:
        """Loss of each model on the rows."""
        losses: FloatArray = self.fits.losses
        return losses

    @property
    def cross_entropies(self) -> FloatArray:
        """The losses, where they are cross-entropies."""
        if self.loss_name != "cross_entropy":
            raise AttributeError(
                "These losses are no cross-entropies; their loss_name is "
                f"{self.loss_name!r}. Read `losses`."
            )
        return self.losses


def evaluate_subsets(
    X: ArrayLike,
    y: ArrayLike,
    subsets: Any,
    *,
    task: str = "classification",
    sample_weight: ArrayLike | None = None,
    ridge: float | str = "auto",
    C: float | None = None,
    n_jobs: int | None = None,
) -> SubsetEvaluation:
    """Measure subsets as the annealer would: criterion value and loss of the linear model.

    Use it to compare what other methods choose, or random subsets, on equal terms.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.

    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Labels, or measured outputs.

    subsets : sequence of subsets, or one subset
        Each by the names of its columns, by their indices, or as a mask over all columns, such as
        `support_` of a selector. They may differ in size.

    task : {"classification", "regression"}, default="classification"
        Fisher's ratio and logistic models, or R² and least squares.

    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    ridge : float or "auto", default="auto"
        As in `AnnealingSelector`.

    C : float, default=None
        As in the selectors; None is their default: 1 for labels, inf for measured outputs.

    n_jobs : int, default=None
        Number of threads over subsets.

    Returns
    -------
    SubsetEvaluation

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from safdr import evaluate_subsets
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> evaluation = evaluate_subsets(X, y, [[20, 21, 27], [0, 1, 2]])
    >>> evaluation.cross_entropies.round(3).tolist()
    [0.115, 0.249]
    >>> by_name = [["worst radius", "worst texture"], ["worst radius"]]
    >>> evaluate_subsets(X, y, by_name).to_frame()[["features", "cross_entropy"]].round(3)
                          features  cross_entropy
    0  worst radius, worst texture          0.181
    1                 worst radius          0.223
    """
    kind = check_task(task)
    check_values("evaluate_subsets", {"ridge": ridge, "n_jobs": n_jobs})
    C = kind.default_C if C is None else C
    check_values("evaluate_subsets", {"C": C}, {"C": [C_NUMBER]})
    seen = SeenColumns()
    data = kind.validate(seen, X, y, sample_weight).usable()
    features = FeatureSpec(seen.n_features_in_, getattr(seen, "feature_names_in_", None))
    every = AllowedSubsets.without_limits(seen.n_features_in_)
    found = Screening(SearchPlan(ridge=ridge), data, every, None, AUTO).ridge
    assert found is not None
    evaluation = evaluate(data, check_subsets(subsets, features), found, float(C), n_jobs)
    return replace(evaluation, feature_names=features.labels)


def evaluate(
    data: TrainingData,
    subsets: IntArray,
    ridge: Ridge,
    C: float,
    n_jobs: int | None,
) -> SubsetEvaluation:
    """Return the same for training data and rows of `check_subsets`."""
    if data.is_wide:
        columns = np.unique(subsets[subsets >= 0])
        evaluation = evaluate(
            data.columns(columns),
            np.where(subsets >= 0, np.searchsorted(columns, subsets), -1),
            data.wide_criterion(ridge).ridge,
            C,
            n_jobs,
        )
        return replace(evaluation, subsets=subsets)
    criterion = data.criterion(ridge)
    fitter = data.linear_fitter(C, criterion)
    return SubsetEvaluation(
        subsets=subsets,
        criterion_values=values_padded(criterion, subsets),
        fits=fit_padded(fitter, subsets, best_only=False, n_threads=n_workers(n_jobs)),
        loss_name=fitter.loss_name,
    )


def check_subsets(subsets: Any, features: FeatureSpec) -> IntArray:
    """Column indices of subsets, one a row in its order; filled up with -1 where sizes differ."""
    rows = _rows(list(subsets) if isinstance(subsets, Iterator) else subsets, features)
    empty = [i for i, row in enumerate(rows) if len(row) == 0]
    if empty:
        raise ParameterError(
            "subsets", "must each hold a column at least; number {i} holds none.", i=empty[0]
        )
    flat = np.concatenate(rows)
    if flat.min() < 0 or flat.max() >= features.n_features:
        raise ParameterError(
            "subsets",
            "must hold column indices from 0 to {last}; got values from {low} to {high}.{fill}",
            last=features.n_features - 1,
            low=flat.min(),
            high=flat.max(),
            fill=FILLED if flat.min() == -1 else "",
        )
    wanted = rows if isinstance(rows, np.ndarray) else padded(rows)
    ordered = np.sort(wanted, axis=1)
    if ((np.diff(ordered, axis=1) == 0) & (ordered[:, 1:] >= 0)).any():
        raise ParameterError(
            "subsets", "must not name a column twice in one subset; at least one does."
        )
    return wanted


def _rows(subsets: Any, features: FeatureSpec) -> IntArray | list[IntArray]:
    """Column indices of each subset, whatever names it; not looked at yet."""
    try:
        array = np.atleast_2d(np.asarray(subsets))
    except ValueError:  # they differ in size
        return [_row(one, features) for one in subsets]
    if array.dtype.kind in "iu" and array.ndim == 2:
        return array.astype(np.int64)
    if array.size == 0:
        raise ParameterError("subsets", "must each hold a column at least; got none.")
    if array.dtype.kind not in "bUTO" or array.ndim != 2:
        raise ParameterError(
            "subsets",
            "must each hold {ways} (column indices, such as [[0, 1], [2]]); got an array of shape "
            "{shape} and type {dtype}.",
            ways=WAYS,
            shape=array.shape,
            dtype=array.dtype,
        )
    # Names and numbers in one list would all be text in the array.
    given = subsets if isinstance(subsets, list | tuple) else list(np.atleast_1d(subsets))
    if all(is_single(one) for one in given):
        given = [given]
    return [_row(one, features) for one in given]


def _row(one: Any, features: FeatureSpec) -> IntArray:
    """Column indices of one subset."""
    array = np.asarray(one)
    if array.dtype.kind in "iu" and array.ndim == 1:
        return array.astype(np.int64)
    return features.in_order(one, "subsets")
