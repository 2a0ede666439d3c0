"""The contestants on more classes and regression: `run(fold)` gives the loss at each size.

As in the protocol, each subset is refitted without a penalty, and its loss is that of this model
on the training rows. There is no L1 penalty for more classes: it falls on each coefficient, not on
each feature, so that of the letters none came in at C = 0.01 and 175 at 0.03, in 5 s and without
converging (saga). Forward selection takes thousands of fits a size.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_selection import RFE
from sklearn.linear_model import LinearRegression, LogisticRegression, lasso_path

from benchmarks.problem import AS_PUBLISHED
from benchmarks.task_problem import SEED, TaskFold
from safdr import anneal_path, evaluate_subsets

Losses = dict[int, float]


def ours(fold: TaskFold) -> Losses:
    """This library, the method as published: its losses are those of the others' subsets too."""
    criterion = "fisher" if fold.task == "classification" else "r2"
    how: dict[str, Any] = {**AS_PUBLISHED, "criterion": criterion, "random_state": SEED}
    results = anneal_path(fold.X, fold.y, fold.sizes, task=fold.task, **how)
    return {result.size: result.loss for result in results}


def as_it_comes(fold: TaskFold) -> Losses:
    """The same with its defaults, of which the models are others: for the seconds alone."""
    anneal_path(fold.X, fold.y, fold.sizes, task=fold.task, random_state=SEED)
    return {}


def rfe(fold: TaskFold) -> Losses:
    """One elimination down to one feature, by scikit-learn's default model of the task."""
    model: Any = LogisticRegression() if fold.task == "classification" else LinearRegression()
    ranking = RFE(model, n_features_to_select=1).fit(fold.X, fold.y).ranking_
    return _refitted(fold, [np.flatnonzero(ranking <= size) for size in fold.sizes])


def lasso(fold: TaskFold) -> Losses:
    """The supports along scikit-learn's path, with its hundred penalties; for regression."""
    _, slopes, _ = lasso_path(fold.X, fold.y - fold.y.mean())
    return _refitted(fold, [np.flatnonzero(column) for column in slopes.T])


def _refitted(fold: TaskFold, subsets: list[NDArray[np.int64]]) -> Losses:
    """The smallest loss of the subsets of each size, where there are any."""
    losses: Losses = {}
    for subset in subsets:
        if len(subset) in fold.sizes:
            # The columns alone: the moments of all the others would be computed for nothing.
            rows = (fold.X[:, subset], fold.y, [range(len(subset))])
            loss = evaluate_subsets(*rows, task=fold.task, C=np.inf).losses[0]
            losses[len(subset)] = min(float(loss), losses.get(len(subset), np.inf))
    return losses


def contestants(fold: TaskFold) -> dict[str, Callable[[TaskFold], Losses]]:
    """Those that serve the task."""
    peers: dict[str, Callable[[TaskFold], Losses]] = {"sa-fdr": ours, "rfe": rfe}
    # Of several classes some subsets separate all, and an unpenalised model of them has no optimum.
    if fold.task == "classification":
        return {**peers, "safdr, default": as_it_comes}
    return {**peers, "lasso": lasso}
