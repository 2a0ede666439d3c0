"""A criterion over many columns: what each has by itself, and products of some with all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from safdr._engine.arrays import FloatArray, IntArray, RowArray
from safdr._engine.criterion import (
    Ridge,
    collinear_tol,
    effective_rows,
    fisher_columns,
    r2_columns,
    redundant_columns,
)
from safdr._engine.interrupt import look_up
from safdr._engine.shrinkage import ridge_of_squares
from safdr._engine.wide.rows import CentredRows

# Up to so many rows their products with each other tell the size of the matrix exactly; beyond,
# random directions do.
MOST_ROWS_EXACT = 2000
N_DIRECTIONS = 64


@dataclass(frozen=True, eq=False)
class WideCriterion:
    """A quadratic criterion as `Criterion`, whose A is never made."""

    rows: CentredRows
    D: FloatArray
    scale: FloatArray
    ridge: float = 0.0

    @classmethod
    def of_classes(
        cls,
        X: RowArray,
        codes: IntArray,
        n_classes: int,
        sample_weight: FloatArray | None,
    ) -> WideCriterion:
        """Fisher's ratio, without a ridge yet."""
        rows = CentredRows(X, codes, n_classes, sample_weight)
        D, scale = fisher_columns(rows.moments.weight, rows.moments.mean, rows.variance)
        return cls(rows, D / np.where(scale == 0, 1.0, scale)[:, None], scale)

    @classmethod
    def of_outputs(
        cls, X: RowArray, outputs: FloatArray, sample_weight: FloatArray | None
    ) -> WideCriterion:
        """R², without a ridge yet."""
        rows = CentredRows(X, np.zeros(X.shape[0], dtype=np.int64), 1, sample_weight)
        weight = np.ones(len(outputs)) if sample_weight is None else sample_weight
        centred = outputs - weight @ outputs / weight.sum()
        centred *= np.sqrt(weight / weight.sum())[:, None]
        variance = np.einsum("ij,ij->j", centred, centred)
        cross = np.concatenate([part.T for _, part in rows.products(centred)])
        scale = np.sqrt(rows.variance)
        divisor = np.where(scale == 0, 1.0, scale)
        return cls(rows, r2_columns(cross, divisor, np.sqrt(variance)), scale)

    def with_ridge(self, ridge: Ridge, rows_a_weight: float) -> WideCriterion:
        """The same with a ridge on the diagonal."""
        if ridge == "auto":
            n_rows = effective_rows(self.rows.moments.weight, rows_a_weight)
            n_live = int(np.count_nonzero(self.diagonal))
            ridge = ridge_of_squares(self._sum_of_squares, n_live, n_rows)
        return replace(self, ridge=float(ridge))

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.D)

    @property
    def collinear_tol(self) -> float:
        """Variance that a candidate must have of its own."""
        return collinear_tol(self.ridge)

    @cached_property
    def diagonal(self) -> FloatArray:
        """That of A, without the ridge."""
        return self.rows.variance / self.divisor**2

    @cached_property
    def own_values(self) -> FloatArray:
        """J of each column alone; nothing where a column never changes."""
        values = np.sum(self.D**2, axis=1) / (self.diagonal + max(self.ridge, 1e-300))
        return np.where(self.scale == 0, 0.0, values)

    def redundant(self, rank: FloatArray | None) -> IntArray:
        """Columns that no subset needs; of those that say the same, the lowest rank is needed."""
        return redundant_columns(self.rows.variance, self.D, self.scale, rank)

    def block(self, members: IntArray) -> FloatArray:
        """A of some columns."""
        columns = self.rows.columns(members) / self.divisor[members]
        A: FloatArray = columns.T @ columns
        np.fill_diagonal(A, self.diagonal[members] + self.ridge)
        return A

    def against_all(self, members: IntArray) -> Iterator[tuple[slice, FloatArray]]:
        """Rows of A, a block of columns at a time."""
        for some, products in self.rows.products(self.rows.columns(members)):
            block = products / self.divisor[members, None] / self.divisor[some]
            inside = np.flatnonzero((members >= some.start) & (members < some.stop))
            block[inside, members[inside] - some.start] = (self.diagonal + self.ridge)[
                members[inside]
            ]
            yield some, block

    @cached_property
    def divisor(self) -> FloatArray:
        """The scale, and one where that is zero."""
        return np.where(self.scale == 0, 1.0, self.scale)

    @cached_property
    def _sum_of_squares(self) -> float:
        """Of all entries of A, without the ridge: the same as of the rows' products."""
        n_rows, n_columns = self.rows.shape
        exact = n_rows <= MOST_ROWS_EXACT
        rng = np.random.default_rng(0)
        total: Any = np.zeros((n_rows, n_rows if exact else N_DIRECTIONS))
        step = max(1, 2**20 // n_rows)
        for start in range(0, n_columns, step):
            look_up()
            which = np.arange(start, min(start + step, n_columns))
            block = self.rows.columns(which) / self.divisor[which]
            total += block @ (block.T if exact else _signs(rng, len(which)))
        if exact:
            return float(np.einsum("ij,ij->", total, total))
        images = (part.T / self.divisor[some, None] for some, part in self.rows.products(total))
        return sum(float(np.einsum("ij,ij->", part, part)) for part in images) / N_DIRECTIONS


def _signs(rng: np.random.Generator, n_columns: int) -> FloatArray:
    """Entries of random directions."""
    return rng.choice([-1.0, 1.0], size=(n_columns, N_DIRECTIONS))
