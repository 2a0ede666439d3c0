"""Subsets as rows of column indices, padded with -1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from safdr._engine.arrays import IntArray


def padded(subsets: Sequence[IntArray]) -> IntArray:
    rows = np.full((len(subsets), max(map(len, subsets))), -1, dtype=np.int64)
    for row, subset in zip(rows, subsets, strict=True):
        row[: len(subset)] = subset
    return rows


def stacked(first: IntArray, second: IntArray) -> IntArray:
    longest = max(first.shape[1], second.shape[1])
    return np.vstack(
        [
            np.pad(rows, ((0, 0), (0, longest - rows.shape[1])), constant_values=-1)
            for rows in (first, second)
        ]
    )


def distinct(subsets: IntArray) -> tuple[IntArray, IntArray]:
    """Return the first rows of different subsets, and the position of each row among them."""
    # np.unique takes several times as long for dozens of rows.
    whole = np.dtype((np.void, subsets.shape[1] * subsets.itemsize))
    place: dict[Any, int] = {}
    rows = np.ascontiguousarray(subsets).view(whole).ravel().tolist()
    inverse = np.array([place.setdefault(row, len(place)) for row in rows])
    first = np.empty(len(place), dtype=np.int64)
    first[inverse[::-1]] = np.arange(len(subsets))[::-1]  # the last one written stays
    return first, inverse
