"""The paper's Algorithm 1: start hot, sweep, check, cool."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from safdr.annealing.chains import EACH_PROPOSAL, Chains
from safdr.annealing.schedule import beta_step, has_converged
from safdr.checkpoint import no_checkpoint
from safdr.moments import FloatArray
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
    tol: float = 1e-3
    n_iter_no_change: int = 10
    n_batches: int = 5
    batch_fraction: float = 0.5
    batch_draw: str = "step"
    ridge: float = 1e-6

    @property
    def noisy(self) -> bool:
        """Whether replicas sweep on batches rather than on all rows."""
        return self.n_batches > 1 or self.batch_fraction < 1.0


def anneal(
    chains: Chains,
    settings: AnnealingSettings,
    rng: np.random.Generator,
    spread_sample: FloatArray | None = None,
    checkpoint: Callable[[], None] = no_checkpoint,
) -> Trace:
    """Cool the replicas until their mean criterion value no longer changes.

    Parameters
    ----------
    chains : Chains
        Replicas at random subsets; they are moved in place.
    settings : AnnealingSettings
        Temperature step, number of steps, tolerance.
    rng : numpy.random.Generator
        Draws the batch of each replica at each step.
    spread_sample : ndarray of shape (n_values,), default=None
        Criterion values of random subsets that set the temperature step; None takes the replicas'
        own.
    checkpoint : callable, default=no_checkpoint
        Called before each step; may raise to stop.

    Returns
    -------
    Trace
        One row for the start and one for each temperature step.
    """
    values = chains.values
    step = beta_step(values if spread_sample is None else spread_sample, settings.temperature_step)
    beta = 0.0
    rows = [(beta, values.mean(), values.std(), np.nan)]
    converged = False
    for _ in range(settings.max_steps):
        checkpoint()
        beta += step
        if settings.batch_draw == "proposal":
            which = np.full(len(values), EACH_PROPOSAL)
        else:
            which = rng.integers(chains.n_batches, size=len(values))
        acceptance = chains.sweep(np.full(len(values), beta), which)
        values = chains.values
        rows.append((beta, values.mean(), values.std(), acceptance.mean()))
        converged = has_converged([row[1] for row in rows], settings.tol, settings.n_iter_no_change)
        if converged:
            break
    betas, means, stds, acceptances = np.array(rows).T
    return Trace(betas, means, stds, acceptances, converged)
