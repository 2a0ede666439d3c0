"""The best places among many columns: anneal among a few, ask all others, go on around the best."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from safdr._engine.annealing.chains import Dynamics
from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.search import Search, stacked
from safdr._engine.wide.swaps import Swaps

# Rounds at most; places that are kept; and columns that each of them calls for, better or not: two
# swaps may do what one can't. Of 160 problems none was below the search of all columns; with two
# rounds 1 was, with half of the places 3.
N_ROUNDS = 3
N_ENDS = 16
N_CALLED = 20


class Explored(NamedTuple):
    """The best subset, the columns around the best places, and how often replicas were annealed."""

    subset: IntArray
    working: IntArray
    n_rounds: int


class Ends(NamedTuple):
    """Different places that replicas climb to, the best first."""

    subsets: IntArray
    values: FloatArray

    def with_more(self, subsets: IntArray, values: FloatArray) -> Ends:
        """The best of these and others."""
        subsets, values = stacked(self.subsets, subsets), np.concatenate([self.values, values])
        _, first = np.unique(subsets, axis=0, return_index=True)
        best = first[np.argsort(-values[first], kind="stable")[:N_ENDS]]
        return Ends(subsets[best], values[best])


class Explorer:
    """Searches by one criterion, on all rows: batches come when the places are known."""

    def __init__(self, swaps: Swaps, constraints: AllowedSubsets, settings: Dynamics, seed: int):
        self._swaps = swaps
        self._constraints = constraints
        self._settings = settings
        self._seed = seed

    def run(self, working: IntArray, size: int, n_threads: int) -> Explored:
        """From a first working set to one of the columns that the best places call for."""
        # Without columns that no subset needs, unless there are too few others.
        enough = self._swaps.allowed.has_size(size)
        allowed = self._swaps.allowed if enough else self._constraints
        fixed = np.flatnonzero(np.isin(allowed.group_of, allowed.include))
        ends = Ends(np.empty((0, size), dtype=np.int64), np.empty(0))
        called: dict[bytes, IntArray] = {}
        n_rounds = 0
        while n_rounds < N_ROUNDS:
            n_rounds += 1
            before = ends
            ends = ends.with_more(*self._climbed(allowed, working, size, n_threads))
            if np.array_equal(ends.subsets, before.subsets):
                break
            new = [subset for subset in ends.subsets if subset.tobytes() not in called]
            columns = self._swaps.called_for(np.array(new), N_CALLED) if new else []
            called |= {subset.tobytes(): some for subset, some in zip(new, columns, strict=True)}
            near = [called[subset.tobytes()] for subset in ends.subsets]
            members = ends.subsets[ends.subsets >= 0]
            working = whole_groups(allowed, np.concatenate([fixed, members, *near]))
        best = ends.subsets[0]
        return Explored(best[best >= 0], working, n_rounds)

    def _climbed(
        self, allowed: AllowedSubsets, working: IntArray, size: int, n_threads: int
    ) -> tuple[IntArray, FloatArray]:
        """Where replicas in a working set climb to, and the values there."""
        cost = self._swaps.cost
        search = Search(
            self._swaps.criterion.among(working),
            settings=self._settings,
            seed=self._seed,
            constraints=allowed.among(working),
            cost=None if cost is None else cost[working],
        )
        subsets, values = search.anneal(size, n_threads).chains.climbed()
        return np.append(working, -1)[subsets], values


def whole_groups(allowed: AllowedSubsets, columns: IntArray) -> IntArray:
    """The columns of all groups that these belong to."""
    if allowed.swaps_alone:
        return np.unique(columns)
    return np.flatnonzero(np.isin(allowed.group_of, allowed.group_of[columns]))
