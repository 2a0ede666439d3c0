"""Moments become a criterion J(S) = trace(D_S' A_SS⁻¹ D_S): Fisher's ratio or R²."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.centred_rows import CentredRows
from safdr._engine.columns import DenseColumns, RowColumns
from safdr._engine.moments import Marginals, Moments
from safdr._engine.shrinkage import ridge_of_squares

# A number, or "auto": the ridge that the number of rows needs.
Ridge: TypeAlias = float | str

# A and D of several criteria: (n_criteria, n_features, n_features or n_columns).
CriterionStack: TypeAlias = tuple[FloatArray, FloatArray]

# A feature with a variance below this share of the squared distance of the means separates the
# classes (its criterion value is above 10 000); the rest of its variance is no scale.
SEPARATING = 1e-4

# Rows of a matrix that are scaled at a time, so that no second matrix is needed.
ROWS_AT_ONCE = 256

# Relative rounding error of a row of D that depends on others.
DEPENDENT_TOL = 1e-9


@dataclass(frozen=True, eq=False)
class Criterion:
    """A quadratic criterion over subsets, to be maximised."""

    # Source of A, which is positive definite; a matrix becomes a dense source. Its diagonal is one
    # plus the ridge, unless a feature separates the classes, and in batches.
    columns: Any
    # Targets: a column for each class but the first, or for each output.
    D: FloatArray
    # Divisor of each feature, for conditioning: J does not depend on it. Zero marks a constant.
    scale: FloatArray
    # Ridge on the diagonal of A.
    ridge: float
    # Redundant features: constants, and all copies of the label but one.
    redundant: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    # Moments that the criterion was made from.
    marginals: Any = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if not hasattr(self.columns, "with_ridge"):
            object.__setattr__(self, "columns", DenseColumns(self.columns, self.ridge))

    @property
    def A(self) -> FloatArray:
        A: FloatArray = self.columns.A
        return A

    @property
    def is_dense(self) -> bool:
        return isinstance(self.columns, DenseColumns)

    @property
    def n_features(self) -> int:
        return len(self.D)

    def value(self, subset: Sequence[int] | IntArray) -> float:
        index = np.asarray(subset, dtype=np.intp)
        D = self.D[index]
        return float(np.sum(D * np.linalg.solve(self.block(index), D)))

    def block(self, members: IntArray) -> FloatArray:
        block: FloatArray = self.columns.block(members)
        return block

    def covariances(self, subsets: IntArray) -> FloatArray:
        scale = np.where(self.scale == 0, 1.0, self.scale)[subsets]
        blocks = self.A[subsets[:, :, None], subsets[:, None, :]]
        blocks -= self.ridge * np.eye(subsets.shape[1])
        return blocks * scale[:, :, None] * scale[:, None, :]

    def among(self, features: IntArray) -> Self:
        place = np.full(self.n_features, -1)
        place[features] = np.arange(len(features))
        redundant = place[self.redundant]
        return replace(
            self,
            columns=DenseColumns(self.block(features), self.ridge),
            D=self.D[features],
            scale=self.scale[features],
            redundant=redundant[redundant >= 0],
            marginals=None if self.marginals is None else self.marginals.among(features),
        )

    def without(self, features: IntArray) -> Self:
        """Return the criterion with more redundant features."""
        return replace(self, redundant=np.union1d(self.redundant, features))

    def with_ridge(self, ridge: float) -> Self:
        return replace(self, columns=self.columns.with_ridge(ridge), ridge=ridge)


def make_criterion(
    moments: Moments,
    ridge: Ridge,
    *,
    rank: FloatArray | None = None,
    rows_a_weight: float = 1.0,
    like: Criterion | None = None,
) -> Criterion:
    """Return Fisher's ratio of classes, or R² of outputs; A overwrites the moments."""
    # Fisher's ratio: A is the sum of the covariances within the classes, and DD' the
    # scatter between them. J is the mean of d'·A_SS⁻¹·d over all pairs of rows of different
    # classes, with d the difference of their class means. R² is the mean over the outputs.
    # `rank` is the order in which copies of the label are kept. A weight of one counts as
    # `rows_a_weight` rows. `like` has the units.
    D, scale, redundant = _targets(moments, rank, like)
    A = _scaled(moments.within, _divisor(scale))
    if ridge == "auto":
        ridge = _auto_ridge(float(np.einsum("ij,ij->", A, A)), np.diag(A), moments, rows_a_weight)
    np.einsum("ii->i", A)[:] += float(ridge)  # a view
    source = DenseColumns(A, float(ridge))
    return Criterion(source, D, scale, source.ridge, redundant, marginals=moments.marginals)


def criterion_of_rows(
    rows: CentredRows,
    ridge: Ridge,
    *,
    outputs: FloatArray | None = None,
    rank: FloatArray | None = None,
    rows_a_weight: float = 1.0,
) -> Criterion:
    """Return the same criterion without the matrix of all columns."""
    moments = rows.moments if outputs is None else rows.with_outputs(outputs)
    D, scale, redundant = _targets(moments, rank, None)
    source = RowColumns(rows, _divisor(scale))
    if ridge == "auto":
        squares = source.sum_of_squares()
        ridge = _auto_ridge(squares, source.diagonal, moments, rows_a_weight)
    source = source.with_ridge(float(ridge))
    return Criterion(source, D, scale, source.ridge, redundant, marginals=moments)


