"""Columns capped at their outer quantiles, so that a few far values don't lead the search."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from safdr._engine.arrays import FloatArray
from safdr._engine.taken_rows import gathered
from safdr.errors import ParameterError


def clip_limits(X: Any, share: float, weight: FloatArray | None) -> FloatArray:
    """The least and the largest value that counts, of each column.

    A column that this would make constant, such as one of rare ones among zeros, has none.
    """
    if issparse(X):
        raise ParameterError(
            "clip", "needs dense rows; got {given} for sparse ones. Leave it out.", given=share
        )
    if hasattr(X, "tensor"):
        raise ParameterError(
            "clip",
            "needs rows in the memory of the computer; got {given} for some on device {there!r}. "
            "Pass X.cpu().numpy(), which the search moves there clipped, or leave it out.",
            given=share,
            there=str(X.tensor.device),
        )
    rows = gathered(X)
    limits = np.array([_quantiles(rows, share, weight), -_quantiles(-rows, share, weight)])
    limits[:, limits[0] >= limits[1]] = [[-np.inf], [np.inf]]
    return limits


def clipped(X: Any, limits: FloatArray) -> FloatArray:
    """Rows whose values beyond the limits are moved to them."""
    return np.clip(gathered(X), *limits)


def _quantiles(rows: FloatArray, share: float, weight: FloatArray | None) -> FloatArray:
    """Of each column, the first value with so much weight up to it."""
    if weight is None:
        return np.quantile(rows, share, axis=0, method="inverted_cdf")
    found = np.empty(rows.shape[1])
    for j, column in enumerate(rows.T):
        order = np.argsort(column)
        reached = np.cumsum(weight[order])
        found[j] = column[order[np.searchsorted(reached, share * reached[-1])]]
    return found
