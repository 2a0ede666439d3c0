"""Columns that may know the answer: one alone tells the target, or a level goes with one class."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

FloatArray = NDArray[np.float64]
Found = Iterator[dict[str, Any]]

# What is too good to be true: all but one row in a thousand.
PURE = 0.999
# Rows that a level needs before its purity says anything, and how rarely as many rows drawn at
# random may be as pure: once in 3.5 million times, which is five standard errors.
MIN_ROWS = 50
BY_CHANCE = 2.9e-7
# More rows than this say no more.
MOST_ROWS = 200_000


def describe_leaks(
    subset: NDArray[np.int64], X: FloatArray, labels: NDArray[Any], names: list[str], classes: Any
) -> list[dict[str, Any]]:
    """Give the chosen columns that tell the target nearly alone.

    `class` is the place of the class that the `n_rows` rows of a level go with, `share` the part of
    them that do; of a column that tells all alone, both are None.
    """
    step = -(-len(X) // MOST_ROWS)
    X, labels = X[::step], labels[::step]
    measured = classes is None
    codes: Any = labels.astype(np.float64) if measured else np.searchsorted(classes, labels)
    found = []
    for j in subset:
        column = X[:, j]
        telling = _explains(column, codes) if measured else _tells(column, codes)
        found += [{"name": names[j], "index": int(j), **each} for each in telling]
    return found


def _explains(column: FloatArray, values: FloatArray) -> Found:
    """A column that is the target, but for its scale or a bend."""
    if len(values) < MIN_ROWS or column.min() == column.max():
        return
    pairs = ((column, values), (rankdata(column), rankdata(values)))
    if max(np.corrcoef(*pair)[0, 1] ** 2 for pair in pairs) >= PURE:
        yield {"n_rows": len(values), "class": None, "share": None}


def _tells(column: FloatArray, codes: NDArray[np.int64]) -> Found:
    """A column whose ranges in the classes don't meet; or that has two values, one of them pure."""
    if _apart(column, codes):
        yield {"n_rows": len(codes), "class": None, "share": None}
        return
    values = np.unique(column[:MIN_ROWS])
    if len(values) > 2 or len(values := np.unique(column)) != 2:
        return
    base = np.bincount(codes) / len(codes)
    for value in values:
        counts = np.bincount(codes[column == value], minlength=len(base))
        n, commonest = int(counts.sum()), int(np.argmax(counts))
        share = counts[commonest] / n
        if n >= MIN_ROWS and share >= PURE and base[commonest] ** n <= BY_CHANCE:
            yield {"n_rows": n, "class": commonest, "share": float(share), "value": float(value)}


def _apart(column: FloatArray, codes: NDArray[np.int64]) -> bool:
    """Whether the classes have ranges of their own, but for one row in a thousand of each."""
    ranges = []
    for code in np.unique(codes):
        own = column[codes == code]
        spare = int((1 - PURE) / 2 * len(own))
        ordered = np.partition(own, (spare, len(own) - 1 - spare))
        ranges.append((ordered[spare], ordered[len(own) - 1 - spare]))
    ranges.sort()
    return all(high < low for (_, high), (low, _) in pairwise(ranges))
