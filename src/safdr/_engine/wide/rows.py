"""Rows of many columns around the means of their classes, and their products with some of them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.sparse import issparse

from safdr._engine.arrays import FloatArray, IntArray, RowArray
from safdr._engine.interrupt import look_up
from safdr._engine.moments.blocks import block_mean
from safdr._engine.moments.sparse import ShiftedRows
from safdr._engine.taken_rows import TakenRows

# Columns that are looked at together: at most so many, of so many bytes.
BLOCK_COLUMNS = 4096
BLOCK_BYTES = 2**23

# A column further from zero than so many of its standard deviations is centred before it is
# multiplied: else what is left of its digits would not do.
FAR_OFF = 1e3


class ColumnMoments(NamedTuple):
    """Moments of each column by itself."""

    weight: FloatArray  # of each class
    mean: FloatArray  # (n_classes, n_columns)
    squares: FloatArray  # around the mean of the class, summed: (n_classes, n_columns)


class CentredRows:
    """Rows less the mean of their class, times the root of their share of its weight.

    The products of their columns add up to the sum of the covariances of the classes; of one class,
    to the covariance. Only columns that are asked for are ever made.
    """

    def __init__(
        self, X: RowArray, codes: IntArray, n_classes: int, sample_weight: FloatArray | None
    ) -> None:
        self._X = X.tocsc() if issparse(X) else X
        self._codes = codes
        self._n_classes = n_classes
        self._weight = np.ones(X.shape[0]) if sample_weight is None else sample_weight
        self._total: FloatArray = np.bincount(codes, self._weight, n_classes).astype(np.float64)
        # Of the share that each row has of the weight of its class.
        self.root = np.sqrt(self._weight / self._total[codes])
        self.shape: tuple[int, int] = X.shape

    @cached_property
    def moments(self) -> ColumnMoments:
        """Of all columns, read once."""
        mean, squares = np.zeros((2, self._n_classes, self.shape[1]))
        members = [np.flatnonzero(self._codes == label) for label in range(self._n_classes)]
        if issparse(self._X):
            by_row = self._X.tocsr()
            for label, rows in enumerate(members):
                some_rows = ShiftedRows(by_row, rows, self._weight)
                mean[label], squares[label] = some_rows.mean, some_rows.squares
            return ColumnMoments(self._total, mean, squares)
        for some in self.blocks():
            look_up()
            block = self._dense(some)
            for label, rows in enumerate(members):
                part = block[rows]
                mean[label, some] = block_mean(part, self._weight[rows])
                part -= mean[label, some]
                squares[label, some] = np.einsum("i,ij,ij->j", self._weight[rows], part, part)
        return ColumnMoments(self._total, mean, squares)

    @cached_property
    def variance(self) -> FloatArray:
        """Of each column: the diagonal of the products."""
        moments = self.moments
        return np.asarray(np.sum(moments.squares / moments.weight[:, None], axis=0))

    @property
    def is_sparse(self) -> bool:
        """Whether rows are mostly zero, and kept so."""
        return bool(issparse(self._X))

    def columns(self, which: IntArray | slice) -> FloatArray:
        """Some of the columns."""
        centred = self._dense(which) - self.moments.mean[:, which][self._codes]
        return centred * self.root[:, None]

    def combined(self, which: IntArray, slopes: FloatArray) -> FloatArray:
        """The sum of some columns, each times its slope."""
        if not issparse(self._X) or self._shift[which].any():
            return self.columns(which) @ slopes
        # Rows that are mostly zero are centred as a whole.
        centre = (self.moments.mean[:, which] @ slopes)[self._codes]
        return np.asarray((self._X[:, which] @ slopes - centre) * self.root)

    def products_with(self, which: IntArray, some: FloatArray) -> FloatArray:
        """Products of some of the columns with one that is centred, which is enough."""
        if not issparse(self._X) or self._shift[which].any():
            return self.columns(which).T @ some
        return np.asarray(self._X[:, which].T @ self._weighted(some[:, None]))[:, 0]

    def products(self, some: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
        """Products of some centred columns with all, a block of these at a time."""
        # One factor that is centred is enough.
        weighted = np.ascontiguousarray(self._weighted(some))
        factor = np.ascontiguousarray(weighted.T)
        # Of one with all, a block would take longer to cut out than to multiply.
        of_one = self._X.T @ weighted if issparse(self._X) and len(factor) == 1 else None
        for part in self.blocks():
            look_up()
            shift = self._shift[part]
            far = np.flatnonzero(shift)
            if issparse(self._X):
                found = self._X[:, part].T @ weighted if of_one is None else of_one[part]
                products = np.ascontiguousarray(found.T)
                if far.size:
                    products[:, far] = factor @ (self._dense(part.start + far) - shift[far])
                yield part, products
            else:
                block = self._dense(part)
                yield part, factor @ (block - shift if far.size else block)

    def _weighted(self, some: FloatArray) -> FloatArray:
        """Centred columns, times the root once more, for products with what is not centred.

        A mean of 1e7 deviations is known to 1e-9 of one, and the other factor may be a thousand off
        zero: so what is left of the sums over each class is taken off.
        """
        weighted = some * self.root[:, None]
        left = np.array(
            [weighted[self._codes == code].sum(axis=0) for code in range(self._n_classes)]
        )
        return weighted - (self.root**2)[:, None] * left[self._codes]

    @cached_property
    def _shift(self) -> FloatArray:
        """Mean of the columns that are far off zero."""
        mean = self.moments.weight @ self.moments.mean / self.moments.weight.sum()
        return np.where(np.abs(mean) > FAR_OFF * np.sqrt(self.variance), mean, 0.0)

    def blocks(self) -> Iterator[slice]:
        """Columns that are looked at together."""
        length = BLOCK_COLUMNS
        if not issparse(self._X):  # which are never made dense
            length = min(length, max(1, BLOCK_BYTES // (8 * self.shape[0])))
        for start in range(0, self.shape[1], length):
            yield slice(start, min(start + length, self.shape[1]))

    def _dense(self, which: slice | IntArray) -> FloatArray:
        """Columns as they are, in double precision."""
        X = self._X
        if isinstance(X, TakenRows):
            some = X.source[:, which][X.rows] if isinstance(which, slice) else X[:, which]
        else:
            some = X[:, which].toarray() if issparse(X) else X[:, which]
        return np.asarray(some, dtype=np.float64)
