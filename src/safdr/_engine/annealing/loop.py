"""The paper's Algorithm 1: start hot, sweep, check, cool."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import isfinite

import numpy as np

from safdr._engine.annealing.chains import Chains
from safdr._engine.annealing.schedule import beta_step, has_converged, spread, steps_ahead
from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.interrupt import look_up
from safdr.result import Trace


@dataclass(frozen=True)
class AnnealingSettings:
    """How to anneal; the defaults are the paper's, or what it leaves open and we measured.

    `AnnealingSelector` documents each of them.
    """

    n_replicas: int = 50
    sweeps: float = 0.5
    temperature_step: float = 0.7
    max_steps: int = 100
    tol: float = 5e-3
    n_iter_no_change: int = 5
    n_batches: int = 5
    batch_fraction: float = 0.5
    batch_draw: str = "step"

    @property
    def noisy(self) -> bool:
        """Whether replicas sweep on batches rather than on all rows."""
        return self.n_batches > 1 or self.batch_fraction < 1.0


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
        which = _Draws(rng, chains.n_batches, n_replicas)
    values, acceptance = [start[None]], [np.full((1, n_replicas), np.nan)]
    means = _finite_means(start[None])
    origin = means[0] if origin is None else origin
    n_steps = 0
    converged = False
    while n_steps < settings.max_steps and not converged:
        look_up()
        ahead = steps_ahead(n_steps, chains.sweeps_at_once, settings.n_iter_no_change)
        now = slice(n_steps, n_steps + ahead)
        beta = each_beta[now]
        reached, accepted = chains.sweep(beta, None if which is None else which.take(len(beta)))
        values.append(reached)
        acceptance.append(accepted)
        means += _finite_means(reached)
        n_steps += len(reached)
        converged = has_converged(means, settings.tol, settings.n_iter_no_change, origin)
    return Trace(
        np.concatenate([[0.0], betas[:n_steps]]),
        np.array(means),
        spread(np.concatenate(values)),
        np.add.reduce(np.concatenate(acceptance), axis=1) / n_replicas,
        converged,
    )


class _Draws:
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


def _finite_means(values: FloatArray) -> list[float]:
    """Mean value of each step over the replicas that have one."""
    means: list[float] = (np.add.reduce(values, axis=1) / values.shape[1]).tolist()
    if all(map(isfinite, means)):
        return means
    finite = np.isfinite(values)
    count = np.maximum(finite.sum(axis=1), 1)
    return list((np.where(finite, values, 0.0).sum(axis=1) / count).tolist())
