"""The contract of chains: replicas that sweep over subsets at given inverse temperatures."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from safdr import _core
from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.criterion import Criterion

# Threads are started anew with each call, which takes some 20 µs: not worth it for sweeps of fewer
# multiplications than this (some 100 µs).
WORTH_A_THREAD = 1e6

# Sweeps between two looks at the mean, so that Python's share of the time stays small; one where a
# sweep has more multiplications than this (some 20 ms), so that Ctrl-C is seen in time.
SWEEPS_AT_ONCE = 5
LONG_SWEEP = 2e7


class Chains(Protocol):
    """What the annealing loop needs of a set of replicas."""

    n_batches: int
    sweeps_at_once: int

    @property
    def subsets(self) -> IntArray:
        """Sorted features of each replica, of shape (n_replicas, size)."""

    @property
    def values(self) -> FloatArray:
        """Criterion value of each replica on all rows."""

    def sweep(self, beta: FloatArray, which: IntArray | None) -> tuple[FloatArray, FloatArray]:
        """Sweep once for each row of `beta`, which has an inverse temperature for each replica.

        `which` is the batch of each replica in each sweep; None means one drawn for each proposal.
        Return the criterion values on all rows after each sweep, and the share of accepted moves.
        """

    def take(self, indices: IntArray) -> None:
        """Replace the replicas by copies of those at `indices`."""


class SearchChains(Chains, Protocol):
    """What a search needs besides."""

    drift: float

    def climbed(self) -> tuple[IntArray, FloatArray]:
        """Where each replica would end by going uphill on all rows, and the values there."""

    def sample(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Values of random subsets on all rows."""

    def every(self, at_most: int) -> tuple[IntArray, FloatArray] | None:
        """All subsets and their values, or None if there are more than so many."""


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
