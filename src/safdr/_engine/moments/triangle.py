"""Symmetric matrices stored as one triangle: rows of blocks, from the diagonal to the right."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from safdr._engine.arrays import FloatArray

# Rows of a block. Of 1000 columns it keeps 0.56 of the matrix, and products take no longer than
# those of whole matrices (64 and 256 rows: a tenth more).
BLOCK_ROWS = 128


class BlockRow(NamedTuple):
    """Rows of the matrix, from the block on the diagonal to the right."""

    first: int
    last: int
    values: FloatArray  # (last - first, n_columns - first)


class Triangle:
    """Positions of the values of a symmetric matrix in a flat array."""

    def __init__(self, n_columns: int) -> None:
        self.n_columns = n_columns
        firsts = range(0, n_columns, BLOCK_ROWS)
        self._rows = [(first, min(first + BLOCK_ROWS, n_columns)) for first in firsts]
        self.size = sum((last - first) * (n_columns - first) for first, last in self._rows)

    def block_rows(self, flat: FloatArray) -> Iterator[BlockRow]:
        """Yield views into the values of a matrix."""
        place = 0
        for first, last in self._rows:
            shape = (last - first, self.n_columns - first)
            end = place + shape[0] * shape[1]
            yield BlockRow(first, last, flat[place:end].reshape(shape))
            place = end

    def add_products(self, flat: FloatArray, columns: FloatArray) -> None:
        """Add the products of all columns, given as rows."""
        for first, last, values in self.block_rows(flat):
            values += columns[first:last] @ columns[first:].T

    def unfold(self, flat: FloatArray, out: FloatArray) -> None:
        for first, last, values in self.block_rows(flat):
            out[first:last, first:] = values
            out[last:, first:last] = values[:, last - first :].T
