"""evaluate_subsets: criterion values and models of given subsets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safdr._engine.annealing.functions import Evaluate, QuadraticFunction, less_cost
from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.criterion import Criterion
from safdr._engine.fits.fits import Fits, fit_padded
from safdr._engine.search import OWN_LOSS
from safdr._engine.subsets import padded
from safdr._estimators.data import Problem
from safdr._estimators.inputs import features_of, fit_seed, make_problem
from safdr._estimators.parallel import n_workers
from safdr._estimators.search import Recipe, ridge_of
from safdr.errors import ParameterError


@dataclass(frozen=True, eq=False, repr=False)
class SubsetEvaluation:
    """Criterion values and models of given subsets.

    Attributes
    ----------
    subsets : ndarray of shape (n_subsets, size)
        Feature indices of each subset, in the given order; padded with -1 if sizes differ.
    criterion_values : ndarray of shape (n_subsets,)
        Criterion value of each subset, less the cost of its features.
    losses : ndarray of shape (n_subsets,)
        Loss of the model on each subset, penalty included.
    loss_name, separated, coefficients, intercepts, feature_names
        As in `AnnealingResult`.
    """

    subsets: IntArray
    criterion_values: FloatArray
    losses: FloatArray
    loss_name: str
    separated: NDArray[np.bool_]
    coefficients: FloatArray | None
    intercepts: FloatArray | None
    feature_names: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        return f"SubsetEvaluation(n_subsets={len(self.subsets)}, loss_name={self.loss_name!r})"


def evaluate_subsets(
    selector: Any,
    X: Any,
    y: Any,
    subsets: Iterable[Any],
    *,
    sample_weight: Any = None,
    n_jobs: int | None = None,
) -> SubsetEvaluation:
    """Evaluate given subsets by the criterion and the models of a selector.

    Use it to compare the selected subset with subsets of other methods, or with random ones.

    Parameters
    ----------
    selector : AnnealingSelector or another selector
        Selector that defines criterion and models, fitted or not. If fitted, its shrinkage is used.

    X, y, sample_weight
        Rows, as in `AnnealingSelector.fit`.

    subsets : sequence of subsets
        Lists of names or indices, or masks. Rows of an integer array may be padded with -1.

    n_jobs : int, default=None
        Number of threads.

    Returns
    -------
    SubsetEvaluation

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from safdr import AnnealingSelector, evaluate_subsets
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> subsets = [["worst radius", "worst texture"], ["worst radius"]]
    >>> evaluation = evaluate_subsets(AnnealingSelector(random_state=0), X, y, subsets)
    >>> evaluation.losses.round(3).tolist()
    [0.181, 0.223]
    """
    problem = make_problem(selector, X, y, sample_weight)
    rows = _check_subsets(subsets, selector, problem)
    return evaluate_rows(selector, problem, rows, n_workers(n_jobs))


def evaluate_rows(
    selector: Any, problem: Problem, subsets: IntArray, n_threads: int
) -> SubsetEvaluation:
    # A matrix of the columns in use is enough, with the other columns of their groups.
    columns = problem.allowed.columns_of(problem.allowed.selection_of(subsets[subsets >= 0]))
    part = problem.columns(columns)
    positions = np.where(subsets >= 0, np.searchsorted(columns, subsets), -1)
    criterion, evaluate = make_evaluate(selector, part, ridge_of(selector, problem), n_threads)
    values = evaluate(positions, np.full(len(positions), -1))
    fitter = Recipe.make(selector, part, fit_seed(selector)).fitter(part, criterion)
    if fitter is None:
        fits, loss_name = Fits.of_losses(-values), OWN_LOSS
    else:
        fits = fit_padded(fitter, positions, best_only=False, n_threads=n_threads)
        loss_name = fitter.loss_name
    models = fits.separated, fits.coefficients, fits.intercepts
    return SubsetEvaluation(subsets, values, fits.losses, loss_name, *models, problem.names)


def make_evaluate(
    selector: Any, problem: Problem, ridge: float, n_threads: int
) -> tuple[Criterion | None, Evaluate]:
    """Return the built-in criterion, or None; and the value of subsets, less their cost."""
    recipe = Recipe.make(selector, problem, fit_seed(selector), n_threads)
    function = recipe.evaluate(problem)
    if function is not None:
        return None, less_cost(function, problem.cost)
    criterion = problem.criterion(ridge)
    return criterion, less_cost(QuadraticFunction(criterion), problem.cost)


def _check_subsets(subsets: Any, selector: Any, problem: Problem) -> IntArray:
    if isinstance(subsets, np.ndarray) and subsets.ndim == 2 and subsets.dtype.kind in "iu":
        subsets = [row[row >= 0] for row in subsets]
    features, rows = features_of(selector, problem), []
    for subset in subsets:
        if isinstance(subset, str) or not isinstance(subset, Iterable):
            raise ParameterError(
                "subsets", f"must be a list of subsets, such as [[0, 1], [2]]; it has {subset!r}."
            )
        rows.append(features.columns(subset, "subsets"))
    if not rows or not all(map(len, rows)):
        raise ParameterError("subsets", "must hold subsets of at least one feature each.")
    return padded(rows)
