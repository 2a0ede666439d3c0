"""Stability of subsets selected on resamples: shares, an index, and a bound."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest, norm

from safdr._engine.arrays import FloatArray, IntArray

BoolArray = NDArray[np.bool_]

# Share of the halves that select a feature of the bound.
THRESHOLD = 0.9
# Largest average probability for which the bound is proven.
MAX_AVERAGE = 1.0 / np.sqrt(3.0)

LEVEL = 0.95


def share_intervals(counts: IntArray, n: int) -> FloatArray:
    """Return Wilson's interval of each share count / n."""
    intervals = np.empty((len(counts), 2))
    for count in np.unique(counts):
        found = binomtest(int(count), n).proportion_ci(LEVEL, method="wilson")
        intervals[counts == count] = found
    return intervals


def expected_errors(size: float, n_features: int, n_resamples: int) -> float:
    """Return the bound of Shah and Samworth (2013) for unimodal shares; NaN if none holds."""
    # Their theorem 2, for features with a selection probability of at most the average and a
    # threshold above 3/4: the next multiple of one half.
    average = size / max(n_features, 1)
    if not 0.0 < average <= MAX_AVERAGE:
        return np.nan
    threshold = np.ceil(THRESHOLD * n_resamples - 1e-9) / n_resamples
    factor = 4.0 * (1.0 - threshold + 1.0 / n_resamples) / (1.0 + 2.0 / n_resamples)
    return float(factor * average * size)


def nogueira_index(selected: BoolArray, block: int = 1) -> tuple[float, tuple[float, float]]:
    """Return the stability of Nogueira, Sechidis and Brown (2018), and its interval."""
    # A row of `selected` is one resample. Blocks of `block` rows are independent, so the
    # error is that of the block means.
    n, n_features = selected.shape
    share = selected.mean(axis=0)
    sizes = selected.mean(axis=1)  # as shares of the features
    size = float(sizes.mean())
    by_chance = size * (1.0 - size)
    if n < 2 or by_chance == 0.0:
        return np.nan, (np.nan, np.nan)
    index = 1.0 - n / (n - 1) * float(np.mean(share * (1.0 - share))) / by_chance
    influence = selected @ share / n_features - sizes * size
    influence += index / 2.0 * (2.0 * size * sizes - sizes - size + 1.0)
    independent = influence.reshape(-1, block).mean(axis=1) / by_chance
    error = 2.0 * float(np.std(independent)) / np.sqrt(len(independent))
    half_width = float(norm.ppf(0.5 + LEVEL / 2.0)) * error
    return index, (index - half_width, min(index + half_width, 1.0))
