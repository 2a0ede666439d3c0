"""Rows in centred blocks, and the sum of their products."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import dsyrk
from scipy.sparse import issparse

from safdr._engine.arrays import FloatArray, IntArray, RowArray
from safdr._engine.interrupt import look_up
from safdr._engine.taken_rows import TakenRows

# Rows handled at a time: enough for the matrix product to run at full speed, and few enough to stay
# in cache. On 100 000 x 400 rows 1 to 4 MB took the same time; the rest was slower.
BLOCK_BYTES = 2**21
MIN_BLOCK_ROWS = 256

# From so many features on, products are added where they belong: two matrices of this size (16 MB)
# are no burden, and two of 5000 features (400 MB) are.
IN_PLACE_FEATURES = 1024

# Side of the squares in which a triangle is mirrored: two of them fit into cache.
MIRROR_SIDE = 256

# With more than this share of entries, dense blocks of rows are the faster way: level at 0.1 to 0.3
# on 20 000 rows of 2000 and of 300 features.
MOST_ENTRIES = 0.2


def mostly_zero(X: RowArray) -> bool:
    """Whether the rows are sparse, not only by their form."""
    return issparse(X) and X.nnz <= MOST_ENTRIES * X.shape[0] * X.shape[1]


class RowBlock(NamedTuple):
    """Some rows around their mean, times the root of their weight."""

    numbers: IntArray
    root: FloatArray
    weight: float
    mean: FloatArray
    rows: FloatArray


def row_blocks(X: RowArray, rows: IntArray, sample_weight: FloatArray | None) -> Iterator[RowBlock]:
    """The given rows of X in blocks; each may overwrite the one before."""
    X = X.tocsr() if issparse(X) else X
    source: RowArray = X.source if isinstance(X, TakenRows) else X
    numbers = X.rows[rows] if isinstance(X, TakenRows) else rows
    # One buffer for all blocks, where that serves: fresh memory costs a fifth of the time. (Of an
    # array in Fortran order np.take would copy the whole first.)
    dense = isinstance(source, np.ndarray)
    in_place = dense and source.flags.c_contiguous and source.dtype == np.float64
    length = _block_length(X.shape[1])
    buffer = np.empty((min(len(rows), length), X.shape[1]))
    for index, there in zip(_cut(rows, length), _cut(numbers, length), strict=True):
        look_up()
        if in_place:
            centred = np.take(source, there, axis=0, out=buffer[: len(there)], mode="clip")
        else:
            some = source[there].toarray() if issparse(source) else source[there]
            centred = some.astype(np.float64, copy=False)
        weight = np.ones(len(index)) if sample_weight is None else sample_weight[index]
        if not weight.any():
            continue
        mean = block_mean(centred, weight)
        centred -= mean
        root = np.sqrt(weight)
        if sample_weight is not None:
            centred *= root[:, None]
        yield RowBlock(index, root, float(weight.sum()), mean, centred)


def block_mean(rows: FloatArray, weight: FloatArray) -> FloatArray:
    """Weighted mean of the rows, exact for a column that never changes.

    Rounding would leave such a column with a variance above zero.
    """
    mean: FloatArray = weight @ rows / weight.sum()
    suspects = np.flatnonzero(np.abs(mean - rows[0]) <= 1e-13 * np.abs(rows[0]))
    if len(suspects) == 0:
        return mean
    constant = suspects[(rows[:, suspects] == rows[0, suspects]).all(axis=0)]
    mean[constant] = rows[0, constant]
    return mean


def joined_mean(weights: FloatArray, means: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean of all blocks, and their means around it, times the root of their weight.

    The products of the latter are what the blocks' own products lack (Chan's formula).
    """
    if len(weights) == 1:
        return means[0], np.zeros_like(means)
    share = weights / weights.sum()
    # Around the first block's mean, so that equal means stay equal to the last bit.
    offsets = means - means[0]
    mean = share @ offsets
    return means[0] + mean, np.sqrt(weights)[:, None] * (offsets - mean)


class ScatterSum:
    """Sum over groups of rows of R'R, each divided by a number of the group's own."""

    def __init__(self, out: FloatArray) -> None:
        self._out = out
        out[:] = 0.0
        self._in_place = len(out) >= IN_PLACE_FEATURES
        if not self._in_place:
            self._group, self._product = np.empty_like(out), np.empty_like(out)

    def add_rows(
        self, X: RowArray, rows: IntArray, sample_weight: FloatArray | None, *, divide: bool = True
    ) -> tuple[float, FloatArray, FloatArray]:
        """Add the scatter of the given rows, divided by their weight unless told.

        Return their weight, their mean, and their squares around it, summed.
        """
        weight = weight_of(rows, X.shape[1], sample_weight)
        if weight == 0:
            return 0.0, np.zeros(X.shape[1]), np.zeros(X.shape[1])
        self.open(weight if divide else 1.0)
        weights, means = [], []
        for block in row_blocks(X, rows, sample_weight):
            self.add(block.rows)
            weights.append(block.weight)
            means.append(block.mean)
        mean, between = joined_mean(np.asarray(weights), np.asarray(means))
        if len(weights) > 1:
            self.add(between)
        return weight, mean, self.close()

    def open(self, divisor: float) -> None:
        """Begin a group."""
        self._divisor = divisor
        self._squares = np.zeros(len(self._out))
        if not self._in_place:
            self._group[:] = 0.0

    def add(self, rows: FloatArray) -> None:
        """Add the product of some rows of the group."""
        if not self._in_place:
            self._group += np.matmul(rows.T, rows, out=self._product)
            return
        self._squares += np.einsum("ij,ij->j", rows, rows)
        # Into one triangle, in the memory of `out`.
        dsyrk(1.0 / self._divisor, rows.T, beta=1.0, c=self._out.T, trans=0, lower=1, overwrite_c=1)

    def close(self) -> FloatArray:
        """End the group, and return its sum of squares of each feature, undivided."""
        if self._in_place:
            return self._squares
        squares = np.diag(self._group).copy()
        self._group /= self._divisor
        self._out += self._group
        return squares

    def finish(self) -> FloatArray:
        """The sum over all groups."""
        if self._in_place:
            _mirror(self._out)
        return self._out


def _mirror(matrix: FloatArray) -> None:
    """Copy the upper triangle to the lower one."""
    for start in range(0, len(matrix), MIRROR_SIDE):
        end = start + MIRROR_SIDE
        square = matrix[start:end, start:end]
        square[:] = np.triu(square) + np.triu(square, 1).T
        for below in range(end, len(matrix), MIRROR_SIDE):
            there = slice(below, below + MIRROR_SIDE)
            matrix[there, start:end] = matrix[start:end, there].T


def weight_of(rows: IntArray, n_features: int, sample_weight: FloatArray | None) -> float:
    """Weight of the given rows, added up block by block."""
    if sample_weight is None:
        return float(len(rows))
    parts = [sample_weight[index].sum() for index in _cut(rows, _block_length(n_features))]
    return float(np.sum(parts))


def _block_length(n_features: int) -> int:
    return max(MIN_BLOCK_ROWS, BLOCK_BYTES // (8 * n_features))


def _cut(rows: IntArray, length: int) -> Iterator[IntArray]:
    """Cut a list of row numbers into blocks."""
    for start in range(0, len(rows), length):
        yield rows[start : start + length]