# ---- Targets ------------------------------------------------------------------------------------


def fisher_columns(
    weight: FloatArray, mean: FloatArray, variance: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return D of Fisher's ratio in the units of the features, and their scale."""
    D = _between_classes(weight, mean)
    return D, np.sqrt(np.maximum(variance, SEPARATING * (D**2).sum(axis=1)))


def r2_columns(cross: FloatArray, divisor: FloatArray, output_scale: FloatArray) -> FloatArray:
    """Return D of R² in units of a divisor."""
    output_divisor = np.where(output_scale == 0, 1.0, output_scale) * np.sqrt(len(output_scale))
    D: FloatArray = cross / divisor[:, None] / output_divisor
    return D


def effective_rows(weight: FloatArray, rows_a_weight: float) -> float:
    """Return the number of rows with the same uncertainty as a mean of class covariances."""
    if len(weight) == 1:
        return float(rows_a_weight * weight[0])
    return float(rows_a_weight * len(weight) ** 2 / np.sum(1.0 / weight))


def redundant_columns(
    variance: FloatArray, D: FloatArray, scale: FloatArray, rank: FloatArray | None
) -> IntArray:
    """Return constants and redundant copies of the label."""
    if variance.all() and scale.all():
        return np.empty(0, dtype=np.int64)
    constant = scale == 0
    copies = np.flatnonzero((variance == 0) & ~constant)
    ranks = np.zeros(len(copies)) if rank is None else rank[copies]
    order = np.argsort(ranks, kind="stable")
    copies = copies[order]
    dependent = _dependent(D[copies], ranks[order] < np.inf)
    return np.union1d(np.flatnonzero(constant), copies[dependent])


def _targets(
    moments: Marginals, rank: FloatArray | None, like: Criterion | None
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return D, the scale of the features, and redundant features."""
    variance, output_variance = moments.variance, moments.output_variance
    if len(output_variance):
        scale = np.sqrt(variance)
    else:
        D, scale = fisher_columns(moments.weight, moments.mean, variance)
    if like is not None:
        scale, output_variance = like.scale, like.marginals.output_variance
    if len(output_variance):
        D = r2_columns(moments.cross, _divisor(scale), np.sqrt(output_variance))
    else:
        D /= _divisor(scale)[:, None]
    return D, scale, redundant_columns(variance, D, scale, rank)


def _auto_ridge(
    squares: float, diagonal: FloatArray, moments: Marginals, rows_a_weight: float
) -> float:
    n_live = int(np.count_nonzero(diagonal))
    return ridge_of_squares(squares, n_live, effective_rows(moments.weight, rows_a_weight))


def _divisor(scale: FloatArray) -> FloatArray:
    return np.where(scale == 0, 1.0, scale)


def _scaled(A: FloatArray, divisor: FloatArray) -> FloatArray:
    for start in range(0, len(A), ROWS_AT_ONCE):
        some = slice(start, start + ROWS_AT_ONCE)
        A[some] /= np.outer(divisor[some], divisor)
    return A


def _between_classes(weight: FloatArray, mean: FloatArray) -> FloatArray:
    """Return D of shape (n_features, n_classes - 1): the share of each class in the scatter."""
    # With W the weight and m the mean of the previous classes, class c adds W·w/(W + w)·dd' to the
    # scatter between the classes, where d = μ_c - m (Chan's formula). The sum is divided by
    # the number of pairs of rows of different classes, over that of rows.
    # In units of the largest, so that products do not overflow.
    weight = weight / max(weight.max(), np.finfo(float).tiny)
    total = np.cumsum(weight)
    pairs = weight * np.concatenate([[0.0], total[:-1]])
    if not pairs.any():
        return np.zeros((mean.shape[1], len(weight) - 1))
    divisor = np.where(total > 0, total, 1.0)
    factor = np.sqrt(pairs / divisor / (pairs.sum() / total[-1]))
    D = np.empty_like(mean)
    before = np.zeros(mean.shape[1])
    for label, share in enumerate(weight / divisor):
        difference = mean[label] - before
        D[label] = factor[label] * difference
        before = before + share * difference
    return np.ascontiguousarray(D[1:].T)


def _dependent(rows: FloatArray, counts: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return True for rows that are linear combinations of earlier ones that count."""
    dependent = np.zeros(len(rows), dtype=bool)
    basis = np.empty((0, rows.shape[1]))
    for i, row in enumerate(rows):
        left = row - (basis @ row) @ basis
        dependent[i] = np.linalg.norm(left) <= DEPENDENT_TOL * np.linalg.norm(row)
        if counts[i] and not dependent[i]:
            basis = np.vstack([basis, left / np.linalg.norm(left)])
    return dependent
