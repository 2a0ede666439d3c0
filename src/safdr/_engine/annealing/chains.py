"""The contract of chains, replicas that sweep over subsets, and of what cools them."""

from __future__ import annotations

from typing import Protocol, Self

import numpy as np

from safdr._engine.arrays import FloatArray, IntArray
from safdr.result import Trace


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


class Dynamics(Protocol):
    """How replicas are cooled: settings that can run."""

    @property
    def n_replicas(self) -> int:
        """Replicas in all."""

    @property
    def sweeps(self) -> float:
        """Moves proposed to each replica at each step, as a multiple of the number of features."""

    @property
    def n_batches(self) -> int:
        """Random batches of the rows."""

    @property
    def batch_fraction(self) -> float:
        """Share of the rows in each."""

    def halves(self) -> tuple[Self, Self]:
        """The same work in two parts, for two criteria."""

    def run(
        self,
        chains: Chains,
        rng: np.random.Generator,
        spread_sample: FloatArray | None = None,
        origin: float | None = 0.0,
    ) -> Trace:
        """Cool the replicas from where they are.

        `spread_sample` stands in for the values of a single replica, which have no spread; changes
        of the mean are relative to what it is above the origin, None being the mean at the start.
        """
