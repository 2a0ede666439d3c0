"""Replicas whose state is what they leave out, for subsets of more than half of the features."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from safdr._engine.annealing.complement import Complement
from safdr._engine.annealing.swap_chains import (
    SwapChains,
    every_subset,
    random_subsets,
    subset_values,
)
from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.criterion import Criterion

# Drift is told relative to no less than this share of the value of all features.
LEAST_VALUE = 1e-6
TINY = float(np.finfo(np.float64).tiny)


class ComplementChains:
    """Like `SwapChains`, and with the same distribution, at the cost of the smaller side.

    A member and a candidate change places either way, so a sweep over the features left out is a
    sweep over subsets. What is lost with them is to be minimised: the inverse temperatures are
    negative there.
    """

    def __init__(
        self,
        criterion: Criterion,
        complement: Complement,
        subsets: IntArray,
        *,
        seed: np.random.SeedSequence,
        n_proposals: int,
        allowed: AllowedSubsets | None = None,
        n_threads: int = 1,
    ) -> None:
        self.criterion = criterion
        self.size = subsets.shape[1]
        self._complement = complement
        self.allowed = allowed or AllowedSubsets.without_limits(criterion.n_features)
        usable = complement.usable
        self._left_out = SwapChains(
            complement.all_rows,
            self._others(np.searchsorted(usable, subsets)),
            seed=seed,
            n_proposals=n_proposals,
            batches=complement.batches,
            # What every subset has is never left out.
            allowed=replace(
                AllowedSubsets.without_limits(len(usable)),
                exclude=np.searchsorted(usable, self.allowed.include),
            ),
            n_threads=n_threads,
        )
        self.n_batches = self._left_out.n_batches
        self.sweeps_at_once = self._left_out.sweeps_at_once
        self.n_threads = self._left_out.n_threads
        self.drift = 0.0
        self._values: FloatArray | None = None
        self._smallest = np.inf

    @property
    def subsets(self) -> IntArray:
        """Sorted features of each replica."""
        return self._complement.usable[self._others(self._left_out.subsets)]

    @property
    def values(self) -> FloatArray:
        """Criterion value of each replica on all rows, from scratch."""
        if self._values is None:
            self._values = subset_values(self.criterion, self.subsets, self.n_threads)
        return self._values

    def sweep(
        self, beta: FloatArray, which: IntArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Sweep once for each row of `beta`; see `SwapChains.sweep`."""
        lost, acceptance = self._left_out.sweep(-beta, which)
        values = self._complement.whole - lost
        self._values = None
        self._smallest = min(self._smallest, float(values.min()))
        # A bound: what was lost, of which this was a share, is less than the value of all. Where no
        # class differs from another, values of nothing have no digits to lose.
        whole = self._complement.whole
        self.drift = self._left_out.drift * whole / max(self._smallest, LEAST_VALUE * whole, TINY)
        return values, acceptance

    def climbed(self) -> tuple[IntArray, FloatArray]:
        """Where each replica would end by going uphill on all rows: subsets and their values."""
        left_out, _ = self._left_out.climbed(downhill=True)
        subsets = self._complement.usable[self._others(left_out)]
        return subsets, subset_values(self.criterion, subsets, self.n_threads)

    def sample(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Values of random subsets on all rows."""
        subsets = random_subsets(self.criterion, self.size, n, rng, self.allowed)
        return subset_values(self.criterion, subsets, self.n_threads)

    def every(self, at_most: int) -> tuple[IntArray, FloatArray] | None:
        """All subsets and their values, or None if there are more than so many."""
        subsets = every_subset(self.allowed, self.size, at_most)
        if subsets is None:
            return None
        return subsets, subset_values(self.criterion, subsets, self.n_threads)

    def take(self, indices: IntArray) -> None:
        """Replace the replicas by copies of those at `indices`."""
        self._left_out.take(indices)
        self._values = None

    def _others(self, subsets: IntArray) -> IntArray:
        """The usable features that are not in each subset, by their numbers among these."""
        out = np.ones((len(subsets), len(self._complement.usable)), dtype=bool)
        out[np.arange(len(subsets))[:, None], subsets] = False
        return np.nonzero(out)[1].reshape(len(subsets), -1)
