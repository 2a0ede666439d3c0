"""Replicas that swap single features, compiled; and what the core asks of all compiled chains."""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safdr import _core
from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.criterion import Criterion, CriterionStack, stack_criteria

# Threads are started anew with each call, which takes some 20 µs: not worth it for sweeps of fewer
# multiplications than this (some 100 µs).
WORTH_A_THREAD = 1e6

# Sweeps between two looks at the mean, so that Python's share of the time stays small; one where a
# sweep has more multiplications than this (some 20 ms), so that Ctrl-C is seen in time.
SWEEPS_AT_ONCE = 5
LONG_SWEEP = 2e7


class SwapChains:
    """Metropolis swap chains on a quadratic criterion, compiled.

    A swap takes one feature in for another; `values` and `climbed` are of all rows. Each replica
    has a random stream of its own, the same for any number of them. All state is in arrays, so that
    a set of chains can be copied and pickled.
    """

    def __init__(
        self,
        criterion: Criterion,
        subsets: IntArray,
        *,
        seed: np.random.SeedSequence,
        n_proposals: int,
        batches: CriterionStack | None = None,
        allowed: AllowedSubsets | None = None,
        cost: FloatArray | None = None,
        n_threads: int = 1,
    ) -> None:
        self.criterion = criterion
        self.allowed = allowed or AllowedSubsets.without_limits(criterion.n_features)
        n_features = self.allowed.n_features
        self._conflicts = _checked_conflicts(self.allowed.conflicts, subsets, n_features)
        self._cost = checked_cost(cost, n_features)
        self._A, self._D = stack_criteria([criterion]) if batches is None else batches
        self.n_batches = len(self._A)
        n_replicas, self.size = subsets.shape
        self._order = _orders(subsets, self.allowed)
        words: NDArray[Any] = seed.generate_state(4 * n_replicas, np.uint64)
        self._streams = words.reshape(n_replicas, 4)
        self._n_fixed = len(self.allowed.include)
        self._n_usable = n_features - len(self.allowed.exclude)
        self.n_proposals = n_proposals
        work = n_replicas * n_proposals * self.size**2
        self.n_threads = n_threads if work > WORTH_A_THREAD else 1
        self.sweeps_at_once = SWEEPS_AT_ONCE if work < LONG_SWEEP else 1
        self.drift = 0.0
        # Of each replica on all rows, from scratch.
        self.values = self._values_of(self._order[:, : self.size])

    @property
    def can_move(self) -> bool:
        """Whether there is any other subset to go to."""
        return bool(self._n_fixed < self.size < self._n_usable)

    @property
    def subsets(self) -> IntArray:
        """Sorted features of each replica."""
        return np.sort(self._order[:, : self.size], axis=1).astype(np.int64)

    def sweep(
        self, beta: FloatArray, which: IntArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Sweep once for each row of `beta`: values on all rows, from scratch, and acceptance."""
        check_sweeps(beta, which, len(self._order), self.n_batches)
        if not self.can_move:
            return np.tile(self.values, (len(beta), 1)), np.zeros(beta.shape)
        accepted, values, drift = _core.sweep(
            self._A,
            self._D,
            self.criterion.A,
            self.criterion.D,
            self._order,
            self._streams,
            np.ascontiguousarray(beta, dtype=np.float64),
            None if which is None else np.ascontiguousarray(which, dtype=np.int64),
            size=self.size,
            n_fixed=self._n_fixed,
            n_usable=self._n_usable,
            n_proposals=self.n_proposals,
            collinear_tol=self.criterion.collinear_tol,
            n_threads=self.n_threads,
            conflicts=self._conflicts,
            cost=self._cost,
        )
        self.values = values[-1]
        self.drift = max(self.drift, float(drift.max()))
        return values, accepted / self.n_proposals

    def climbed(self, *, downhill: bool = False) -> tuple[IntArray, FloatArray]:
        """Where each replica would end by going uphill on all rows: subsets and their values.

        No swap of one feature raises the value of such a subset; or lowers it, where `downhill` is
        asked for (not with costs). The replicas stay where they are.
        """
        if not self.can_move:
            return self.subsets, self.values
        order = self._order.copy()
        values = _core.climb(
            self.criterion.A,
            self.criterion.D,
            order,
            size=self.size,
            n_fixed=self._n_fixed,
            n_usable=self._n_usable,
            downhill=downhill,
            collinear_tol=self.criterion.collinear_tol,
            n_threads=self.n_threads,
            conflicts=self._conflicts,
            cost=self._cost,
        )
        return np.sort(order[:, : self.size], axis=1).astype(np.int64), values

    def take(self, indices: IntArray) -> None:
        """Replace the replicas by copies of those at `indices`.

        The random streams stay where they are, so that copies part at once.
        """
        check_taken(indices, len(self._streams))
        self._order = np.ascontiguousarray(self._order[indices])
        self.values = self.values[indices]

    def sample(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Values of random subsets on all rows."""
        return self._values_of(random_subsets(self.criterion, self.size, n, rng, self.allowed))

    def every(self, at_most: int) -> tuple[IntArray, FloatArray] | None:
        """All subsets and their values, or None if there are more than so many."""
        subsets = every_subset(self.allowed, self.size, at_most)
        return None if subsets is None else (subsets, self._values_of(subsets))

    def _values_of(self, subsets: NDArray[np.integer[Any]]) -> FloatArray:
        values = subset_values(self.criterion, subsets, self.n_threads)
        return values if self._cost is None else values - self._cost[subsets].sum(axis=1)


def check_sweeps(beta: FloatArray, which: IntArray | None, n_replicas: int, n_batches: int) -> None:
    """Raise an error where temperatures or batches don't fit the replicas."""
    if beta.ndim != 2 or beta.shape[1] != n_replicas:
        raise ValueError(
            f"beta must have one column for each of {n_replicas} replicas; got {beta.shape}."
        )
    if which is None:
        return
    if which.shape != beta.shape or which.min() < 0 or which.max() >= n_batches:
        raise ValueError(
            f"which must be like beta, of shape {beta.shape}, with batches from 0 to "
            f"{n_batches - 1}; got shape {which.shape}."
        )


def check_taken(indices: IntArray, n_streams: int) -> None:
    """Raise an error where there are more replicas to be than random streams."""
    if len(indices) > n_streams:
        raise ValueError(f"There are random streams for {n_streams} replicas; got {len(indices)}.")


def subset_values(
    criterion: Criterion, subsets: NDArray[np.integer[Any]], n_threads: int = 1
) -> FloatArray:
    """Criterion value of each subset, from scratch."""
    members = np.ascontiguousarray(subsets, dtype=np.int32)
    return _core.subset_values(criterion.A, criterion.D, members, n_threads=n_threads)


def checked_cost(cost: FloatArray | None, n_features: int) -> FloatArray | None:
    """Costs as the kernel takes them, or an error."""
    if cost is None:
        return None
    if cost.shape != (n_features,) or not np.isfinite(cost).all():
        raise ValueError(
            f"cost must hold a finite number for each of {n_features} features; got an array of "
            f"shape {cost.shape}."
        )
    return np.ascontiguousarray(cost, dtype=np.float64)


def is_collinear(own: Any, variance: Any, tol: float) -> Any:
    """The kernel's rule: next to nothing is its own, and most of what it has is others'."""
    return (own <= tol) & (own < 0.5 * variance)


def _checked_conflicts(
    conflicts: NDArray[np.bool_] | None, subsets: IntArray, n_features: int
) -> NDArray[np.uint8] | None:
    """Conflicts as the kernel takes them; the core trusts what it gets."""
    if conflicts is None:
        return None
    if conflicts.shape != (n_features, n_features) or (conflicts != conflicts.T).any():
        raise ValueError(
            f"conflicts must be symmetric, of shape ({n_features}, {n_features}); got an array of "
            f"shape {conflicts.shape}."
        )
    held = conflicts[subsets[:, :, None], subsets[:, None, :]].any(axis=(1, 2))
    if held.any():
        raise ValueError(
            f"subsets must hold no two features in conflict; row {np.argmax(held)} does."
        )
    return np.ascontiguousarray(conflicts, dtype=np.uint8)


def _orders(subsets: IntArray, allowed: AllowedSubsets) -> NDArray[np.int32]:
    """Features of each replica in the kernel's order: fixed, free members, candidates, excluded."""
    rank = np.full((len(subsets), allowed.n_features), 2, dtype=np.int8)
    rank[:, allowed.exclude] = 3
    rank[np.arange(len(subsets))[:, None], subsets] = 1
    rank[:, allowed.include] = 0
    return np.argsort(rank, axis=1, kind="stable").astype(np.int32)


def every_subset(allowed: AllowedSubsets, size: int, at_most: int) -> IntArray | None:
    """All allowed subsets, or None if there are more than so many."""
    n_free = allowed.n_features - len(allowed.include) - len(allowed.exclude)
    many = comb(n_free, size - len(allowed.include)) > at_most
    if many and allowed.conflicts is None:
        return None
    selections = allowed.every(size, at_most)
    return None if selections is None else _members(selections, size)


def _members(selections: NDArray[np.bool_], size: int) -> IntArray:
    """Rows of features out of masks with `size` features each."""
    return np.nonzero(selections)[1].reshape(len(selections), size).astype(np.int64)


def random_subsets(
    criterion: Criterion,
    size: int,
    n_subsets: int,
    rng: np.random.Generator,
    allowed: AllowedSubsets | None = None,
) -> IntArray:
    """Random subsets; without conflicts uniform, and no members collinear as far as data allow."""
    allowed = allowed or AllowedSubsets.without_limits(criterion.n_features)
    if allowed.conflicts is not None:
        return _members(allowed.random(size, n_subsets, rng), size)
    first = allowed.include
    free = np.ones(allowed.n_features, dtype=bool)
    free[first] = False
    free[allowed.exclude] = False
    others = np.flatnonzero(free)
    drawn = rng.permuted(np.broadcast_to(others, (n_subsets, len(others))), axis=1)
    if first.size:
        drawn = np.hstack([np.broadcast_to(first, (n_subsets, len(first))), drawn])
    subsets = drawn[:, :size].copy()
    # Where there is but one subset, it is what it is.
    for i in _with_collinear(criterion, subsets) if drawn.shape[1] > size else ():
        subsets[i] = _first_independent(criterion, drawn[i], size)
    subsets.sort(axis=1)
    return subsets


def _with_collinear(criterion: Criterion, subsets: IntArray) -> IntArray:
    """Subsets with a member that is a linear combination of those before it."""
    left = np.empty(subsets.shape)
    members = subsets.astype(np.int32)
    _core.subset_values(criterion.A, criterion.D, members, n_threads=1, left=left)
    doubtful = np.flatnonzero((left <= criterion.collinear_tol).any(axis=1))
    if not doubtful.size:
        return doubtful
    variance = np.diagonal(criterion.A)[subsets[doubtful]]
    collinear = is_collinear(left[doubtful], variance, criterion.collinear_tol)
    return doubtful[collinear.any(axis=1)]


def _first_independent(criterion: Criterion, drawn: IntArray, size: int) -> IntArray:
    """The first `size` of the drawn features that are not collinear; then whatever comes first."""
    A = criterion.A
    chosen: list[int] = []
    # Rows of L⁻¹ A for the members so far: what is left of a feature's variance is A_jj - Σ row².
    explained = np.zeros((size, len(A)))
    own = np.diag(A).copy()
    for j in drawn:
        if len(chosen) == size:
            break
        if own[j] <= 0 or is_collinear(own[j], A[j, j], criterion.collinear_tol):
            continue
        n = len(chosen)
        explained[n] = (A[j] - explained[:n, j] @ explained[:n]) / np.sqrt(own[j])
        own = own - explained[n] ** 2
        chosen.append(int(j))
    rest = np.setdiff1d(drawn, chosen, assume_unique=True)
    return np.concatenate([np.array(chosen, dtype=np.int64), rest[: size - len(chosen)]])
