"""The largest of many numbers."""

from __future__ import annotations

import numpy as np

from safdr._engine.arrays import FloatArray, IntArray


def largest(values: FloatArray, n: int) -> IntArray:
    """Places of the `n` largest in order, of equal ones the first: all need not be sorted."""
    if n < len(values):
        least = np.partition(values, len(values) - n)[len(values) - n]
        there = np.flatnonzero(values >= least)
    else:
        there = np.arange(len(values))
    return there[np.argsort(-values[there], kind="stable")[:n]]
