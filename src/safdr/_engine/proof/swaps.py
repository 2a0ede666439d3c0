"""Subsets that are one swap away: good ones to know where a search has not listed any yet."""

from __future__ import annotations

import numpy as np

from safdr._engine.arrays import IntArray
from safdr._engine.constraints import AllowedSubsets


def one_swap_away(subset: IntArray, allowed: AllowedSubsets) -> IntArray:
    """All allowed subsets that differ in one feature, which are columns here."""
    leaving = np.setdiff1d(subset, allowed.include)
    entering = np.setdiff1d(allowed.free, subset)
    fits = np.ones((len(leaving), len(entering)), dtype=bool)
    if allowed.conflicts is not None:
        rivals = allowed.conflicts[np.ix_(subset, entering)].sum(axis=0)
        fits = rivals == allowed.conflicts[np.ix_(leaving, entering)]
    i, j = np.nonzero(fits)
    subsets = np.repeat(subset[None], len(i), axis=0)
    subsets[np.arange(len(i)), np.searchsorted(subset, leaving[i])] = entering[j]
    return np.sort(subsets, axis=1)
