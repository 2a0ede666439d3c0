"""Chains: replicas that sweep over subsets."""

from __future__ import annotations

from typing import Protocol

from safdr._engine.arrays import FloatArray, IntArray


class Chains(Protocol):
    """Replicas in a search."""

    n_batches: int
    sweeps_at_once: int

    @property
    def values(self) -> FloatArray:
        """Value of each replica on all rows."""

    def sweep(self, beta: FloatArray, batch: IntArray) -> tuple[FloatArray, FloatArray]:
        """Sweep once for each row of `beta`, which has an inverse temperature for each replica.

        `batch` has the batch of rows of each replica. Return the values on all rows after each
        sweep, and the share of accepted moves.
        """

    def take(self, indices: IntArray) -> None:
        """Replace the replicas by copies of those at `indices`; random streams stay."""

    @property
    def subsets(self) -> IntArray:
        """Sorted columns of each replica, padded with -1."""

    def local_search(self) -> tuple[IntArray, FloatArray]:
        """Return the local optima that swaps reach from the best replicas, and their values.

        The replicas stay where they are.
        """
