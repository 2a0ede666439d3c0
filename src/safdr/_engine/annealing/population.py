"""Population annealing: at each temperature the good replicas are copied, the bad ones dropped.

Replicas at inverse temperature β stand for β + Δβ if each counts exp(Δβ · value). Copies in that
proportion take their place, and sweep at β + Δβ until they have parted. So a find of one replica,
such as a pair of features that count only together, spreads before it is lost again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from safdr._engine.annealing.chains import Chains
from safdr._engine.annealing.loop import (
    Draws,
    StopAndBatches,
    finite_means,
    has_converged,
    spread,
)
from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.interrupt import look_up
from safdr.result import Trace

# Steps that are tried, in units of one over the spread. Of values that are normally distributed the
# overlap after a step of x is exp(-x²): from 0.9999 down to 0.37. Neighbours differ by 8 %.
STEPS = np.geomspace(0.01, 1.0, 60)

# Spread of nothing but rounding, relative to the values.
ROUNDING = 1e-12


@dataclass(frozen=True, kw_only=True)
class PopulationSettings(StopAndBatches):
    """How to anneal a population; `PopulationAnnealing` documents each of them."""

    population: int = 200
    sweeps: float = 1.0
    overlap: float = 0.9
    max_steps: int = 200

    @property
    def n_replicas(self) -> int:
        """Replicas in all."""
        return self.population

    def halves(self) -> tuple[Self, Self]:
        """The same work in two parts, for two criteria."""
        half = self.population // 2
        first = replace(self, population=self.population - half)
        return first, replace(self, population=max(2, half))

    def run(
        self,
        chains: Chains,
        rng: np.random.Generator,
        spread_sample: FloatArray | None = None,
        origin: float | None = 0.0,
    ) -> Trace:
        """Cool the population; each step goes by the spread that it has by then."""
        return anneal_population(chains, self, rng, origin)


def anneal_population(
    chains: Chains,
    settings: PopulationSettings,
    rng: np.random.Generator,
    origin: float | None = 0.0,
) -> Trace:
    """Weigh, resample, sweep and check, until the mean criterion value no longer changes."""
    values = [chains.values]
    n_replicas = len(values[0])
    draws = Draws(rng, chains.n_batches, n_replicas)
    family = np.arange(n_replicas)
    families = [_diversity(family)]
    betas, acceptance = [0.0], [np.nan]
    means = finite_means(values[0][None])
    origin = means[0] if origin is None else origin
    converged = False
    while len(betas) <= settings.max_steps and not converged:
        step = step_by_overlap(values[-1], settings.overlap)
        survivors = resample(values[-1], step, rng.random())
        chains.take(survivors)
        family = family[survivors]
        betas.append(betas[-1] + step)
        which = None if settings.batch_draw == "proposal" else draws.take(1)
        look_up()
        reached, accepted = chains.sweep(np.full((1, n_replicas), betas[-1]), which)
        values.append(reached[-1])
        means += finite_means(reached)
        acceptance.append(float(accepted.mean()))
        families.append(_diversity(family))
        converged = has_converged(means, settings.tol, settings.n_iter_no_change, origin)
    n_families, family_size = zip(*families, strict=True)
    return Trace(
        np.array(betas),
        np.array(means),
        spread(np.array(values)),
        np.array(acceptance),
        converged,
        n_families=np.array(n_families),
        family_size=np.array(family_size),
    )


def step_by_overlap(values: FloatArray, overlap: float) -> float:
    """The largest step of beta after which this share of the population counts.

    The share is that of the effective sample, (Σw)² / Σw² over the number of replicas. It falls
    with the step; what no step of one over the spread makes it fall to is not waited for.
    """
    finite = values[np.isfinite(values)]
    if not finite.size or spread(finite) <= ROUNDING * np.abs(finite).max():
        return 0.0
    steps = STEPS / float(spread(finite))
    weights = np.exp(np.outer(steps, finite - finite.max()))
    share = weights.sum(axis=1) ** 2 / (weights * weights).sum(axis=1) / finite.size
    return float(steps[max(int(np.count_nonzero(share >= overlap)) - 1, 0)])


def resample(values: FloatArray, step: float, draw: float) -> IntArray:
    """Indices of as many replicas, each about as often as its weight exp(step · value) says.

    Never off by more than one: the weights are laid end to end and read off at even distances.
    """
    n, finite = len(values), np.isfinite(values)
    if not finite.any():
        return np.arange(n)
    ends = np.zeros(n)
    ends[finite] = np.exp(step * (values[finite] - values[finite].max()))
    ends = np.cumsum(ends)
    places = np.searchsorted(ends, (np.arange(n) + draw) * (ends[-1] / n), side="right")
    return np.minimum(places, np.flatnonzero(finite)[-1])


def _diversity(family: IntArray) -> tuple[int, float]:
    """Starts that some replica stems from; and how many stem from that of a random one."""
    sizes = np.bincount(family)
    return int(np.count_nonzero(sizes)), float(sizes @ sizes) / len(family)
