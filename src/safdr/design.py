"""Columns of the rows, standardised and laid out as the compiled fits take them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from safdr import _core
from safdr.moments import FloatArray, IntArray, Rows

# Standardised columns are kept for the fits at hand: those of so many numbers at a time (0.5 GB).
NUMBERS_AT_ONCE = 64_000_000

# Of sparse rows so many columns are dense at a time.
SPARSE_COLUMNS_AT_ONCE = 64


def standardised(X: Rows, center: FloatArray, scale: FloatArray, columns: IntArray) -> FloatArray:
    """Columns less their center, over their scale, and a column of ones.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        Rows.
    center, scale : ndarray of shape (n_features,)
        Of all columns.
    columns : ndarray of int
        Those wanted.

    Returns
    -------
    ndarray of shape (n_blocks, n_columns + 1, rows of a block)
    """
    if not issparse(X):
        return _core.standardise(X, center, scale, columns.astype(np.int32))
    sparse_columns = X[:, columns].tocsc()
    # Memory for all of them, which is then filled by portions.
    nothing, none = np.zeros((X.shape[0], 1)), np.zeros(len(columns), dtype=np.int32)
    Z = _core.standardise(nothing, np.zeros(1), np.ones(1), none)
    for start in range(0, len(columns), SPARSE_COLUMNS_AT_ONCE):
        some = slice(start, start + SPARSE_COLUMNS_AT_ONCE)
        dense = sparse_columns[:, some].toarray().astype(np.float64, copy=False)
        every = np.arange(dense.shape[1], dtype=np.int32)
        part = _core.standardise(dense, center[columns[some]], scale[columns[some]], every)
        Z[:, : len(columns)][:, some] = part[:, :-1]
    return Z


def portions(subsets: IntArray, n_rows: int) -> Iterator[IntArray]:
    """Subsets whose columns fit into memory together, one portion after the other.

    Parameters
    ----------
    subsets : ndarray of shape (n_subsets, size)
        Columns of each model.
    n_rows : int
        Rows of each column.

    Yields
    ------
    ndarray of shape (n_some, size)
    """
    most = max(NUMBERS_AT_ONCE // n_rows, subsets.shape[1])
    while len(subsets):
        # Columns that the first 1, 2, … subsets have in all.
        n_columns = np.cumsum(_is_first(subsets), axis=None).reshape(subsets.shape)[:, -1]
        count = max(1, int(np.searchsorted(n_columns, most, side="right")))
        yield subsets[:count]
        subsets = subsets[count:]


def _is_first(values: IntArray) -> NDArray[np.bool_]:
    """Whether an entry is the first of its value, in reading order."""
    first = np.zeros(values.size, dtype=bool)
    first[np.unique(values, return_index=True)[1]] = True
    return first.reshape(values.shape)
