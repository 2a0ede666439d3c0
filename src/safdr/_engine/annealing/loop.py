"""The paper's Algorithm 1: start hot, sweep, cool, until the mean criterion value converges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from safdr._engine.annealing.chains import Chains
from safdr._engine.arrays import FloatArray
from safdr._engine.interrupt import look_up
from safdr.result import Trace

# A spread below this share of the values is rounding error.
ROUNDING = 1e-12


@dataclass(frozen=True, kw_only=True)
class StopAndBatches:
    """Stopping rule and batches of rows, documented in `Annealing`."""

    tol: float = 0.02
    n_iter_no_change: int = 3
    n_batches: int = 5
    batch_fraction: float = 0.5


@dataclass(frozen=True, kw_only=True)
class AnnealingSettings(StopAndBatches):
    n_replicas: int = 20
    sweeps: float = 0.5
    temperature_step: float = 0.7
    max_steps: int = 100

    def run(
        self,
        chains: Chains,
        rng: np.random.Generator,
        spread_sample: FloatArray | None = None,
        origin: float | None = 0.0,
    ) -> Trace:
        return anneal(chains, self, rng, spread_sample, origin)


def anneal(
    chains: Chains,
    settings: AnnealingSettings,
    rng: np.random.Generator,
    spread_sample: FloatArray | None = None,
    origin: float | None = 0.0,
) -> Trace:
    """Cool the replicas until their mean criterion value converges (Algorithm 1)."""
    start = chains.values
    shape = settings.max_steps, len(start)
    step = beta_step(start if spread_sample is None else spread_sample, settings.temperature_step)
    beta = step * np.arange(1, settings.max_steps + 1)
    batch = rng.integers(chains.n_batches, size=shape)
    values, accepted = [start[None]], [np.full((1, len(start)), np.nan)]
    means = mean_of_finite(start[None])
    origin = means[0] if origin is None else origin
    converged = False
    # The core sweeps at several temperatures a call.
    for n in range(0, settings.max_steps, chains.sweeps_at_once):
        look_up()
        now = slice(n, n + chains.sweeps_at_once)
        each_beta = np.repeat(beta[now, None], len(start), axis=1)
        reached, moved = chains.sweep(each_beta, batch[now])
        values.append(reached)
        accepted.append(moved)
        means += mean_of_finite(reached)
        converged = has_converged(means, settings.tol, settings.n_iter_no_change, origin)
        if converged:
            break
    return Trace(
        np.concatenate([[0.0], beta])[: len(means)],
        np.array(means),
        spread(np.concatenate(values)),
        np.concatenate(accepted).mean(axis=1),
        converged,
    )


def beta_step(start_values: FloatArray, temperature_step: float) -> float:
    """Return the step of the inverse temperature: `temperature_step` over the initial spread."""
    finite = start_values[np.isfinite(start_values)]
    if not finite.size:
        return temperature_step
    deviation, largest = float(spread(finite)), float(np.abs(finite).max())
    if deviation <= ROUNDING * largest:
        deviation = largest or 1.0
    return temperature_step / deviation


def has_converged(means: Sequence[float], tol: float, window: int, origin: float = 0.0) -> bool:
    """Return True if the means of the last two windows differ little.

    Windows are compared because single means fluctuate between batches.
    """
    if len(means) < 2 * window:
        return False
    now, before = sum(means[-window:]) / window, sum(means[-2 * window : -window]) / window
    return abs(now - before) <= tol * abs(now - origin)


def spread(values: FloatArray) -> FloatArray:
    n = values.shape[-1]
    with np.errstate(invalid="ignore"):
        difference = values - np.add.reduce(values, axis=-1, keepdims=True) / n
    return np.sqrt(np.add.reduce(difference * difference, axis=-1) / n)


def mean_of_finite(values: FloatArray) -> list[float]:
    finite = np.isfinite(values)
    if finite.all():
        return list((np.add.reduce(values, axis=1) / values.shape[1]).tolist())
    count = np.maximum(finite.sum(axis=1), 1)
    return list((np.where(finite, values, 0.0).sum(axis=1) / count).tolist())
