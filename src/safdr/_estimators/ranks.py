"""The rank of each value in its column, as a share of all weight."""

from __future__ import annotations

from typing import Any

import numpy as np

from safdr._engine.arrays import FloatArray
from safdr._memory import check_memory


def mid_ranks(X: Any, weight: FloatArray | None) -> FloatArray:
    """Of each value the weight below it and half of the weight at it: dense, in doubles."""
    n_rows, n_columns = X.shape
    check_memory(
        8.0 * n_rows * n_columns,
        f"The ranks of {n_rows:,} rows of {n_columns:,} columns",
        "criterion='mixed' does the same on the values, which it takes as they are. Or leave "
        "columns out, for example those that tell least alone.",
    )
    ranks = np.empty(X.shape)
    for j in range(n_columns):
        _, place = np.unique(X.take([j], axis=1)[:, 0], return_inverse=True)
        at = np.bincount(place, weight)
        ranks[:, j] = ((np.cumsum(at) - at / 2) / at.sum())[place]
    return ranks
