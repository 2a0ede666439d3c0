"""As `Search`, with the criterion, the replicas and rough fits of all candidates on a device."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import Tensor

from safdr._engine.annealing.chains import Dynamics, SearchChains
from safdr._engine.arrays import FloatArray
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.criterion import Ridge, batch_share
from safdr._engine.device.chains import DRAWS_A_SWEEP, DeviceChains, random_members
from safdr._engine.device.criterion import RowsOnDevice
from safdr._engine.fits.fits import Fitter
from safdr._engine.search import Search


class DeviceSearch(Search):
    """Columns come and go one by one: no groups, no conflicts, no proof."""

    def __init__(
        self,
        rows: RowsOnDevice,
        *,
        ridge: Ridge,
        rank: FloatArray | None,
        settings: Dynamics,
        seed: int,
        fitter: Fitter | None,
        constraints: AllowedSubsets,
        cost: FloatArray | None,
    ) -> None:
        how: dict[str, Any] = {"settings": settings, "seed": seed, "fitter": fitter}
        criterion: Any = rows.criterion(ridge, rank)
        super().__init__(criterion, constraints=constraints, cost=cost, **how)
        self._rows: Any = rows
        # Batches by their share of the rows: sizes share them.
        self._drawn: tuple[float, tuple[Tensor, Tensor] | None] | None = None

    def prepare(self, size: int) -> DeviceSearch:
        """Compute the batches ahead."""
        self._on_batches(size)
        return self

    def _on_batches(self, size: int) -> tuple[Tensor, Tensor] | None:
        """A and D of batches that suit this size; None where there is no noise."""
        settings = self.settings
        share = batch_share(settings.batch_fraction, size, self._rows)
        if self._drawn is None or self._drawn[0] != share:
            self._drawn = None  # before the next ones take their place
            batches = self._rows.batches(self.criterion, settings.n_batches, share, self.seed)
            self._drawn = share, batches
        return self._drawn[1]

    def _chains(
        self, size: int, rng: np.random.Generator, seed: np.random.SeedSequence, n_threads: int
    ) -> SearchChains:
        """Replicas at random subsets of this size."""
        allowed = self._constraints_for(size)
        return DeviceChains(
            self.criterion,
            random_members(allowed, size, self.settings.n_replicas, rng),
            seed=seed,
            n_draws=max(1, round(DRAWS_A_SWEEP * self.settings.sweeps)),
            batches=self._on_batches(size),
            allowed=allowed,
            cost=self.cost,
        )
