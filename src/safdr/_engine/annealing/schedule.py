"""From the spread of the start to the temperature steps, and when to stop."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

import numpy as np

from safdr._engine.arrays import FloatArray


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
