"""`Search` with the criterion and the replicas on a device."""

from __future__ import annotations

import numpy as np

from safdr._engine.annealing.chains import Chains
from safdr._engine.annealing.functions import Evaluate, less_cost
from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.device.chains import DRAWS_A_SWEEP, DeviceChains, device_values
from safdr._engine.search import Search


class DeviceSearch(Search):
    """A search without groups, mutually exclusive features, signs and proofs."""

    @property
    def _objective(self) -> Evaluate:
        return less_cost(lambda subsets, batch: self._criterion_values(subsets), self.cost)

    def _criterion_values(self, subsets: IntArray) -> FloatArray:
        return device_values(self.criterion, subsets)

    def _chains(
        self, size: int, rng: np.random.Generator, seed: np.random.SeedSequence, n_threads: int
    ) -> Chains:
        allowed = self._constraints_for(size)
        start = allowed.random(size, self.settings.n_replicas, rng)
        return DeviceChains(
            self.criterion,
            allowed.subsets_of(start, size),
            seed=seed,
            n_draws=max(1, round(DRAWS_A_SWEEP * self.settings.sweeps)),
            batches=self._batches_for(size),
            allowed=allowed,
            cost=self.cost,
        )
