"""Any function of a subset as `FunctionChains` take it, each value computed once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import numpy as np

from safdr._engine.arrays import FloatArray, IntArray

# The value of one subset (sorted columns) on one batch, or on all rows for -1.
Function: TypeAlias = Callable[[IntArray, int], float]
Task: TypeAlias = tuple[IntArray, int]
# Calls a function for each task, maybe in parallel, and gives the values in their order.
Run: TypeAlias = Callable[[Function, Sequence[Task]], Iterable[float]]


def one_by_one(function: Function, tasks: Sequence[Task]) -> list[float]:
    """Call the function for each task in turn."""
    return [function(subset, which) for subset, which in tasks]


class CachedFunction:
    """Values of any function of a subset; each is computed once."""

    def __init__(self, function: Function, run: Run = one_by_one, max_entries: int = 2**20) -> None:
        self.function = function
        self.run = run
        self.max_entries = max_entries
        self._known: dict[tuple[bytes, int], float] = {}

    def __call__(self, subsets: IntArray, which: IntArray) -> FloatArray:
        """Values of subsets filled up with -1, each on its batch."""
        keys = [
            (row.tobytes(), batch)
            for row, batch in zip(np.ascontiguousarray(subsets), which.tolist(), strict=True)
        ]
        new = {key: i for i, key in enumerate(keys) if key not in self._known}
        tasks = [(subsets[i][subsets[i] >= 0], key[1]) for key, i in new.items()]
        values = [float(value) for value in self.run(self.function, tasks)] if tasks else []
        self._known.update(zip(new, values, strict=True))
        found = np.array([self._known[key] for key in keys])
        self._forget()
        return found

    def _forget(self) -> None:
        """Drop the oldest values where there are too many."""
        while len(self._known) > self.max_entries:
            del self._known[next(iter(self._known))]
