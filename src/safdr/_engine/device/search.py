"""As `Search`, with the criterion, the replicas and rough fits of all candidates on a device."""

from __future__ import annotations

from typing import Any

import numpy as np

from safdr._engine.annealing.chains import SearchChains
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.device.chains import DRAWS_A_SWEEP, DeviceChains, random_start
from safdr._engine.search import Search


class DeviceSearch(Search):
    """Columns come and go one by one: no groups, no conflicts, no proof."""

    def _draw_batches(self, noise: Any, share: float) -> Any:
        """A and D of batches of `RowsOnDevice`; None where there is no room for them."""
        return noise.batches(self.criterion, self.settings.n_batches, share, self.seed)

    def _complement_for(self, constraints: AllowedSubsets, batches: Any, size: int) -> None:
        """A place is given to the best of all, however many are chosen."""

    def _chains(
        self, size: int, rng: np.random.Generator, seed: np.random.SeedSequence, n_threads: int
    ) -> SearchChains:
        """Replicas at random subsets of this size."""
        allowed = self._constraints_for(size)
        return DeviceChains(
            self.criterion,
            random_start(allowed, size, self.settings.n_replicas, rng),
            seed=seed,
            n_draws=max(1, round(DRAWS_A_SWEEP * self.settings.sweeps)),
            batches=self._batches_for(size),
            allowed=allowed,
            cost=self.cost,
        )
