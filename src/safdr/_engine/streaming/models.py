"""Logistic models of many subsets at once: exact on all rows, one pass over them a step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from safdr._engine.arrays import FloatArray, IntArray

# Numbers at a time, one a row and model: they stay in cache.
NUMBERS_AT_ONCE = 200_000

# A fit ends where its loss is within this share of that without features above the optimum: where
# models are compared, and where one is wanted.
TOL, FINAL_TOL = 1e-9, 1e-13
MAX_PASSES = 50

# Share of the loss without features below which a model has no optimum: the classes are separated.
SEPARATED = 1e-7

# Towards infinity, where a direction separates the classes in part, each step divides what is left
# by e: a pace about 1/e at the end is a sign of that. Rows then tell: the last step moves some
# towards their own class by about 1, and the others hardly.
SLOW = (0.3, 0.45)
LEAVES, STAYS = 0.5, 0.01

# Steps are taken by the curvature on the sample, which is nearly that of all rows: each leaves a
# small share of what there was. Where one leaves more than this, rows tell the curvature too.
MOST_LEFT = 0.1
FIRST_SHARE = 0.05

# Work that the curvature on the sample may take, and rows a coefficient that it needs.
CURVATURE_WORK = 2e8
ROWS_A_COEFFICIENT = 20


class PassingRows(NamedTuple):
    """Some rows as they pass by."""

    columns: FloatArray  # (n_features, n_rows), of the features that a pass asked for
    buckets: IntArray
    codes: IntArray
    weight: FloatArray | None


@dataclass(eq=False)
class ModelSums:
    """What rows add up to for one model."""

    weight: float
    loss: float
    gradient: FloatArray
    curvature: FloatArray | None
    # How far the last step moved rows towards their own class: the least and the most.
    moved: tuple[float, float] = (np.inf, -np.inf)

    def __add__(self, other: ModelSums) -> ModelSums:
        both = (self.curvature, other.curvature)
        return ModelSums(
            self.weight + other.weight,
            self.loss + other.loss,
            self.gradient + other.gradient,
            None if both[0] is None or both[1] is None else both[0] + both[1],
            (min(self.moved[0], other.moved[0]), max(self.moved[1], other.moved[1])),
        )


@dataclass(eq=False)
class StreamedModel:
    """A logistic model of two or more classes, on its way to the optimum.

    The last coefficient is the intercept. One row of coefficients stands for the second of two
    classes; of more there is one a class.
    """

    subset: IntArray
    coefficients: FloatArray  # (1 or n_classes, size + 1), of columns less center, over scale
    center: FloatArray
    scale: FloatArray
    penalties: FloatArray  # of the squares of coefficients, by halves
    # Whether rows of a bucket take part, and what those of a class weigh.
    learns_from: NDArray[np.bool_]
    class_factor: FloatArray
    # Second derivatives; None where the next pass should add them up.
    curvature: FloatArray | None = None
    loss: float = np.inf  # the penalty is part of it
    n_iter: int = 0
    converged: bool = False
    separated: bool = False  # completely
    partly_separated: bool = False
    # The last step, where the next pass should tell what it has moved.
    step: FloatArray | None = None
    _decrement: float = field(default=np.inf, repr=False)
    _before: tuple[FloatArray, float] | None = field(default=None, repr=False)
    _by_rows: bool = field(default=False, repr=False)

    def advance(self, sums: ModelSums, null_loss: float, tol: float) -> None:
        """Take a step by what a pass has added up, or half of the last one where it was too far."""
        if self.step is not None:
            least, most = sums.moved
            self.partly_separated = most >= LEAVES and least >= -STAYS * most
            self.step = None
            return
        penalised = self.coefficients * self.penalties
        loss = sums.loss / sums.weight + 0.5 * float(np.sum(self.coefficients * penalised))
        self.n_iter += 1
        if self._before is not None and loss > self._before[1] * (1 + 1e-12):
            there = self._before[0]
            # By the curvature of rows half of the step may do; else that is what is needed first.
            self.coefficients = 0.5 * (self.coefficients + there) if self._by_rows else there
            self.curvature = None
            return
        self.loss = loss
        self.separated = loss < SEPARATED * null_loss
        if sums.curvature is not None:
            repeated = np.tile(self.penalties, len(self.coefficients))
            self.curvature = sums.curvature / sums.weight + np.diag(repeated)
        self._by_rows = sums.curvature is not None
        assert self.curvature is not None
        gradient = sums.gradient / sums.weight + penalised
        step = _solved(self.curvature, gradient.ravel()).reshape(gradient.shape)
        # Half the squared decrement is what the step takes, but for terms of third order.
        decrement = 0.5 * float(np.sum(step * gradient))
        if decrement > loss and not self._by_rows:
            # More than there is: a column that hardly changes in the sample has no curvature there.
            self.curvature = None
            return
        self._before = (self.coefficients, loss)
        self.coefficients = self.coefficients - step
        # It leaves about the share that the step before has left; of the first that is not known.
        known = np.isfinite(self._decrement)
        share = decrement / self._decrement if known else FIRST_SHARE
        self._decrement = max(decrement, np.finfo(float).tiny)
        if share > MOST_LEFT:
            self.curvature = None
        left = decrement * (share if share < MOST_LEFT else 1.0)
        self.converged = left <= tol * null_loss
        if self.converged:
            self.loss = loss - decrement
            if SLOW[0] < share < SLOW[1] and not self.penalties.any():
                self.step = -step

    @property
    def finished(self) -> bool:
        """Whether no pass can tell more."""
        return self.separated or (self.converged and self.step is None)


class LossPass:
    """Losses of several models on rows that pass by, with their derivatives."""

    def __init__(self, models: Sequence[StreamedModel]) -> None:
        # The columns that occur; those of rows come in this order.
        self.features = np.unique(np.concatenate([model.subset for model in models]))
        n_features = len(self.features)
        self._places = [
            np.append(np.searchsorted(self.features, model.subset), n_features) for model in models
        ]
        self._center, self._scale = np.zeros(n_features), np.ones(n_features)
        per_model = len(models[0].coefficients)
        self._theta = np.zeros((len(models), per_model, n_features + 1))
        for model, places, theta in zip(models, self._places, self._theta, strict=True):
            self._center[places[:-1]] = model.center
            self._scale[places[:-1]] = model.scale
            theta[:, places] = model.coefficients
        self._learns_from = np.array([model.learns_from for model in models])
        self._class_factor = np.array([model.class_factor for model in models])
        self._curved = [
            i for i, model in enumerate(models) if model.curvature is None and model.step is None
        ]
        self._steps = {i: model.step for i, model in enumerate(models) if model.step is not None}

    def empty(self) -> list[ModelSums]:
        """Sums over no rows."""
        sums = []
        for i, places in enumerate(self._places):
            shape = (self._theta.shape[1], len(places))
            curvature = np.zeros((np.prod(shape),) * 2) if i in self._curved else None
            sums.append(ModelSums(0.0, 0.0, np.zeros(shape), curvature))
        return sums

    def add(self, sums: list[ModelSums], rows: PassingRows) -> None:
        """Add some rows."""
        n_models, per_model, _ = self._theta.shape
        step = max(256, NUMBERS_AT_ONCE // (n_models * per_model))
        for start in range(0, len(rows.codes), step):
            some = slice(start, start + step)
            weight = None if rows.weight is None else rows.weight[some]
            block = PassingRows(rows.columns[:, some], rows.buckets[some], rows.codes[some], weight)
            self._add_block(sums, block)

    def _add_block(self, sums: list[ModelSums], rows: PassingRows) -> None:
        Z = standardised(rows.columns, self._center, self._scale)
        weight = self._class_factor[:, rows.codes] * self._learns_from[:, rows.buckets]
        if rows.weight is not None:
            weight *= rows.weight
        n_models, per_model, n_columns = self._theta.shape
        logits = (self._theta.reshape(-1, n_columns) @ Z).reshape(n_models, per_model, -1)
        losses, slopes, small = row_derivatives(logits, rows.codes)
        losses *= weight
        slopes *= weight[:, None]
        gradients = (slopes.reshape(n_models * per_model, -1) @ Z.T).reshape(self._theta.shape)
        for i, (each, places) in enumerate(zip(sums, self._places, strict=True)):
            each.weight += float(weight[i].sum())
            each.loss += float(losses[i].sum())
            each.gradient += gradients[i][:, places]
        for i, move in self._steps.items():
            there = weight[i] > 0
            margins = gains(move @ Z[self._places[i]][:, there], rows.codes[there])
            low, high = sums[i].moved
            sums[i].moved = min(low, margins.min(initial=low)), max(high, margins.max(initial=high))
        for i in self._curved:
            part = curvature(Z[self._places[i]], small[i], weight[i])
            sums[i].curvature += part  # type: ignore[operator]  # of those there is one


def standardised(columns: FloatArray, center: FloatArray, scale: FloatArray) -> FloatArray:
    """Columns less their center, over their scale, and a row of ones."""
    Z = np.ones((len(columns) + 1, columns.shape[1]))
    np.subtract(columns, center[:, None], out=Z[:-1])
    Z[:-1] /= scale[:, None]
    return Z


def row_derivatives(
    logits: FloatArray, codes: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Cross-entropy of each model and row, its slopes in the logits, and the probabilities."""
    if logits.shape[1] == 1:
        positive = codes == 1
        # Of the class that a row does not have.
        wrong = np.where(positive, -logits[:, 0], logits[:, 0])
        small = np.exp(-np.abs(wrong))
        losses = np.log1p(small)
        losses += np.maximum(wrong, 0.0)
        probabilities = np.where(wrong > 0, 1.0, small)
        probabilities /= 1.0 + small
        slopes = np.where(positive, -probabilities, probabilities)
        return losses, slopes[:, None], np.abs(probabilities)[:, None]
    rows = np.arange(len(codes))
    top = logits.max(axis=1)
    probabilities = np.exp(logits - top[:, None])
    total = probabilities.sum(axis=1)
    losses = top + np.log(total) - logits[:, codes, rows]
    probabilities /= total[:, None]
    slopes = probabilities.copy()
    slopes[:, codes, rows] -= 1.0
    return losses, slopes, probabilities


