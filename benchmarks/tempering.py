"""Parallel tempering: replicas at all temperatures at once, which change places with neighbours.

Two replicas at inverse temperatures b < c with values v and w change places with probability
min(1, exp((c - b)(v - w))), which keeps the distribution at each of them. A cold replica that is
stuck gets hot, goes elsewhere, and comes back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from safdr._engine.annealing.chains import Chains
from safdr._engine.annealing.loop import Draws, beta_step, finite_means, spread
from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.interrupt import look_up
from safdr.trace import Trace

# The ladder is adapted every so many steps, in the first part of the run; what comes after is
# measured, at fixed temperatures.
ADAPT_EVERY = 20
ADAPTED = 0.6


@dataclass(frozen=True)
class TemperingSettings:
    """How to temper.

    Attributes
    ----------
    n_temperatures, n_ladders : int
        Temperatures of a ladder, from infinite to the coldest; and ladders side by side.
    coldest : float
        Largest inverse temperature, in units of one over the criterion's spread at the start.
    sweeps : float
        Swaps proposed to each replica at each step, as a multiple of the number of features.
    n_steps : int
        Sweeps of all replicas, each followed by exchanges.
    n_batches, batch_fraction, batch_draw
        As in `safdr.Annealing`.
    """

    n_temperatures: int = 8
    n_ladders: int = 4
    coldest: float = 10.0
    sweeps: float = 1.0
    n_steps: int = 300
    n_batches: int = 5
    batch_fraction: float = 0.5
    batch_draw: str = "step"

    @property
    def n_replicas(self) -> int:
        """Replicas in all."""
        return self.n_temperatures * self.n_ladders

    def halves(self) -> tuple[Self, Self]:
        """Not needed here."""
        raise NotImplementedError

    def run(
        self,
        chains: Chains,
        rng: np.random.Generator,
        spread_sample: FloatArray | None = None,
        origin: float | None = 0.0,
    ) -> Trace:
        """Temper; the trace goes from the hottest to the coldest replicas."""
        start = chains.values if spread_sample is None else spread_sample
        return temper(chains, self, rng, beta_step(start, self.coldest))


def temper(
    chains: Chains,
    settings: TemperingSettings,
    rng: np.random.Generator,
    coldest: float,
) -> Trace:
    """Sweep, change places, and adapt the ladder."""
    shape = (settings.n_temperatures, settings.n_ladders)
    draws = Draws(rng, chains.n_batches, settings.n_replicas)
    ladder = coldest * np.linspace(0.0, 1.0, shape[0])
    fixed_from = int(settings.n_steps * ADAPTED) // ADAPT_EVERY * ADAPT_EVERY
    values: list[FloatArray] = []
    acceptance: list[FloatArray] = []
    rates: list[FloatArray] = []
    for t in range(settings.n_steps):
        if 0 < t <= fixed_from and t % ADAPT_EVERY == 0:
            ladder = even_ladder(ladder, np.nanmean(rates, axis=0))
        if t <= fixed_from and t % ADAPT_EVERY == 0:
            values, acceptance, rates = [], [], []
        which = None if settings.batch_draw == "proposal" else draws.take(1)
        look_up()
        reached, accepted = chains.sweep(np.repeat(ladder, shape[1])[None], which)
        now = reached[-1].reshape(shape)
        places, rate = exchange(now, ladder, t % 2, rng.random(shape))
        chains.take(places.ravel())
        values.append(np.take(now, places))
        acceptance.append(accepted[-1].reshape(shape))
        rates.append(rate)
    seen = np.stack(values, axis=1).reshape(shape[0], -1)
    return Trace(
        ladder,
        np.array(finite_means(seen)),
        spread(seen),
        np.concatenate([[np.nan], np.mean(acceptance, axis=(0, 2))[1:]]),
        converged=True,
    )


def exchange(
    values: FloatArray, ladder: FloatArray, first: int, draws: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Which replica comes to each place, and the rate of each pair; NaN where it was not asked."""
    places = np.arange(values.size).reshape(values.shape)
    rates = np.full(len(ladder) - 1, np.nan)
    low = np.arange(first, len(ladder) - 1, 2)
    with np.errstate(invalid="ignore"):
        exponent = (ladder[low + 1] - ladder[low])[:, None] * (values[low] - values[low + 1])
    # Two replicas that are where nobody should be are as good as each other.
    chance = np.exp(np.minimum(np.where(np.isnan(exponent), 0.0, exponent), 0.0))
    rates[low] = chance.mean(axis=1)
    row, column = np.nonzero(draws[low] < chance)
    here, there = low[row], low[row] + 1
    swapped = places.copy()
    swapped[here, column], swapped[there, column] = places[there, column], places[here, column]
    return swapped, rates


def even_ladder(ladder: FloatArray, rates: FloatArray) -> FloatArray:
    """Temperatures at even distances of what was refused between them, the ends as they are."""
    refused = 1.0 - np.clip(np.where(np.isnan(rates), 0.5, rates), 0.01, 0.99)
    length = np.concatenate([[0.0], np.cumsum(refused)])
    even: FloatArray = np.interp(np.linspace(0.0, length[-1], len(ladder)), length, ladder)
    return even
