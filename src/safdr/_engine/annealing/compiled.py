"""Compiled replicas that swap features or groups on a quadratic criterion."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from safdr import _core
from safdr._engine.annealing.chains import check_sweeps, check_taken, distinct
from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.criterion import Criterion, CriterionStack, stack_criteria

BoolArray = NDArray[np.bool_]

# A thread takes 20 µs to start: too long for calls with fewer multiplications than this (100 µs).
MIN_THREADED_WORK = 1e6

# Sweeps of one call, so that Python takes a small share of the time; one if a sweep has more
# multiplications than MAX_WORK (20 ms).
SWEEPS_AT_ONCE = 5
MAX_WORK = 2e7


class CompiledChains:
    """Metropolis chains over the allowed selections of groups; a move exchanges one group.

    Each replica has a random stream. All state is in arrays, so that a set of chains can be
    copied and pickled.
    """

    def __init__(
        self,
        criterion: Criterion,
        selections: BoolArray,
        *,
        constraints: AllowedSubsets,
        seed: np.random.SeedSequence,
        n_proposals: int,
        batches: CriterionStack | None = None,
        cost: FloatArray | None = None,
        n_threads: int = 1,
    ) -> None:
        constraints.check_selections(selections)
        self.constraints = constraints
        self.n_proposals = n_proposals
        self._all_rows = stack_criteria([criterion])
        self._batches = self._all_rows if batches is None else batches
        self.n_batches = len(self._batches[0])
        self._size = int(selections[0].sum())
        self.width = constraints.max_columns(self._size)
        self._n_threads = n_threads
        self._order = _orders(selections, constraints)
        self._groups = _groups(constraints, self.width)
        self._limits = _limits(constraints, self._size, cost)
        states: NDArray[Any] = seed.generate_state(4 * len(selections), np.uint64)
        self._streams = states.reshape(len(selections), 4)
        self._work = len(selections) * n_proposals * self.width**2
        self.sweeps_at_once = SWEEPS_AT_ONCE if self._work < MAX_WORK else 1
        self.values = subset_values(criterion, self.subsets)
        if cost is not None:
            self.values -= np.append(cost, 0.0)[self.subsets].sum(axis=1)

    @property
    def selections(self) -> BoolArray:
        return _selections(self._order[:, : self._size], self.constraints.n_groups)

    @property
    def subsets(self) -> IntArray:
        return self._subsets_of(self._order)

    def sweep(self, beta: FloatArray, batch: IntArray) -> tuple[FloatArray, FloatArray]:
        check_sweeps(beta, batch, len(self._order), self.n_batches)
        if not self._can_move:
            return np.tile(self.values, (len(beta), 1)), np.zeros(beta.shape)
        values, accepted = _core.sweep(
            *self._batches,
            self._all_rows[0][0],
            self._all_rows[1][0],
            self._groups,
            self._limits,
            self._order,
            self._streams,
            np.ascontiguousarray(beta, dtype=np.float64),
            np.ascontiguousarray(batch, dtype=np.int64),
            n_proposals=self.n_proposals,
            n_threads=self._n_threads if self._work > MIN_THREADED_WORK else 1,
        )
        self.values = values[-1]
        return values, accepted / self.n_proposals

    def local_search(self) -> tuple[IntArray, FloatArray]:
        replicas, inverse = distinct(self.subsets)
        if not self._can_move:
            return self.subsets[replicas][inverse], self.values[replicas][inverse]
        order = np.ascontiguousarray(self._order[replicas])
        values = _core.local_search(
            self._all_rows[0][0],
            self._all_rows[1][0],
            self._groups,
            self._limits,
            order,
            n_threads=self._n_threads,
        )
        return self._subsets_of(order)[inverse], values[inverse]

    def take(self, indices: IntArray) -> None:
        check_taken(indices, len(self._streams))
        self._order = np.ascontiguousarray(self._order[indices])
        self.values = self.values[indices]

    @property
    def _can_move(self) -> bool:
        """Return True if some member may leave, and some group may enter."""
        size, n_fixed, n_usable, *_ = self._limits
        return bool(n_fixed < size < n_usable)

    def _subsets_of(self, order: NDArray[np.int32]) -> IntArray:
        members = order[:, : self._size]
        if self.constraints.swaps_alone:
            return np.sort(members, axis=1).astype(np.int64)
        selections = _selections(members, self.constraints.n_groups)
        return self.constraints.subsets_of(selections, self.width)


def subset_values(
    criterion: Criterion, subsets: NDArray[np.integer[Any]], n_threads: int = 1
) -> FloatArray:
    """Return the criterion value of each subset; rows may be padded with -1."""
    members = np.ascontiguousarray(subsets, dtype=np.int32)
    return _core.subset_values(criterion.A, criterion.D, members, n_threads=n_threads)


def _orders(selections: BoolArray, constraints: AllowedSubsets) -> NDArray[np.int32]:
    rank = np.where(selections, np.int8(1), np.int8(2))
    rank[:, constraints.include] = 0
    rank[:, constraints.exclude] = 3
    return np.argsort(rank, axis=1, kind="stable").astype(np.int32)


def _groups(constraints: AllowedSubsets, width: int) -> tuple[Any, ...]:
    """Return the first column of each group, all columns, and the largest lengths."""
    starts = np.concatenate([[0], np.cumsum(constraints.lengths)])
    # Groups that are always out need no memory.
    usable = np.delete(constraints.lengths, constraints.exclude)
    return starts, constraints.columns.astype(np.int32), int(usable.max(initial=1)), width


def _limits(constraints: AllowedSubsets, size: int, cost: FloatArray | None) -> tuple[Any, ...]:
    """Return the limits of the core: sizes, numbers of groups, conflicts and costs."""
    of_groups: Any = None
    if cost is not None:
        of_groups = np.bincount(constraints.group_of, cost, minlength=constraints.n_groups)
    conflicts = constraints.conflicts
    if conflicts is not None:
        conflicts = np.ascontiguousarray(conflicts, dtype=np.uint8)
    n_usable = constraints.n_groups - len(constraints.exclude)
    return size, len(constraints.include), n_usable, conflicts, of_groups


def _selections(members: NDArray[np.int32], n_groups: int) -> BoolArray:
    selections = np.zeros((len(members), n_groups), dtype=bool)
    np.put_along_axis(selections, members.astype(np.int64), True, axis=1)
    return selections
