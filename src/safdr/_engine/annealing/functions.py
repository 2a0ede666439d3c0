"""Replicas that swap features or groups on any function, and functions in that form."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from safdr._engine.annealing.compiled import subset_values
from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.criterion import Criterion
from safdr._engine.subsets import distinct

BoolArray = NDArray[np.bool_]

# Values of subsets, each on one batch: subsets are sorted columns, one a row, padded with -1;
# batch -1 means all rows. Minus infinity or NaN excludes a subset.
Evaluate: TypeAlias = Callable[[IntArray, IntArray], FloatArray]

# The value of one subset (sorted columns) on one batch.
Function: TypeAlias = Callable[[IntArray, int], float]
Task: TypeAlias = tuple[IntArray, int]
# Calls a function for each task, maybe in parallel, and returns the values in order.
Run: TypeAlias = Callable[[Function, Sequence[Task]], Iterable[float]]

# A swap that raises the value by less than this share may be rounding error.
SMALLEST_RISE = 1e-9

# Random draws of a start, before a value of minus infinity is accepted.
MAX_DRAWS = 20


class FunctionChains:
    """Metropolis chains on any function over the allowed selections of groups."""

    sweeps_at_once = 1
    n_batches = 1

    def __init__(
        self,
        evaluate: Evaluate,
        selections: BoolArray,
        *,
        constraints: AllowedSubsets,
        seed: np.random.SeedSequence,
        n_proposals: int,
    ) -> None:
        self.constraints = constraints
        self.n_proposals = n_proposals
        self._evaluate = evaluate
        self._selections = selections.copy()
        members = selections[:, constraints.free]
        self._n_in = int(members[0].sum())
        self.width = constraints.max_columns(int(selections[0].sum()))
        # Free groups of each replica, members first.
        self._order = constraints.free[np.argsort(~members, axis=1, kind="stable")]
        keys = seed.generate_state(2 * len(selections), np.uint64).reshape(-1, 2)
        self._streams = [np.random.Generator(np.random.Philox(key=key)) for key in keys]
        self.values = self._values_of(self._selections)

    @property
    def selections(self) -> BoolArray:
        return self._selections.copy()

    @property
    def subsets(self) -> IntArray:
        return self.constraints.subsets_of(self._selections, self.width)

    def sweep(self, beta: FloatArray, batch: IntArray) -> tuple[FloatArray, FloatArray]:
        values, accepted = np.empty(beta.shape), np.zeros(beta.shape)
        for t in range(len(beta)):
            if 0 < self._n_in < self._order.shape[1]:
                for draws in self._draws():
                    accepted[t] += self._propose(beta[t], draws)
            values[t] = self.values
        return values, accepted / self.n_proposals

    def local_search(self) -> tuple[IntArray, FloatArray]:
        replicas, inverse = distinct(self.subsets)
        selections, values = self._selections[replicas], self.values[replicas]
        ends: dict[bytes, tuple[BoolArray, float]] = {}
        for i, (selection, value) in enumerate(zip(selections.copy(), values, strict=True)):
            selections[i], values[i] = self._end_of(selection, float(value), ends)
        return self.constraints.subsets_of(selections, self.width)[inverse], values[inverse]

    def take(self, indices: IntArray) -> None:
        self._selections, self._order = self._selections[indices], self._order[indices]
        self.values = self.values[indices]

    def _draws(self) -> FloatArray:
        """Return uniform numbers of one sweep, of shape (n_proposals, n_replicas, 3)."""
        streams = self._streams[: len(self._order)]
        return np.stack([stream.random((self.n_proposals, 3)) for stream in streams], axis=1)

    def _propose(self, beta: FloatArray, draws: FloatArray) -> BoolArray:
        """Propose one swap to each replica; return which have accepted."""
        rows = np.arange(len(draws))
        a = (draws[:, 0] * self._n_in).astype(np.int64)
        b = self._n_in + (draws[:, 1] * (self._order.shape[1] - self._n_in)).astype(np.int64)
        leaving, entering = self._order[rows, a], self._order[rows, b]
        proposed = self._selections.copy()
        proposed[rows, leaving], proposed[rows, entering] = False, True
        possible = np.ones(len(rows), dtype=bool)
        if self.constraints.conflicts is not None:
            possible = ~(self.constraints.conflicts[entering] & proposed).any(axis=1)
        values = np.full(len(rows), -np.inf)
        values[possible] = self._values_of(proposed[possible])
        # Equal values are accepted at any temperature; a start of minus infinity is left at once.
        with np.errstate(invalid="ignore"):
            exponent = np.nan_to_num(beta * (values - self.values), nan=0.0, posinf=0.0)
        accepted = (values > -np.inf) & (draws[:, 2] < np.exp(np.minimum(exponent, 0.0)))
        self._selections[accepted] = proposed[accepted]
        rows = rows[accepted]
        self._order[rows, a[accepted]] = entering[accepted]
        self._order[rows, b[accepted]] = leaving[accepted]
        self.values = np.where(accepted, values, self.values)
        return accepted

    def _values_of(self, selections: BoolArray) -> FloatArray:
        return finite_values(self._evaluate, self.constraints, selections, self.width)

    def _end_of(
        self, selection: BoolArray, value: float, ends: dict[bytes, tuple[BoolArray, float]]
    ) -> tuple[BoolArray, float]:
        """Move to the best neighbour while that raises the value; `ends` caches earlier paths."""
        path = [selection.tobytes()]
        while path[-1] not in ends:
            around = self._neighbours(selection)
            values = self._values_of(around)
            best = int(np.argmax(values)) if len(values) else -1
            least = value + SMALLEST_RISE * abs(value) if np.isfinite(value) else value
            if best < 0 or not values[best] > least:
                ends[path[-1]] = selection, value
            else:
                selection, value = around[best], float(values[best])
                path.append(selection.tobytes())
        ends.update(dict.fromkeys(path, ends[path[-1]]))
        return ends[path[-1]]

    def _neighbours(self, selection: BoolArray) -> BoolArray:
        free = self.constraints.free
        members, others = free[selection[free]], free[~selection[free]]
        around = np.repeat(selection[None], len(members) * len(others), axis=0)
        rows = np.arange(len(around))
        around[rows, np.repeat(members, len(others))] = False
        around[rows, np.tile(others, len(members))] = True
        return around[self.constraints.allows_each(around)]


def finite_start(
    evaluate: Evaluate, constraints: AllowedSubsets, size: int, n: int, rng: np.random.Generator
) -> BoolArray:
    """Return random selections of finite value, as far as a few draws find them."""
    selections = constraints.random(size, n, rng)
    width = constraints.max_columns(size)
    for _ in range(MAX_DRAWS):
        values = finite_values(evaluate, constraints, selections, width)
        bad = np.flatnonzero(~np.isfinite(values))
        if not bad.size:
            break
        selections[bad] = constraints.random(size, len(bad), rng)
    return selections


def finite_values(
    evaluate: Evaluate, constraints: AllowedSubsets, selections: BoolArray, width: int
) -> FloatArray:
    """Return values of selections on all rows; NaN becomes minus infinity."""
    if not len(selections):
        return np.empty(0)
    subsets = constraints.subsets_of(selections, width)
    values = np.asarray(evaluate(subsets, np.full(len(subsets), -1)), dtype=np.float64)
    return np.where(np.isnan(values), -np.inf, values)


def less_cost(evaluate: Evaluate, cost: FloatArray | None) -> Evaluate:
    return evaluate if cost is None else LessCost(evaluate, np.append(cost, 0.0))


class LessCost:
    """A function less the cost of the features; the last cost is that of -1."""

    def __init__(self, evaluate: Evaluate, cost: FloatArray) -> None:
        self.evaluate = evaluate
        self.cost = cost

    def __call__(self, subsets: IntArray, batch: IntArray) -> FloatArray:
        return self.evaluate(subsets, batch) - self.cost[subsets].sum(axis=1)


class QuadraticFunction:
    """A quadratic criterion as a function of subsets, on all rows."""

    def __init__(self, criterion: Criterion, n_threads: int = 1) -> None:
        self.criterion = criterion
        self.n_threads = n_threads

    def __call__(self, subsets: IntArray, batch: IntArray) -> FloatArray:
        return subset_values(self.criterion, subsets, self.n_threads)


def one_by_one(function: Function, tasks: Sequence[Task]) -> list[float]:
    return [function(subset, batch) for subset, batch in tasks]


class CachedFunction:
    """Values of any function of a subset; each value is computed once."""

    def __init__(self, function: Function, run: Run = one_by_one, max_entries: int = 2**20) -> None:
        self.function = function
        self.run = run
        self.max_entries = max_entries
        self._known: dict[tuple[bytes, int], float] = {}

    def __call__(self, subsets: IntArray, batch: IntArray) -> FloatArray:
        keys = [
            (row.tobytes(), number)
            for row, number in zip(np.ascontiguousarray(subsets), batch.tolist(), strict=True)
        ]
        new = {key: i for i, key in enumerate(keys) if key not in self._known}
        tasks = [(subsets[i][subsets[i] >= 0], key[1]) for key, i in new.items()]
        values = [float(value) for value in self.run(self.function, tasks)] if tasks else []
        self._known.update(zip(new, values, strict=True))
        found = np.array([self._known[key] for key in keys])
        while len(self._known) > self.max_entries:
            del self._known[next(iter(self._known))]  # the oldest
        return found
