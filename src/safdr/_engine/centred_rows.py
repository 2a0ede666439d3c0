"""Centred rows of classes, and products of some columns with all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

import numpy as np
from scipy.sparse import issparse

from safdr._engine.arrays import FloatArray, IntArray, RowArray
from safdr._engine.interrupt import look_up
from safdr._engine.moments import Marginals
from safdr._engine.moments.blocks import Outputs, block_mean
from safdr._engine.moments.sparse import ShiftedRows
from safdr._engine.rows import RowSubset

# Columns that are read together, and their bytes.
BLOCK_COLUMNS = 4096
BLOCK_BYTES = 2**23

# A column further from zero than this many standard deviations is centred before it is multiplied:
# rounding errors of the product would be large.
FAR_OFF = 1e3


class CentredRows:
    """Rows less the mean of their class, times the root of their share of its weight.

    Their products are the sum of the covariances of the classes. Columns are computed on request.
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
    def moments(self) -> Marginals:
        mean, squares = np.zeros((2, self._n_classes, self.shape[1]))
        labels = np.flatnonzero(self._total)
        members = [(label, np.flatnonzero(self._codes == label)) for label in labels]
        if issparse(self._X):
            by_row = self._X.tocsr()
            for label, rows in members:
                some_rows = ShiftedRows(by_row, rows, self._weight)
                mean[label], squares[label] = some_rows.mean, some_rows.squares
            return self._marginals(mean, squares)
        for some in self.blocks():
            look_up()
            block = self._dense(some)
            for label, rows in members:
                part = block[rows]
                mean[label, some] = block_mean(part, self._weight[rows])
                part -= mean[label, some]
                squares[label, some] = np.einsum("i,ij,ij->j", self._weight[rows], part, part)
        return self._marginals(mean, squares)

    def _marginals(self, mean: FloatArray, squares: FloatArray) -> Marginals:
        none = np.empty(0)
        cross = np.empty((self.shape[1], 0))
        return Marginals(self._total, mean, squares, none, none, cross)

    def with_outputs(self, outputs: FloatArray) -> Marginals:
        """Return the moments of all columns of one class, with outputs."""
        every, weight = np.arange(self.shape[0]), float(self._total[0])
        found = Outputs.make(outputs, every, self._weight)
        centred = found.centred / np.sqrt(weight)
        cross = np.concatenate([part.T for _, part in self.products(centred)])
        of_outputs = {"output_mean": found.mean, "output_variance": found.variance(weight)}
        return replace(self.moments, cross=cross, **of_outputs)

    @cached_property
    def variance(self) -> FloatArray:
        return self.moments.variance

    @property
    def is_sparse(self) -> bool:
        return bool(issparse(self._X))

    def columns(self, which: IntArray | slice) -> FloatArray:
        centred = self._dense(which) - self.moments.mean[:, which][self._codes]
        return centred * self.root[:, None]

    def combined(self, which: IntArray, slopes: FloatArray) -> FloatArray:
        """Return the centred columns times their slopes: (n_rows, n_outputs)."""
        if not issparse(self._X) or self._shift[which].any():
            return self.columns(which) @ slopes
        # Sparse columns are centred after the product.
        centre = (self.moments.mean[:, which] @ slopes)[self._codes]
        return np.asarray((self._X[:, which] @ slopes - centre) * self.root[:, None])

    def products_with(self, which: IntArray, some: FloatArray) -> FloatArray:
        """Return products of columns with one centred vector."""
        if not issparse(self._X) or self._shift[which].any():
            return self.columns(which).T @ some
        return np.asarray(self._X[:, which].T @ self._weighted(some[:, None]))[:, 0]

    def products(self, some: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
        """Yield products of some centred columns with all, block by block."""
        # One centred factor is enough.
        weighted = np.ascontiguousarray(self._weighted(some))
        factor = np.ascontiguousarray(weighted.T)
        # Slicing a sparse block takes longer than its product with one column.
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
        """Return centred columns times the root, for products with raw columns."""
        # Raw columns may be FAR_OFF from zero, so the rounding error of each sum is subtracted.
        weighted = some * self.root[:, None]
        left = np.array(
            [weighted[self._codes == code].sum(axis=0) for code in range(self._n_classes)]
        )
        return weighted - (self.root**2)[:, None] * left[self._codes]

    @cached_property
    def _shift(self) -> FloatArray:
        """Return the mean of columns far from zero; 0 for others."""
        mean = self.moments.weight @ self.moments.mean / self.moments.weight.sum()
        return np.where(np.abs(mean) > FAR_OFF * np.sqrt(self.variance), mean, 0.0)

    def blocks(self) -> Iterator[slice]:
        length = BLOCK_COLUMNS
        if not issparse(self._X):  # which are never made dense
            length = min(length, max(1, BLOCK_BYTES // (8 * self.shape[0])))
        for start in range(0, self.shape[1], length):
            yield slice(start, min(start + length, self.shape[1]))

    def _dense(self, which: slice | IntArray) -> FloatArray:
        X = self._X
        if isinstance(X, RowSubset):
            some = X.source[:, which][X.rows] if isinstance(which, slice) else X[:, which]
        else:
            some = X[:, which].toarray() if issparse(X) else X[:, which]
        return np.asarray(some, dtype=np.float64)
