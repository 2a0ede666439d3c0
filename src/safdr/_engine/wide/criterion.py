"""A criterion over many columns: what each has by itself, and products of some with all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from safdr._engine.arrays import FloatArray, IntArray, RowArray
from safdr._engine.criterion import (
    Ridge,
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

# Columns of dense rows are kept as the criterion reads them, where all of them take no more bytes.
KEPT_BYTES = 2**28


@dataclass(frozen=True, eq=False)
class WideCriterion:
    """A quadratic criterion as `Criterion`, whose A is never made."""

    rows: CentredRows
    D: FloatArray
    scale: FloatArray
    ridge: float = 0.0
    kept: Kept = field(default_factory=lambda: Kept())

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

    @cached_property
    def diagonal(self) -> FloatArray:
        """That of A, without the ridge."""
        return self.rows.variance / self.divisor**2

    def redundant(self, rank: FloatArray | None) -> IntArray:
        """Columns that no subset needs; of those that say the same, the lowest rank is needed."""
        return redundant_columns(self.rows.variance, self.D, self.scale, rank)

    def block(self, members: IntArray) -> FloatArray:
        """A of some columns."""
        columns = self.columns(members)
        A: FloatArray = columns.T @ columns
        np.fill_diagonal(A, self.diagonal[members] + self.ridge)
        return A

    def products(self, column: int, members: IntArray) -> FloatArray:
        """A of one column with others."""
        own = self.columns(np.array([column]))[:, 0]
        if self._all_columns is None:
            return self.rows.products_with(members, own) / self.divisor[members]
        return self.columns(members).T @ own

    def times(self, members: IntArray, slopes: FloatArray) -> FloatArray:
        """A·b of all columns, where some have slopes."""
        if self._all_columns is None:
            factor = self.rows.combined(members, slopes / self.divisor[members])[:, None]
        else:
            factor = self.columns(members) @ slopes[:, None]
        product = np.concatenate([part[0] for _, part in self._products(factor)])
        product[members] += self.ridge * slopes
        return product

    def against_all(self, members: IntArray) -> Iterator[tuple[slice, FloatArray]]:
        """Rows of A, a block of columns at a time."""
        for some, block in self._products(self.columns(members)):
            inside = np.flatnonzero((members >= some.start) & (members < some.stop))
            block[inside, members[inside] - some.start] = (self.diagonal + self.ridge)[
                members[inside]
            ]
            yield some, block

    def columns(self, which: IntArray) -> FloatArray:
        """Columns whose products with each other are A, without the ridge."""
        if self._all_columns is not None:
            return self._all_columns.take(which, axis=1)
        return self.rows.columns(which) / self.divisor[which]

    def _products(self, columns: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
        """Products of some columns with all, a block of these at a time."""
        if self._all_columns is None:
            for some, products in self.rows.products(columns):
                yield some, products / self.divisor[some]
            return
        factor = np.ascontiguousarray(columns.T)
        for some in self.rows.blocks():
            look_up()
            yield some, factor @ self._all_columns[:, some]

    @property
    def _all_columns(self) -> FloatArray | None:
        """All columns, made once, unless they would take too much memory."""
        n_rows, n_columns = self.rows.shape
        if self.rows.is_sparse or 8 * n_rows * n_columns > KEPT_BYTES:
            return None
        if self.kept.columns is None:
            columns = np.empty(self.rows.shape)
            for some in self.rows.blocks():
                look_up()
                columns[:, some] = self.rows.columns(some) / self.divisor[some]
            self.kept.columns = columns
        return self.kept.columns

    @cached_property
    def divisor(self) -> FloatArray:
        """The scale, and one where that is zero."""
        return np.where(self.scale == 0, 1.0, self.scale)

    def row_products(self, which: IntArray) -> FloatArray:
        """Products of the rows with each other, of some columns."""
        total = np.zeros((self.rows.shape[0],) * 2)
        for some in self._some_at_a_time(len(which)):
            block = self.columns(which[some])
            total += block @ block.T
        return total

    @cached_property
    def _sum_of_squares(self) -> float:
        """Of all entries of A, without the ridge: the same as of the rows' products."""
        n_rows, n_columns = self.rows.shape
        every = np.arange(n_columns)
        if n_rows <= MOST_ROWS_EXACT:
            products = self.row_products(every)
            return float(np.einsum("ij,ij->", products, products))
        rng = np.random.default_rng(0)
        total: Any = np.zeros((n_rows, N_DIRECTIONS))
        for some in self._some_at_a_time(n_columns):
            which = every[some]
            total += self.columns(which) @ _signs(rng, len(which))
        images = (part for _, part in self._products(total))
        return sum(float(np.einsum("ij,ij->", part, part)) for part in images) / N_DIRECTIONS

    def _some_at_a_time(self, n_columns: int) -> Iterator[slice]:
        """Places of columns whose numbers take some megabytes together."""
        step = max(1, 2**20 // self.rows.shape[0])
        for start in range(0, n_columns, step):
            look_up()
            yield slice(start, start + step)


@dataclass(eq=False)
class Kept:
    """Columns that are made once, for criteria that differ in the ridge alone."""

    columns: FloatArray | None = None


def _signs(rng: np.random.Generator, n_columns: int) -> FloatArray:
    """Entries of random directions."""
    return rng.choice([-1.0, 1.0], size=(n_columns, N_DIRECTIONS))
