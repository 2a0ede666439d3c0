"""Covariances of dense rows, summed block by block around the mean of each block."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import dsyrk
from scipy.sparse import issparse

from safdr._engine.arrays import FloatArray, IntArray, RowArray
from safdr._engine.interrupt import look_up
from safdr._engine.rows import BLOCK_BYTES, RowSubset

# Rows of a block at least, so that the matrix product runs at full speed.
MIN_BLOCK_ROWS = 256

# Side of the squares in which a triangle is mirrored: two of them fit into cache.
MIRROR_SIDE = 256

# Largest share of nonzero entries for which sparse products are faster (0.1 to 0.3, measured on
# 20 000 rows of 2000 and of 300 features).
MAX_SPARSE_SHARE = 0.2

# Relative rounding error of a mean, above which a column is not constant.
CONSTANT_TOL = 1e-13


class Group(NamedTuple):
    """Moments of the rows of a class."""

    weight: float
    mean: FloatArray
    squares: FloatArray  # sums around the mean
    output_mean: FloatArray
    output_variance: FloatArray
    cross: FloatArray

    @classmethod
    def empty(cls, n_features: int, n_outputs: int) -> Group:
        features, outputs = np.zeros(n_features), np.zeros(n_outputs)
        return cls(0.0, features, features, outputs, outputs, np.outer(features, outputs))


class Outputs(NamedTuple):
    """Outputs, centred and times the root of the weight."""

    mean: FloatArray
    centred: FloatArray

    @classmethod
    def make(cls, outputs: FloatArray, rows: IntArray, sample_weight: FloatArray | None) -> Outputs:
        """Centre the outputs of some rows on their weighted mean."""
        some = outputs[rows]
        weight = np.ones(len(rows)) if sample_weight is None else sample_weight[rows]
        mean = block_mean(some, weight)
        return cls(mean, (some - mean) * np.sqrt(weight)[:, None])

    def variance(self, weight: float) -> FloatArray:
        return np.asarray(np.einsum("ij,ij->j", self.centred, self.centred) / weight)


class ScatterSum:
    """Sum of the covariances of classes, for dense rows."""

    def __init__(self, out: FloatArray) -> None:
        self._out = out
        out[:] = 0.0

    def add_rows(
        self, X: RowArray, rows: IntArray, sample_weight: FloatArray | None, outputs: FloatArray
    ) -> Group:
        """Add the covariance of a class; return its moments."""
        weight = float(len(rows) if sample_weight is None else sample_weight[rows].sum())
        if weight == 0:
            return Group.empty(X.shape[1], outputs.shape[1])
        of_outputs = Outputs.make(outputs, rows, sample_weight)
        cross = np.zeros((X.shape[1], outputs.shape[1]))
        squares = np.zeros(X.shape[1])
        weights, means, sums = [], [], []
        for block in _row_blocks(X, rows, sample_weight):
            squares += self._add(block.rows, weight)
            some = of_outputs.centred[block.places]
            cross += block.rows.T @ some
            weights.append(block.weight)
            means.append(block.mean)
            sums.append(block.root @ some)
        mean, between = joined_mean(np.asarray(weights), np.asarray(means))
        if len(weights) > 1:
            squares += self._add(between, weight)
            # Features are centred on the mean of their block, outputs on that of all.
            cross += (between / np.sqrt(weights)[:, None]).T @ np.asarray(sums)
        moments = of_outputs.mean, of_outputs.variance(weight)
        return Group(weight, mean, squares, *moments, cross / weight)

    def finish(self) -> FloatArray:
        _mirror(self._out)
        return self._out

    def _add(self, rows: FloatArray, divisor: float) -> FloatArray:
        """Add products of rows to one triangle in place; return the sums of squares."""
        dsyrk(1.0 / divisor, rows.T, beta=1.0, c=self._out.T, trans=0, lower=1, overwrite_c=1)
        return np.asarray(np.einsum("ij,ij->j", rows, rows))


def mostly_zero(X: RowArray) -> bool:
    """Return True if products of sparse rows are faster than dense ones."""
    return issparse(X) and X.nnz <= MAX_SPARSE_SHARE * X.shape[0] * X.shape[1]


def block_mean(rows: FloatArray, weight: FloatArray) -> FloatArray:
    """Return the weighted mean, exact for a constant column: its variance must be zero."""
    mean: FloatArray = weight @ rows / weight.sum()
    suspects = np.flatnonzero(np.abs(mean - rows[0]) <= CONSTANT_TOL * np.abs(rows[0]))
    if len(suspects) == 0:
        return mean
    constant = suspects[(rows[:, suspects] == rows[0, suspects]).all(axis=0)]
    mean[constant] = rows[0, constant]
    return mean


def joined_mean(weights: FloatArray, means: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean of all blocks, and the rows that the scatter of the blocks lacks."""
    # The rows are the block means around it, times the root of the weight (Chan's formula).
    if len(weights) == 1:
        return means[0], np.zeros_like(means)
    share = weights / weights.sum()
    # Around the mean of the first block, so that equal means stay exactly equal.
    offsets = means - means[0]
    mean = share @ offsets
    return means[0] + mean, np.sqrt(weights)[:, None] * (offsets - mean)


class _RowBlock(NamedTuple):
    """Rows around their mean, times the root of their weight."""

    places: slice
    root: FloatArray
    weight: float
    mean: FloatArray
    rows: FloatArray


def _row_blocks(
    X: RowArray, rows: IntArray, sample_weight: FloatArray | None
) -> Iterator[_RowBlock]:
    """Yield rows in blocks; each may overwrite the previous one."""
    X = X.tocsr() if issparse(X) else X
    source: RowArray = X.source if isinstance(X, RowSubset) else X
    indices = X.rows[rows] if isinstance(X, RowSubset) else rows
    length = max(MIN_BLOCK_ROWS, BLOCK_BYTES // (8 * X.shape[1]))
    # One buffer for all blocks saves a fifth of the time. np.take would copy an array in Fortran
    # order first.
    in_place = isinstance(source, np.ndarray) and source.flags.c_contiguous
    in_place = in_place and source.dtype == np.float64
    buffer = np.empty((min(len(rows), length), X.shape[1]))
    for start in range(0, len(rows), length):
        look_up()
        places = slice(start, start + length)
        there = indices[places]
        if in_place:
            centred = np.take(source, there, axis=0, out=buffer[: len(there)], mode="clip")
        else:
            some = source[there].toarray() if issparse(source) else source[there]
            centred = some.astype(np.float64, copy=False)
        weight = np.ones(len(there)) if sample_weight is None else sample_weight[rows[places]]
        if not weight.any():
            continue
        mean = block_mean(centred, weight)
        centred -= mean
        root = np.sqrt(weight)
        if sample_weight is not None:
            centred *= root[:, None]
        yield _RowBlock(places, root, float(weight.sum()), mean, centred)


def _mirror(matrix: FloatArray) -> None:
    for start in range(0, len(matrix), MIRROR_SIDE):
        end = start + MIRROR_SIDE
        square = matrix[start:end, start:end]
        square[:] = np.triu(square) + np.triu(square, 1).T
        for below in range(end, len(matrix), MIRROR_SIDE):
            there = slice(below, below + MIRROR_SIDE)
            matrix[there, start:end] = matrix[start:end, there].T
