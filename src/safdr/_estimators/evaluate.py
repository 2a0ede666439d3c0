"""evaluate_subsets: criterion value and linear model of any subsets, however they were found."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from safdr._engine.annealing.swap_chains import subset_values
from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.criterion import Ridge
from safdr._estimators.parameters import C_NUMBER, check_values, n_workers
from safdr._estimators.tasks import check_task
from safdr._estimators.training_data import TrainingData
from safdr._estimators.validation import SeenColumns


@dataclass(frozen=True, eq=False)
class SubsetEvaluation:
    """Criterion values and linear models of given subsets on the same rows.

    Attributes
    ----------
    subsets : ndarray of shape (n_subsets, size)
        The subsets.
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
    """

    subsets: IntArray
    criterion_values: FloatArray
    fits: Any
    loss_name: str

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
    subsets: ArrayLike,
    *,
    task: str = "classification",
    sample_weight: ArrayLike | None = None,
    ridge: float | str = 1e-6,
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

    subsets : array-like of shape (n_subsets, size) or (size,)
        Column indices of each subset, all of one size; or masks over the columns, such as
        `support_` of a selector.

    task : {"classification", "regression"}, default="classification"
        Fisher's ratio and logistic models, or R² and least squares.

    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    ridge : float or "auto", default=1e-6
        As in `AnnealingSelector`.

    C : float, default=None
        As in the selectors, but for "auto"; None is their default: 1 for labels, inf for measured
        outputs.

    n_jobs : int, default=None
        Number of threads over subsets.

    Returns
    -------
    SubsetEvaluation

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from safdr import evaluate_subsets
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> evaluation = evaluate_subsets(X, y, [[20, 21, 27], [0, 1, 2]])
    >>> evaluation.cross_entropies.round(3).tolist()
    [0.115, 0.249]
    """
    kind = check_task(task)
    check_values("evaluate_subsets", {"ridge": ridge, "n_jobs": n_jobs})
    C = kind.default_C if C is None else C
    check_values("evaluate_subsets", {"C": C}, {"C": [C_NUMBER]})
    data = kind.validate(SeenColumns(), X, y, sample_weight).usable()
    wanted = check_subsets(subsets, data.X.shape[1])
    return evaluate(data, wanted, ridge, float(C), n_jobs)


def evaluate(
    data: TrainingData,
    subsets: IntArray,
    ridge: Ridge,
    C: float,
    n_jobs: int | None,
    searched: TrainingData | None = None,
) -> SubsetEvaluation:
    """The same on training data, for subsets that are known to be some."""
    if data.is_wide:
        climbed = data if searched is None else searched
        columns, places = np.unique(subsets, return_inverse=True)
        evaluation = evaluate(
            data.columns(columns),
            places.reshape(subsets.shape),
            climbed.wide_criterion(ridge).ridge,
            C,
            n_jobs,
            None if climbed is data else climbed.columns(columns),
        )
        return replace(evaluation, subsets=subsets)
    criterion = (data if searched is None else searched).criterion(ridge)
    fitter = data.linear_fitter(ridge, C, criterion if searched in (None, data) else None)
    return SubsetEvaluation(
        subsets=subsets,
        criterion_values=subset_values(criterion, subsets),
        fits=fitter.fit(subsets, n_threads=n_workers(n_jobs)),
        loss_name=fitter.loss_name,
    )


def check_subsets(subsets: Any, n_features: int) -> IntArray:
    """Index array of subsets, one a row, without repetition within a row."""
    try:
        wanted = np.atleast_2d(np.asarray(subsets))
    except ValueError:  # rows of different lengths
        wanted = np.array(subsets, dtype=object)
    if wanted.dtype == bool and wanted.shape[-1] == n_features:
        wanted = _indices_of(wanted)
    if wanted.ndim != 2 or wanted.size == 0 or wanted.dtype.kind not in "iu":
        raise ValueError(
            "subsets must be column indices of shape (n_subsets, size), or masks over the "
            f"{n_features} columns, all subsets of one size; got an array of shape {wanted.shape} "
            f"and type {wanted.dtype}."
        )
    if wanted.min() < 0 or wanted.max() >= n_features:
        raise ValueError(
            f"subsets must hold column indices from 0 to {n_features - 1}; got values from "
            f"{wanted.min()} to {wanted.max()}."
        )
    if (np.diff(np.sort(wanted, axis=1), axis=1) == 0).any():
        raise ValueError("subsets must not name a column twice in one subset; at least one does.")
    return wanted.astype(np.int64)


def _indices_of(masks: NDArray[np.bool_]) -> NDArray[Any]:
    """Column indices out of masks; ragged, and so refused, where they differ in size."""
    if len(set(masks.sum(axis=1).tolist())) != 1:
        return masks
    return np.nonzero(masks)[1].reshape(len(masks), -1)
