"""Covariances of sparse rows, which are never made dense."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from safdr._engine.arrays import FloatArray, IntArray, RowArray
from safdr._engine.moments.blocks import Group, Outputs

# Features whose products with all others are dense at a time: 10 MB of 5000 features.
FEATURES_AT_ONCE = 256


class SparseScatterSum:
    """Sum of the covariances of classes, for sparse rows."""

    def __init__(self, out: FloatArray) -> None:
        self._out = out
        out[:] = 0.0

    def add_rows(
        self, X: RowArray, rows: IntArray, sample_weight: FloatArray | None, outputs: FloatArray
    ) -> Group:
        if not len(rows) or (sample_weight is not None and not sample_weight[rows].any()):
            return Group.empty(X.shape[1], outputs.shape[1])
        part = ShiftedRows(X, rows, sample_weight)
        of_outputs = Outputs.make(outputs, rows, sample_weight)
        squares, cross = part.add_covariance(self._out), part.products(of_outputs.centred)
        variance = of_outputs.variance(part.weight)
        return Group(
            part.weight, part.mean, squares, of_outputs.mean, variance, cross / part.weight
        )

    def finish(self) -> FloatArray:
        return self._out


class ShiftedRows:
    """Sparse rows times the root of their weight, whose products are centred afterwards.

    If a mean is large against the deviation, digits cancel. A column with a zero loses no more
    digits than the number of rows has. A column without zeros is shifted by its mean first.
    """

    def __init__(self, X: RowArray, rows: IntArray, sample_weight: FloatArray | None) -> None:
        columns = sparse.csc_array(X[rows], dtype=np.float64)
        columns.sum_duplicates()
        weight = np.ones(len(rows)) if sample_weight is None else sample_weight[rows]
        self.weight = float(weight.sum())
        root = np.sqrt(weight)
        self._shift = _shift(columns, weight)
        columns.data -= np.repeat(self._shift, np.diff(columns.indptr))
        columns.data *= root[columns.indices]
        self._columns = columns
        self._shifted_mean = columns.T @ root / self.weight

    @property
    def mean(self) -> FloatArray:
        return self._shift + self._shifted_mean

    @property
    def squares(self) -> FloatArray:
        squares = np.asarray(self._columns.multiply(self._columns).sum(axis=0)).ravel()
        # Rounding must not make a variance negative.
        return np.maximum(squares - self.weight * self._shifted_mean**2, 0.0)

    def add_covariance(self, out: FloatArray) -> FloatArray:
        """Add the covariance to `out`; return the sums of squares around the mean."""
        by_row = self._columns.tocsr()
        centre = np.sqrt(self.weight) * self._shifted_mean
        squares = np.empty(len(out))
        for start in range(0, len(out), FEATURES_AT_ONCE):
            some = slice(start, start + FEATURES_AT_ONCE)
            scatter = (self._columns[:, some].T @ by_row).toarray()
            scatter -= np.outer(centre[some], centre)
            own = scatter[:, some]
            # Rounding must not make a variance negative.
            np.fill_diagonal(own, np.maximum(np.diag(own), 0.0))
            squares[some] = np.diag(own)
            scatter /= self.weight
            out[some] += scatter
        return squares

    def products(self, outputs: FloatArray) -> FloatArray:
        """Return the products with centred and weighted outputs."""
        product: FloatArray = self._columns.T @ outputs
        return product


def _shift(columns: RowArray, weight: FloatArray) -> FloatArray:
    """Return the mean of columns without zeros, exact for constant ones; 0 for others."""
    shift = np.zeros(columns.shape[1])
    for j in np.flatnonzero(np.diff(columns.indptr) == len(weight)):
        values = columns.data[columns.indptr[j] : columns.indptr[j + 1]]
        constant = values.min() == values.max()
        shift[j] = values[0] if constant else weight @ values / weight.sum()
    return shift
