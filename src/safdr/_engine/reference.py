"""What a model of all features predicts: a target with less noise than what was measured."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.interrupt import look_up
from safdr._engine.l1_path import L1Path
from safdr._engine.wide.criterion import WideCriterion

# Penalties of the ridge regression, in units of the mean variance of the features times their
# number: from next to none to one that leaves the order of the features alone.
RIDGES = np.geomspace(0.01, 100.0, 13)
# With more rows than this their products with each other take longer than all the rest, and labels
# are not so noisy any more: the Lasso is enough.
MOST_ROWS = 1000
# The Lasso takes in half as many features as there are rows, and at most these.
MOST_MEMBERS = 100
# A row that leaves a fit no more freedom than this says nothing about what others would predict.
LEAST_FREE = 0.05
# So much of what was measured stays in the target: the Lasso's predictions are made of its members
# alone, and the path to them would end there.
MEASURED = 0.05
# What is one number more must raise twice the log-likelihood by this much, as Akaike has it.
CLEARLY = 2.0


class Reference(NamedTuple):
    """What is predicted of all rows, and by whom."""

    # Less the mean, times the root of the share that a row has of all weight.
    target: FloatArray
    # The share that a ridge regression has in it.
    ridge: float
    # Of rows left out, one at a time: the squared error as a share of the variance.
    error: float


class _Model(NamedTuple):
    """Predictions for all rows, of the model on all of them and of the one without the row."""

    fitted: FloatArray
    left_out: FloatArray


def reference_model(
    criterion: WideCriterion, output: FloatArray, usable: IntArray, n_rows: float
) -> Reference:
    """Stack a Lasso and a ridge regression on some features, by what each says of rows left out.

    The criterion is R² of this output, without a ridge. `n_rows` is how many rows the weights stand
    for. Both models have their predictions for rows left out in closed form; that of the Lasso
    takes its members as given.
    """
    root = criterion.rows.root
    measured = (output - root**2 @ output) * root
    measured /= np.linalg.norm(measured)
    lasso = _lasso(criterion, measured, usable)
    weights, error = _stacked([lasso], measured)
    models = [lasso]
    if len(output) <= MOST_ROWS:
        ridge = _ridge_regression(criterion, measured, usable)
        both, with_ridge = _stacked([lasso, ridge], measured)
        # A Lasso that knows nothing has no weight.
        if not weights.any() or gains_clearly(error, with_ridge, n_rows):
            models, weights, error = [lasso, ridge], both, with_ridge
    if not weights.any():
        # Nothing is known of rows left out: what can be said is what the features share.
        weights = np.eye(len(models))[-1]
    predicted = sum(weight * each.fitted for weight, each in zip(weights, models, strict=True))
    length = float(np.linalg.norm(predicted))
    target = (1.0 - MEASURED) * predicted / (length or 1.0) + MEASURED * measured
    return Reference(target, float(weights[1:].sum() / weights.sum()), error)


def gains_clearly(before: float, after: float, n_rows: float) -> bool:
    """Whether a squared error is smaller than another by more than one number more explains."""
    if before <= 0:
        return False
    return after <= 0 or n_rows * np.log(before / after) > CLEARLY


def _stacked(models: list[_Model], measured: FloatArray) -> tuple[FloatArray, float]:
    """Weights, none below zero, that predict rows left out best; and the squared error then."""
    weights, distance = nnls(np.column_stack([each.left_out for each in models]), measured)
    return weights, float(distance**2)


def _ridge_regression(criterion: WideCriterion, measured: FloatArray, usable: IntArray) -> _Model:
    """The one of the penalties that predicts rows left out best."""
    products = criterion.row_products(usable) / max(len(usable), 1)
    values, directions = np.linalg.eigh(products)
    kept = values / (values + RIDGES[:, None])
    fitted = kept * (measured @ directions) @ directions.T
    leverage = criterion.rows.root**2 + kept @ (directions**2).T
    return _best(zip(fitted, leverage, strict=True), measured)


def _lasso(criterion: WideCriterion, measured: FloatArray, usable: IntArray) -> _Model:
    """The step of its path that predicts rows left out best, or the model without features."""
    return _best(_steps(criterion, usable), measured)


def _steps(criterion: WideCriterion, usable: IntArray) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Predictions and leverages along the path."""
    constant = criterion.rows.root**2
    yield np.zeros(len(constant)), constant
    path, span = L1Path(criterion, usable), _Span(criterion)
    most = min(len(constant) // 2, MOST_MEMBERS)
    for n_steps in count(1):
        look_up()
        step = path.after(n_steps)
        if step is None or len(step.features) > most:
            return
        span.move_to(step.features)
        slopes = dict(zip(step.features.tolist(), step.slopes, strict=True))
        fitted = span.columns @ np.array([slopes[member] for member in span.members])
        yield fitted, constant + np.sum(span.basis**2, axis=1)


class _Span:
    """Columns of the members of a path, and an orthonormal basis of them, which grows with them."""

    def __init__(self, criterion: WideCriterion) -> None:
        self._criterion = criterion
        self.members: list[int] = []
        self.columns = self.basis = np.empty((criterion.rows.shape[0], 0))

    def move_to(self, features: IntArray) -> None:
        """Take in what is new; begin anew where a member is gone."""
        if not set(self.members) <= set(features.tolist()):
            self.members, self.columns, self.basis = [], self.columns[:, :0], self.basis[:, :0]
        new = np.setdiff1d(features, self.members)
        columns = self._criterion.columns(new)
        self.members += new.tolist()
        self.columns = np.hstack([self.columns, columns])
        # Twice, since the first time leaves what rounding does of much that is alike.
        for _ in range(2):
            columns = columns - self.basis @ (self.basis.T @ columns)
        self.basis = np.hstack([self.basis, np.linalg.qr(columns)[0]])


def _best(fits: Iterator[tuple[FloatArray, FloatArray]], measured: FloatArray) -> _Model:
    """The fit with the smallest error on rows left out, given predictions and leverages of each."""
    models = (
        _Model(fitted, measured - (measured - fitted) / np.maximum(1.0 - leverage, LEAST_FREE))
        for fitted, leverage in fits
    )
    return min(models, key=lambda each: float(np.sum((measured - each.left_out) ** 2)))
