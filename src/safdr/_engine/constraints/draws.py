"""Independent sets of a conflict graph: large ones and random ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from safdr._engine.arrays import IntArray

BoolArray = NDArray[np.bool_]

# Greedy searches for a large set, each in a random order.
N_SEARCHES = 50

# Random draws for a set of the right size, before a part of the largest known set is taken.
MAX_DRAWS = 20


def largest_set(conflicts: BoolArray) -> IntArray:
    """Return a large independent set, found by greedy searches."""
    # Each adds the node with the fewest remaining conflicts; ties are broken at random. The
    # result is the largest one for disjoint cliques, but not in general.
    rng = np.random.default_rng(0)
    best = np.empty(0, dtype=np.int64)
    for _ in range(N_SEARCHES):
        left, chosen = np.ones(len(conflicts), dtype=bool), []
        degree = conflicts.sum(axis=1) + rng.random(len(conflicts))
        while left.any():
            node = int(np.argmin(np.where(left, degree, np.inf)))
            chosen.append(node)
            gone = left & conflicts[node]
            gone[node] = True
            left &= ~gone
            degree -= conflicts[:, gone].sum(axis=1)
        if len(chosen) > len(best):
            best = np.sort(np.array(chosen, dtype=np.int64))
    return best


def random_set(
    conflicts: BoolArray, size: int, largest: IntArray, rng: np.random.Generator
) -> IntArray:
    """Return a random independent set; all are possible, with unequal probabilities."""
    for _ in range(MAX_DRAWS):
        chosen: list[int] = []
        barred = np.zeros(len(conflicts), dtype=bool)
        for node in rng.permutation(len(conflicts)).tolist():
            if len(chosen) == size:
                break
            if not barred[node]:
                chosen.append(node)
                barred |= conflicts[node]
        if len(chosen) == size:
            return np.array(chosen, dtype=np.int64)
    return rng.permutation(largest)[:size]
