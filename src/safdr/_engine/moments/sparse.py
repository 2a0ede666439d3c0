"""Scatter of sparse rows, without ever making them dense."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from safdr._engine.arrays import FloatArray, IntArray, RowArray

# Features whose products with all others are made dense at a time: 10 MB of 5000 features. (128
# took half as long again, 512 the same.)
FEATURES_AT_ONCE = 256


class SparseScatterSum:
    """Sum over groups of sparse rows of their covariances."""

    def __init__(self, out: FloatArray) -> None:
        self._out = out
        out[:] = 0.0

    def add_rows(
        self, X: RowArray, rows: IntArray, sample_weight: FloatArray | None
    ) -> tuple[float, FloatArray, FloatArray]:
        """Add the covariance of the given rows.

        Return their weight, their mean, and their squares around it, summed.
        """
        if not len(rows) or (sample_weight is not None and not sample_weight[rows].any()):
            return 0.0, np.zeros(X.shape[1]), np.zeros(X.shape[1])
        part = ShiftedRows(X, rows, sample_weight)
        return part.weight, part.mean, part.add_covariance(self._out)

    def finish(self) -> FloatArray:
        """The sum over all groups."""
        return self._out


class ShiftedRows:
    """Some sparse rows, times the root of their weight.

    Products of sparse rows are centred afterwards, which costs digits where a mean is large against
    the spread. With a zero in the column, it costs no more than the number of rows has; a column
    without any is shifted by its mean before, which leaves it as sparse as it was.
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
        """Weighted mean of each feature."""
        return self._shift + self._shifted_mean

    @property
    def squares(self) -> FloatArray:
        """Around the mean, summed, of each feature."""
        squares = np.asarray(self._columns.multiply(self._columns).sum(axis=0)).ravel()
        # Rounding must not make a variance negative.
        return np.maximum(squares - self.weight * self._shifted_mean**2, 0.0)

    def add_covariance(self, out: FloatArray) -> FloatArray:
        """Add the covariance to `out`; return the squares around the mean, summed."""
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
        """Features times outputs, summed; the latter centred and times the root of the weight."""
        product: FloatArray = self._columns.T @ outputs
        return product


def _shift(columns: RowArray, weight: FloatArray) -> FloatArray:
    """Mean of the columns that have no zero, and exactly the value of those that never change."""
    shift = np.zeros(columns.shape[1])
    for j in np.flatnonzero(np.diff(columns.indptr) == len(weight)):
        values = columns.data[columns.indptr[j] : columns.indptr[j + 1]]
        constant = values.min() == values.max()
        shift[j] = values[0] if constant else weight @ values / weight.sum()
    return shift
