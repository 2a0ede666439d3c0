"""Rows of an array by their indices, copied only where they are used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from safdr._engine.arrays import FloatArray, IntArray, RowArray

# Rows of at most this many bytes are copied at once: reading them again takes longer.
COPIED_BYTES = 2**24

# Bytes of rows that are read together: they stay in cache.
BLOCK_BYTES = 2**21


class RowSubset:
    """Rows of a dense array by index; indexing has the values and memory order of a copy."""

    def __init__(self, source: FloatArray, rows: IntArray) -> None:
        self.source = source
        self.rows = rows
        self.shape = (len(rows), source.shape[1])

    def __getitem__(self, key: Any) -> FloatArray:
        if not isinstance(key, tuple):
            return self.source[self.rows[key]]
        rows, columns = self.rows[key[0]], np.arange(self.shape[1])[key[1]]
        # X[:, columns] has its columns one after the other.
        return self.source.T[np.ix_(columns, rows)].T

    def take(self, columns: IntArray, axis: int) -> FloatArray:
        assert axis == 1
        return self.source[np.ix_(self.rows, columns)]

    def materialize(self) -> FloatArray:
        return self[:]

    def blocks(self) -> Iterator[FloatArray]:
        length = max(1, BLOCK_BYTES // (8 * self.shape[1]))
        for start in range(0, len(self.rows), length):
            yield self[start : start + length]


def take_rows(X: RowArray, which: IntArray | NDArray[np.bool_] | slice) -> RowArray:
    """Return rows by indices, mask or slice; sparse and few rows are copied."""
    if issparse(X) or hasattr(X, "tensor"):  # rows of a device stay there
        return X[which]
    source, rows = (X.source, X.rows) if isinstance(X, RowSubset) else (X, np.arange(len(X)))
    some = RowSubset(source, rows[which])
    return some if 8 * some.shape[0] * some.shape[1] > COPIED_BYTES else some.materialize()


def take_columns(X: RowArray, which: IntArray) -> RowArray:
    """Return a copy of columns in double precision."""
    some = X[:, which] if issparse(X) else X.take(which, axis=1)
    return some.astype(np.float64, copy=False)


def materialize(X: RowArray) -> RowArray:
    return X.materialize() if isinstance(X, RowSubset) else X
