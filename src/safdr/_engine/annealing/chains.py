"""Protocols of chains (replicas that sweep over subsets) and of their dynamics."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from safdr._engine.arrays import FloatArray, IntArray
from safdr.result import Trace


class Chains(Protocol):
    """A set of replicas in an annealing loop."""

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


class SearchChains(Chains, Protocol):
    """Chains in a search."""

    @property
    def subsets(self) -> IntArray:
        """Sorted columns of each replica, padded with -1."""

    def local_search(self) -> tuple[IntArray, FloatArray]:
        """Return the local optima that swaps reach from the best replicas, and their values.

        The replicas stay where they are.
        """


class Dynamics(Protocol):
    """Settings of an annealing schedule."""

    @property
    def n_replicas(self) -> int:
        """Number of replicas."""

    @property
    def sweeps(self) -> float:
        """Moves proposed to each replica at each step, as a multiple of the number of groups."""

    @property
    def n_batches(self) -> int:
        """Number of random batches of the rows."""

    @property
    def batch_fraction(self) -> float:
        """Share of the rows in a batch."""

    def run(
        self,
        chains: Chains,
        rng: np.random.Generator,
        spread_sample: FloatArray | None = None,
        origin: float | None = 0.0,
    ) -> Trace:
        """Cool the replicas from their current subsets.

        `spread_sample` has the values of random subsets; one replica has no spread. Changes of the
        mean are relative to its difference from `origin`; None is the mean at the start.
        """


def distinct(subsets: IntArray) -> tuple[IntArray, IntArray]:
    """Return the first rows of different subsets, and the position of each row among them."""
    place: dict[bytes, int] = {}
    inverse = [place.setdefault(row.tobytes(), len(place)) for row in subsets]
    return np.unique(inverse, return_index=True)[1], np.array(inverse)
