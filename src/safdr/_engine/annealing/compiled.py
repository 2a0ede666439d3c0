"""Compiled replicas that swap features or groups on a quadratic criterion."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from safdr import _core
from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.criterion import Criterion, CriterionStack
from safdr._engine.subsets import distinct

BoolArray = NDArray[np.bool_]

# Sweeps with fewer multiplications (100 µs) are worth neither threads nor an inverse.
SMALL_WORK = 1e6

# Sweeps of one call, so that Python takes a small share of the time; one if a sweep has more
# multiplications than MAX_WORK (20 ms).
SWEEPS_AT_ONCE = 5
MAX_WORK = 2e7

# Replicas that local search starts from. With 8 its best value was that of all 50 replicas, but for
# 1e-4 of it, on 25 problems of 30 to 500 features.
MAX_STARTS = 8

# Largest variance inflation of a matrix that is inverted: eleven of sixteen digits remain.
MAX_INFLATION = 1e5


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
        self.constraints = constraints
        self.n_proposals = n_proposals
        self._criterion = criterion
        self._all_rows = criterion.A[None], criterion.D[None]
        self._batches = self._all_rows if batches is None else batches
        self._cost = cost
        self.n_batches = len(self._batches[0])
        self._size = int(selections[0].sum())
        self.width = constraints.max_columns(self._size)
        self._n_threads = n_threads
        self._order = _orders(selections, constraints)
        self._members = slice(self._size)
        self.values = self._values_of(self.subsets)
        n_usable = constraints.n_groups - len(constraints.exclude)
        sizes = self._size, len(constraints.include), n_usable
        # Value of all usable features, if the core looks for those that are left out.
        self._whole = None
        work = len(selections) * n_proposals * self.width**2
        if n_usable < 2 * self._size and work > SMALL_WORK:
            self._whole = self._look_for_others(n_usable)
        if self._whole is not None:
            sizes = n_usable - self._size, 0, n_usable - len(constraints.include)
        self._groups = _groups(constraints, self.width)
        sign = 1.0 if self._whole is None else -1.0
        self._limits = *sizes, sign, *_conflicts_and_cost(constraints, cost)
        states: NDArray[Any] = seed.generate_state(4 * len(selections), np.uint64)
        self._streams = states.reshape(len(selections), 4)
        self._work = len(selections) * n_proposals * min(sizes[0], self.width) ** 2
        self.sweeps_at_once = SWEEPS_AT_ONCE if self._work < MAX_WORK else 1

    @property
    def selections(self) -> BoolArray:
        return self._selections_of(self._order)

    @property
    def subsets(self) -> IntArray:
        return self._subsets_of(self._order)

    def sweep(self, beta: FloatArray, batch: IntArray) -> tuple[FloatArray, FloatArray]:
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
            n_threads=self._n_threads if self._work > SMALL_WORK else 1,
        )
        if self._whole is not None:
            values = self._whole - values
        self.values = values[-1]
        return values, accepted / self.n_proposals

    def local_search(self) -> tuple[IntArray, FloatArray]:
        replicas, _ = distinct(self.subsets)
        best = np.argsort(-self.values[replicas], kind="stable")[:MAX_STARTS]
        order = np.ascontiguousarray(self._order[replicas[best]])
        if self._can_move:
            _core.local_search(
                self._all_rows[0][0],
                self._all_rows[1][0],
                self._groups,
                self._limits,
                order,
                n_threads=self._n_threads,
            )
        subsets = self._subsets_of(order)
        return subsets, self._values_of(subsets)

    def take(self, indices: IntArray) -> None:
        self._order = np.ascontiguousarray(self._order[indices])
        self.values = self.values[indices]

    def _values_of(self, subsets: IntArray) -> FloatArray:
        values = subset_values(self._criterion, subsets)
        if self._cost is not None:
            values -= np.append(self._cost, 0.0)[subsets].sum(axis=1)
        return values

    def _look_for_others(self, n_usable: int) -> float | None:
        """Replace the criteria by the losses of what is left out, if they are few and allow it."""
        constraints = self.constraints
        if constraints.conflicts is not None or not constraints.swaps_alone:
            return None
        usable = np.delete(np.arange(constraints.n_features), constraints.exclude)
        all_rows, batches = losses(self._all_rows, usable), losses(self._batches, usable)
        if all_rows is None or batches is None:
            return None
        self._all_rows, self._batches = all_rows, batches
        self._order[:, :n_usable] = self._order[:, n_usable - 1 :: -1].copy()
        self._members = slice(n_usable - self._size, n_usable)
        return float(self._values_of(usable[None])[0])

    @property
    def _can_move(self) -> bool:
        """Return True if some member may leave, and some group may enter."""
        size, n_fixed, n_usable, *_ = self._limits
        return bool(n_fixed < size < n_usable)

    def _selections_of(self, order: NDArray[np.int32]) -> BoolArray:
        selections = np.zeros(order.shape, dtype=bool)
        np.put_along_axis(selections, order[:, self._members].astype(np.int64), True, axis=1)
        return selections

    def _subsets_of(self, order: NDArray[np.int32]) -> IntArray:
        if self.constraints.swaps_alone:
            return np.sort(order[:, self._members], axis=1).astype(np.int64)
        return self.constraints.subsets_of(self._selections_of(order), self.width)


def subset_values(
    criterion: Criterion, subsets: NDArray[np.integer[Any]], n_threads: int = 1
) -> FloatArray:
    """Return the criterion value of each subset; rows may be padded with -1."""
    members = np.ascontiguousarray(subsets, dtype=np.int32)
    return _core.subset_values(criterion.A, criterion.D, members, n_threads=n_threads)


def losses(criteria: CriterionStack, usable: IntArray) -> CriterionStack | None:
    """Return criteria of what J loses without some of the usable features; None: too inexact.

    With Q = A⁻¹ and V = Q·D, over the usable features, J without R is D'V - V_R' Q_RR⁻¹ V_R.
    """
    A, D = criteria
    block = np.ix_(np.arange(len(A)), usable, usable)
    try:
        inverse = np.linalg.inv(A[block])
    except np.linalg.LinAlgError:
        return None
    precision = np.einsum("cii->ci", inverse)
    inflation = precision * np.einsum("cii->ci", A[block])
    # The inverse of a nearly singular matrix may have negative numbers, or NaN.
    if not (precision.min() > 0 and inflation.max() < MAX_INFLATION):
        return None
    scale = 1.0 / np.sqrt(precision)[:, :, None]
    Q, V = np.zeros_like(A), np.zeros_like(D)
    Q[block] = inverse * scale * scale.transpose(0, 2, 1)
    V[:, usable] = inverse @ D[:, usable] * scale
    return Q, V


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


def _conflicts_and_cost(constraints: AllowedSubsets, cost: FloatArray | None) -> tuple[Any, Any]:
    of_groups: Any = None
    if cost is not None:
        of_groups = np.bincount(constraints.group_of, cost, minlength=constraints.n_groups)
    conflicts = constraints.conflicts
    if conflicts is not None:
        conflicts = np.ascontiguousarray(conflicts, dtype=np.uint8)
    return conflicts, of_groups