def gains(logits: FloatArray, codes: IntArray) -> FloatArray:
    """What is added to the margins of rows, of each other class, where this is added to logits."""
    if len(logits) == 1:
        return np.where(codes == 1, logits[0], -logits[0])
    others = np.arange(len(logits))[:, None] != codes
    return (logits[codes, np.arange(len(codes))] - logits)[others]


def curvature(Z: FloatArray, probabilities: FloatArray, weight: FloatArray) -> FloatArray:
    """Second derivatives in all coefficients of one model, class by class."""
    n_classes, size = len(probabilities), len(Z)
    out: FloatArray = np.empty((n_classes, size, n_classes, size))
    for a in range(n_classes):
        for b in range(a + 1):
            of_rows = probabilities[a] * ((1.0 if a == b else 0.0) - probabilities[b])
            out[a, :, b] = (Z * (of_rows * weight)) @ Z.T
            out[b, :, a] = out[a, :, b]
    return out.reshape(n_classes * size, n_classes * size)


def curvature_on(
    model: StreamedModel, columns: FloatArray, codes: IntArray, weight: FloatArray
) -> FloatArray:
    """Second derivatives of the mean loss on some of the rows, and of the penalty."""
    n = model.coefficients.size
    n_rows = int(max(CURVATURE_WORK / n**2, ROWS_A_COEFFICIENT * n))
    if n_rows < len(codes):
        some = np.linspace(0, len(codes) - 1, n_rows).astype(np.int64)
        columns, codes, weight = columns[:, some], codes[some], weight[some]
    Z = standardised(columns, model.center, model.scale)
    _, _, probabilities = row_derivatives((model.coefficients @ Z)[None], codes)
    of_penalty = np.diag(np.tile(model.penalties, len(model.coefficients)))
    return curvature(Z, probabilities[0], weight / weight.sum()) + of_penalty


def _solved(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """The step; softmax models have directions in which nothing changes."""
    jitter = 1e-12 * max(float(np.trace(matrix)) / len(matrix), np.finfo(float).tiny)
    return np.linalg.solve(matrix + jitter * np.eye(len(matrix)), right).astype(np.float64)


def fit_exactly(
    models: Sequence[StreamedModel],
    run: Callable[[LossPass], list[ModelSums]],
    null_loss: float,
    tol: float = TOL,
) -> None:
    """Bring models to their optimum on all rows, all of them in the same passes."""
    for _ in range(MAX_PASSES):
        unfinished = [each for each in models if not each.finished]
        if not unfinished:
            return
        for model, sums in zip(unfinished, run(LossPass(unfinished)), strict=True):
            model.advance(sums, null_loss, tol)
