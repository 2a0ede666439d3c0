"""Standardised columns of subsets, in the layout of the compiled fits."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from safdr import _core
from safdr._engine.arrays import FloatArray, IntArray, RowArray
from safdr._engine.fits.fits import Fits
from safdr._engine.moments import Marginals
from safdr._engine.moments.blocks import joined_mean
from safdr._engine.rows import RowSubset

# Largest number of standardised values in memory during a fit (0.5 GB).
NUMBERS_AT_ONCE = 64_000_000

# Rows of a block in the core; the last block is padded.
BLOCK = 64

# Up to this number of values (24 MB), all columns are kept for later fits.
NUMBERS_TO_KEEP = 2_000_000

# Rows for the median, and its largest distance from the mean, in standard deviations.
ROWS_FOR_MEDIAN = 256
MOST_DEVIATIONS = 3.0

# Sparse rows are made dense a few columns at a time.
SPARSE_COLUMNS_AT_ONCE = 64


class Portion(NamedTuple):
    """Subsets that are fitted on the same columns."""

    subsets: IntArray
    Z: FloatArray  # standardised columns: (n_blocks, n_columns + 1, rows of a block)
    numbered: IntArray  # positions of the members among the columns


def total_variance(moments: Marginals) -> tuple[FloatArray, FloatArray]:
    """Return the mean and variance of each feature over all classes together."""
    within = moments.squares.sum(axis=0) / moments.weight.sum()
    mean, between = joined_mean(moments.weight, moments.mean)
    return mean, within + np.sum(between**2, axis=0) / moments.weight.sum()


def middle(X: RowArray, mean: FloatArray, scale: FloatArray) -> FloatArray:
    """Return roughly the median of each column."""
    # An outlier may move the mean far from all other values; subtracting it would round
    # them off.
    some = X[:: -(-X.shape[0] // ROWS_FOR_MEDIAN)]
    median = np.median(some.toarray() if issparse(some) else some, axis=0)
    return np.where(np.abs(median - mean) <= MOST_DEVIATIONS * scale, median, mean)


class Standardiser:
    """Rows whose columns are standardised for the subsets to be fitted."""

    def __init__(self, X: RowArray, moments: Marginals) -> None:
        self.X = X
        self._mean, variance = total_variance(moments)
        scale = np.sqrt(variance)
        self.scale = np.where(scale > 0, scale, 1.0)

    def __getstate__(self) -> dict[str, Any]:
        # The cache can be recomputed, and its memory must be aligned by the core.
        return {name: value for name, value in vars(self).items() if name != "_all"}

    @cached_property
    def center(self) -> FloatArray:
        """Center of each column, subtracted before the division by its scale."""
        return middle(self.X, self._mean, self.scale)

    @property
    def _keeps_all(self) -> bool:
        n_rows, n_features = self.X.shape
        return -(-n_rows // BLOCK) * BLOCK * n_features <= NUMBERS_TO_KEEP

    def take(self, columns: IntArray) -> tuple[FloatArray, NDArray[np.int32]]:
        """Return standardised columns, and the positions of some columns among them."""
        if self._keeps_all:
            return self._all, columns.astype(np.int32)
        return self._standardised(columns), np.arange(len(columns), dtype=np.int32)

    def standardised_model(
        self, subset: IntArray, coefficients: FloatArray, intercept: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return a model of raw columns as one of the standardised columns."""
        return coefficients * self.scale[subset], intercept + coefficients @ self.center[subset]

    def portions(self, subsets: IntArray) -> Iterator[Portion]:
        """Yield subsets with their columns, as many at a time as fit into memory."""
        if self._keeps_all:
            yield Portion(subsets, self._all, subsets)
            return
        for some in portions(subsets, self.X.shape):
            columns, numbered = renumbered(some, self.X.shape[1])
            yield Portion(some, self._standardised(columns), numbered)

    def undo(self, fits: Fits, subsets: IntArray) -> Fits:
        """Return the models in the units of the raw columns."""
        per_class = (slice(None), None) if fits.coefficients.ndim == 3 else slice(None)
        slopes = fits.coefficients / self.scale[subsets][per_class]
        shift = np.sum(slopes * self.center[subsets][per_class], axis=-1)
        return fits._replace(coefficients=slopes, intercepts=fits.intercepts - shift)

    @cached_property
    def _all(self) -> FloatArray:
        return self._standardised(np.arange(self.X.shape[1]))

    def _standardised(self, columns: IntArray) -> FloatArray:
        return standardised(self.X, self.center, self.scale, columns)


def renumbered(subsets: IntArray, n_features: int) -> tuple[IntArray, IntArray]:
    """Return the sorted features of the subsets, and the subsets as positions among them."""
    occurs = np.zeros(n_features, dtype=bool)
    occurs[subsets] = True
    places = np.cumsum(occurs) - 1
    return np.flatnonzero(occurs), places[subsets]


def standardised(
    X: RowArray, center: FloatArray, scale: FloatArray, columns: IntArray
) -> FloatArray:
    """Return columns less their center, over their scale, and a column of ones."""
    if not issparse(X):
        source, rows = (X.source, X.rows) if isinstance(X, RowSubset) else (X, None)
        return _core.standardise(source, center, scale, columns.astype(np.int32), rows)
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


def portions(subsets: IntArray, shape: tuple[int, ...]) -> Iterator[IntArray]:
    """Yield groups of subsets whose columns fit into memory together."""
    n_rows, n_features = shape
    most = max(NUMBERS_AT_ONCE // n_rows, subsets.shape[1])
    if n_features <= most:
        yield subsets
        return
    while len(subsets):
        # Number of distinct columns of the first 1, 2, … subsets.
        n_columns = np.cumsum(_is_first(subsets), axis=None).reshape(subsets.shape)[:, -1]
        count = max(1, int(np.searchsorted(n_columns, most, side="right")))
        yield subsets[:count]
        subsets = subsets[count:]


def _is_first(values: IntArray) -> NDArray[np.bool_]:
    first = np.zeros(values.size, dtype=bool)
    first[np.unique(values, return_index=True)[1]] = True
    return first.reshape(values.shape)
