"""Some rows of an array by their numbers: gathered where they are used, and not copied before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from safdr._engine.arrays import FloatArray, IntArray, RowArray

# Rows that are looked at together take so many bytes.
BLOCK_BYTES = 2**21


class TakenRows:
    """Rows of a dense array; what is asked of them comes as of a copy, to the order in memory."""

    def __init__(self, source: FloatArray, rows: IntArray) -> None:
        self.source = source
        self.rows = rows
        self.shape = (len(rows), source.shape[1])

    def __getitem__(self, key: Any) -> FloatArray:
        """Rows, or columns of rows."""
        if not isinstance(key, tuple):
            return self.source[self.rows[key]]
        rows, columns = self.rows[key[0]], np.arange(self.shape[1])[key[1]]
        # X[:, columns] has its columns one after the other.
        return self.source.T[np.ix_(columns, rows)].T

    def take(self, columns: IntArray, axis: int) -> FloatArray:
        """Columns, row after row."""
        assert axis == 1
        return self.source[np.ix_(self.rows, columns)]

    def blocks(self) -> Iterator[FloatArray]:
        """All rows, some at a time."""
        length = max(1, BLOCK_BYTES // (8 * self.shape[1]))
        for start in range(0, len(self.rows), length):
            yield self[start : start + length]


def take_rows(X: RowArray, which: IntArray | NDArray[np.bool_] | slice) -> RowArray:
    """Rows by their numbers, by a mask or by a range; sparse ones are copied."""
    if issparse(X) or hasattr(X, "tensor"):  # DeviceRows, which stay where they are
        return X[which]
    if isinstance(X, TakenRows):
        return TakenRows(X.source, X.rows[which])
    return TakenRows(X, np.arange(len(X))[which])


def in_blocks(X: RowArray, columns: IntArray) -> Iterator[Any]:
    """Some columns of all rows, a few rows at a time; of sparse ones all at once."""
    if issparse(X):
        yield X[:, columns]
        return
    length = max(1, BLOCK_BYTES // (8 * max(1, len(columns))))
    for start in range(0, X.shape[0], length):
        some = slice(start, start + length)
        rows = take_rows(X, some) if isinstance(X, TakenRows) else X[some]
        yield rows.take(columns, axis=1)


def take_columns(X: RowArray, which: IntArray) -> RowArray:
    """Columns by their numbers, copied, in double precision."""
    some = X[:, which] if issparse(X) else X.take(which, axis=1)
    return some.astype(np.float64, copy=False)


def gathered(X: RowArray) -> RowArray:
    """The rows in one piece, for products with all of them."""
    return X[:] if isinstance(X, TakenRows) else X
