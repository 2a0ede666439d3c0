"""Column sources: the matrix A of a criterion, in memory or computed from rows on request."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.centred_rows import CentredRows
from safdr._engine.interrupt import look_up

# With more columns, A is computed for the screened columns only. This many take 32 MB.
MAX_DENSE = 2000

# Up to this many rows, the products of rows with each other give the sum of squares of A exactly;
# beyond, random directions estimate it.
MAX_ROWS_EXACT = 2000
N_DIRECTIONS = 64

# Dense rows are kept centred and scaled if they take at most this many bytes.
KEPT_BYTES = 2**28

# Entries of the columns that are computed at a time: 8 MB.
BLOCK_NUMBERS = 2**20


@dataclass(frozen=True, eq=False)
class DenseColumns:
    """A in memory, ridge included."""

    A: FloatArray
    ridge: float

    @property
    def diagonal(self) -> FloatArray:
        return np.diag(self.A)

    def block(self, members: IntArray) -> FloatArray:
        return self.A[np.ix_(members, members)]

    def row(self, column: int, members: IntArray) -> FloatArray:
        return self.A[column, members]

    def rows(self, members: IntArray) -> Iterator[tuple[slice, FloatArray]]:
        """Yield A of some columns with all, block by block."""
        yield slice(0, len(self.A)), self.A[members]

    def times(self, members: IntArray, slopes: FloatArray) -> FloatArray:
        """Return A·B, where only some columns have slopes: (n_columns, n_outputs)."""
        # Copying rows takes longer than the product with many of them.
        if 4 * len(members) > len(self.A):
            every = np.zeros((len(self.A), slopes.shape[1]))
            every[members] = slopes
            return np.asarray(self.A @ every)
        return np.asarray((slopes.T @ self.A[members]).T)

    def with_ridge(self, ridge: float) -> DenseColumns:
        A = self.A.copy()
        np.einsum("ii->i", A)[:] += ridge - self.ridge
        return DenseColumns(A, ridge)


class RowColumns:
    """A computed from rows, as products of their columns; methods as of `DenseColumns`."""

    def __init__(self, centred: CentredRows, divisor: FloatArray, ridge: float = 0.0) -> None:
        self._rows = centred
        self._divisor = divisor
        self.ridge = ridge
        self.n_rows, self._n_columns = centred.shape

    def with_ridge(self, ridge: float) -> RowColumns:
        other = copy(self)
        other.ridge = ridge
        return other

    @property
    def diagonal(self) -> FloatArray:
        return self._squares + self.ridge

    def block(self, members: IntArray) -> FloatArray:
        columns = self.take(members)
        A: FloatArray = columns.T @ columns
        np.fill_diagonal(A, self.diagonal[members])
        return A

    def row(self, column: int, members: IntArray) -> FloatArray:
        own = self.take(np.array([column]))[:, 0]
        if self._kept is None:
            return self._rows.products_with(members, own) / self._divisor[members]
        return np.asarray(self.take(members).T @ own)

    def rows(self, members: IntArray) -> Iterator[tuple[slice, FloatArray]]:
        for some, block in self._products(self.take(members)):
            inside = np.flatnonzero((members >= some.start) & (members < some.stop))
            block[inside, members[inside] - some.start] = self.diagonal[members[inside]]
            yield some, block

    def times(self, members: IntArray, slopes: FloatArray) -> FloatArray:
        if self._kept is None:
            fit = self._rows.combined(members, slopes / self._divisor[members, None])
        else:
            fit = self.take(members) @ slopes
        product = np.concatenate([block.T for _, block in self._products(fit)])
        product[members] += self.ridge * slopes
        return product

    def take(self, which: IntArray) -> FloatArray:
        if self._kept is not None:
            return self._kept.take(which, axis=1)
        return self._rows.columns(which) / self._divisor[which]

    def sum_of_squares(self) -> float:
        every = np.arange(self._n_columns)
        exact = self.n_rows <= MAX_ROWS_EXACT
        rng = np.random.default_rng(0)
        total: Any = np.zeros((self.n_rows, self.n_rows if exact else N_DIRECTIONS))
        step = max(1, BLOCK_NUMBERS // self.n_rows)
        for start in range(0, self._n_columns, step):
            look_up()
            block = self.take(every[start : start + step])
            size = (block.shape[1], N_DIRECTIONS)
            total += block @ (block.T if exact else rng.choice([-1.0, 1.0], size=size))
        if exact:
            return float(np.einsum("ij,ij->", total, total))
        images = (part for _, part in self._products(total))
        return sum(float(np.einsum("ij,ij->", part, part)) for part in images) / N_DIRECTIONS

    @cached_property
    def _squares(self) -> FloatArray:
        return np.asarray(self._rows.variance / self._divisor**2)

    def _products(self, columns: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
        if self._kept is None:
            for some, products in self._rows.products(columns):
                yield some, products / self._divisor[some]
            return
        factor = np.ascontiguousarray(columns.T)
        for some in self._rows.blocks():
            look_up()
            yield some, factor @ self._kept[:, some]

    @cached_property
    def _kept(self) -> FloatArray | None:
        """All columns; None if they take too much memory."""
        if self._rows.is_sparse or 8 * self.n_rows * self._n_columns > KEPT_BYTES:
            return None
        columns = np.empty(self._rows.shape)
        for some in self._rows.blocks():
            look_up()
            columns[:, some] = self._rows.columns(some) / self._divisor[some]
        return columns
