"""Independent sets of a conflict graph: large ones, random ones, and all of a size."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, islice

import numpy as np
from numpy.typing import NDArray

from safdr._engine.arrays import IntArray

BoolArray = NDArray[np.bool_]

# Greedy searches for a large set, each in a random order.
N_SEARCHES = 50

# Random draws for a set of the right size, before a part of the largest known set is taken.
MAX_DRAWS = 20

# Nodes of the search tree for each set that is asked for, before there are too many to list.
NODES_PER_SET = 100


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


def every_set(
    n_nodes: int, conflicts: BoolArray | None, size: int, max_sets: int
) -> list[tuple[int, ...]] | None:
    """Return all independent sets of a size; None if they are (or may be) too many."""
    if conflicts is None:
        found = list(islice(combinations(range(n_nodes), size), max_sets + 1))
        return None if len(found) > max_sets else found
    budget = NODES_PER_SET * (max_sets + 1)
    found = []
    for n_visited, chosen in enumerate(_tree(conflicts, size)):
        if len(chosen) == size:
            found.append(chosen)
        if len(found) > max_sets or n_visited > budget:
            return None
    return found


def _tree(conflicts: BoolArray, size: int) -> Iterator[tuple[int, ...]]:
    """Yield the nodes of a depth-first search; those of full size are the sets."""
    stack: list[tuple[tuple[int, ...], BoolArray]] = [((), np.ones(len(conflicts), dtype=bool))]
    while stack:
        chosen, left = stack.pop()
        yield chosen
        if len(chosen) == size:
            continue
        for node in np.flatnonzero(left)[::-1].tolist():
            rest = left & ~conflicts[node]
            rest[: node + 1] = False
            if len(chosen) + 1 + np.count_nonzero(rest) >= size:
                stack.append(((*chosen, node), rest))
