"""The paper's Algorithm 1 (start hot, sweep, check, cool), its temperatures and when it stops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import isfinite
from typing import Self

import numpy as np

from safdr._engine.annealing.chains import Chains
from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.interrupt import look_up
from safdr.result import Trace


@dataclass(frozen=True, kw_only=True)
class StopAndBatches:
    """When any dynamics stop, and what batches they see; `Annealing` documents each of them."""

    tol: float = 5e-3
    n_iter_no_change: int = 5
    n_batches: int = 5
    batch_fraction: float = 0.5
    batch_draw: str = "step"


@dataclass(frozen=True, kw_only=True)
class AnnealingSettings(StopAndBatches):
    """How to anneal; the defaults are the paper's, or what it leaves open and we measured."""

    n_replicas: int = 50
    sweeps: float = 0.5
    temperature_step: float = 0.7
    max_steps: int = 100

    def halves(self) -> tuple[Self, Self]:
        """The same work in two parts, for two criteria."""
        half = self.n_replicas // 2
        first = replace(self, n_replicas=self.n_replicas - half)
        return first, replace(self, n_replicas=max(1, half))

    def run(
        self,
        chains: Chains,
        rng: np.random.Generator,
        spread_sample: FloatArray | None = None,
        origin: float | None = 0.0,
    ) -> Trace:
        """Anneal; without a sample, the replicas say what the spread is at the start."""
        return anneal(chains, self, rng, spread_sample, origin)


def anneal(
    chains: Chains,
    settings: AnnealingSettings,
    rng: np.random.Generator,
    spread_sample: FloatArray | None = None,
    origin: float | None = 0.0,
) -> Trace:
    """Cool the replicas until their mean criterion value no longer changes."""
    start = chains.values
    n_replicas = len(start)
    step = beta_step(start if spread_sample is None else spread_sample, settings.temperature_step)
    betas: FloatArray = step * np.arange(1.0, settings.max_steps + 1)
    each_beta = np.broadcast_to(betas[:, None], (len(betas), n_replicas))
    which = None
    if settings.batch_draw != "proposal":
        which = Draws(rng, chains.n_batches, n_replicas)
    values, acceptance = [start[None]], [np.full((1, n_replicas), np.nan)]
    means = finite_means(start[None])
    origin = means[0] if origin is None else origin
    n_steps = 0
    converged = False
    while n_steps < settings.max_steps and not converged:
        ahead = steps_ahead(n_steps, chains.sweeps_at_once, settings.n_iter_no_change)
        beta = each_beta[n_steps : n_steps + ahead]
        batches = None if which is None else which.take(len(beta))
        look_up()
        reached, accepted = chains.sweep(beta, batches)
        values.append(reached)
        acceptance.append(accepted)
        means += finite_means(reached)
        n_steps += len(reached)
        converged = has_converged(means, settings.tol, settings.n_iter_no_change, origin)
    return Trace(
        np.concatenate([[0.0], betas[:n_steps]]),
        np.array(means),
        spread(np.concatenate(values)),
        np.add.reduce(np.concatenate(acceptance), axis=1) / n_replicas,
        converged,
    )


def beta_step(start_values: FloatArray, temperature_step: float) -> float:
    """Step of the inverse temperature: `temperature_step` over the spread at beta = 0."""
    deviation = float(spread(start_values))
    if not isfinite(deviation):
        start_values = start_values[np.isfinite(start_values)]
        if not start_values.size:
            return temperature_step
        deviation = float(spread(start_values))
    size = float(np.abs(start_values).max())
    if deviation <= 1e-12 * size:
        deviation = size if size > 0 else 1.0
    return temperature_step / deviation


def spread(values: FloatArray) -> FloatArray:
    """Standard deviation along the last axis; of dozens np.std takes three times as long."""
    n = values.shape[-1]
    with np.errstate(invalid="ignore"):
        difference = values - np.add.reduce(values, axis=-1, keepdims=True) / n
    return np.sqrt(np.add.reduce(difference * difference, axis=-1) / n)


def has_converged(means: Sequence[float], tol: float, window: int, origin: float = 0.0) -> bool:
    """Whether the mean value has settled: its average over `window` steps no longer changes.

    The average over the last `window` steps is compared with that over the `window` before, since
    with batches the single means keep moving up and down.
    """
    if len(means) < 2 * window:
        return False
    now, before = sum(means[-window:]) / window, sum(means[-2 * window : -window]) / window
    return abs(now - before) <= tol * abs(now - origin)


def steps_ahead(n_steps: int, at_once: int, window: int) -> int:
    """Number of steps until the next look at the mean."""
    futile = n_steps == 0 and 1 < at_once < 2 * window - 1
    return 2 * at_once if futile else at_once


class Draws:
    """The batch of each replica at each step, drawn for many steps ahead, which takes no longer."""

    AHEAD = 100

    def __init__(self, rng: np.random.Generator, n_batches: int, n_replicas: int) -> None:
        self._draw = partial(rng.integers, n_batches, size=(self.AHEAD, n_replicas))
        self._drawn: IntArray = np.empty((0, n_replicas), dtype=np.int64)

    def take(self, n_steps: int) -> IntArray:
        """Those of the next steps."""
        while len(self._drawn) < n_steps:
            self._drawn = np.concatenate([self._drawn, self._draw()])
        now, self._drawn = self._drawn[:n_steps], self._drawn[n_steps:]
        return now


def finite_means(values: FloatArray) -> list[float]:
    """Mean value of each step over the replicas that have one."""
    means: list[float] = (np.add.reduce(values, axis=1) / values.shape[1]).tolist()
    if all(map(isfinite, means)):
        return means
    finite = np.isfinite(values)
    count = np.maximum(finite.sum(axis=1), 1)
    return list((np.where(finite, values, 0.0).sum(axis=1) / count).tolist())
