"""Any function of a subset as an objective of `ObjectiveChains`, each value computed once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import numpy as np

from safdr._engine.arrays import FloatArray, IntArray

# The value of one subset (sorted columns) on one batch, or on all rows for -1.
Objective: TypeAlias = Callable[[IntArray, int], float]
Task: TypeAlias = tuple[IntArray, int]
# Calls an objective for each task, maybe in parallel, and gives the values in their order.
Run: TypeAlias = Callable[[Objective, Sequence[Task]], Iterable[float]]


def one_by_one(objective: Objective, tasks: Sequence[Task]) -> list[float]:
    """Call the objective for each task in turn."""
    return [objective(subset, which) for subset, which in tasks]


class CachedObjective:
    """Values of any function of a subset; each is computed once.

    Parameters
    ----------
    objective : callable
        ``objective(subset, which)``, for sorted columns and the number of a batch (-1 for all
        rows), gives a float, the larger the better; minus infinity or NaN where there is none. It
        must be a function of these two alone.
    run : callable, default=one_by_one
        ``run(objective, tasks)`` gives the value of each (subset, which) in `tasks`, in order. It
        gets all new ones at once, each once, and may work on them in parallel.
    max_entries : int, default=2**20
        Values that are remembered; beyond, the oldest are forgotten.
    """

    def __init__(
        self, objective: Objective, run: Run = one_by_one, max_entries: int = 2**20
    ) -> None:
        self.objective = objective
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
        values = [float(value) for value in self.run(self.objective, tasks)] if tasks else []
        self._known.update(zip(new, values, strict=True))
        found = np.array([self._known[key] for key in keys])
        self._forget()
        return found

    def _forget(self) -> None:
        """Drop the oldest values where there are too many."""
        while len(self._known) > self.max_entries:
            del self._known[next(iter(self._known))]
