"""How alike are subsets chosen again and again: shares, an index, features that replace others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest, false_discovery_control, hypergeom, norm

from safdr._engine.arrays import FloatArray, IntArray

BoolArray = NDArray[np.bool_]

LEVEL = 0.95

# Share of the pairs told that may be there by chance.
FALSE_PAIRS = 0.05


def share_intervals(counts: IntArray, n: int) -> FloatArray:
    """Wilson's interval for the share behind each count out of n."""
    intervals = np.empty((len(counts), 2))
    for count in np.unique(counts):
        found = binomtest(int(count), n).proportion_ci(LEVEL, method="wilson")
        intervals[counts == count] = found
    return intervals


def nogueira_index(chosen: BoolArray, together: int = 1) -> tuple[float, tuple[float, float]]:
    """Stability by Nogueira, Sechidis and Brown (2018), and its interval.

    A row of `chosen` says which features one resample took. Of every so many rows `together`, which
    may depend on one another, it is the means that scatter independently.
    """
    n, n_features = chosen.shape
    share = chosen.mean(axis=0)
    sizes = chosen.mean(axis=1)  # as shares of the features
    size = float(sizes.mean())
    by_chance = size * (1.0 - size)
    if n < 2 or by_chance == 0.0:
        return np.nan, (np.nan, np.nan)
    index = 1.0 - n / (n - 1) * float(np.mean(share * (1.0 - share))) / by_chance
    influence = chosen @ share / n_features - sizes * size
    influence += index / 2.0 * (2.0 * size * sizes - sizes - size + 1.0)
    independent = influence.reshape(-1, together).mean(axis=1) / by_chance
    error = 2.0 * float(np.std(independent)) / np.sqrt(len(independent))
    half_width = float(norm.ppf(0.5 + LEVEL / 2.0)) * error
    return index, (index - half_width, min(index + half_width, 1.0))


def exclusive_pairs(chosen: BoolArray) -> list[tuple[int, int]]:
    """Pairs of features that are together in fewer resamples than chance would have it.

    By the exact test of independence, after Benjamini and Hochberg. The pair with the most negative
    correlation comes first, and in a pair the feature chosen more often.
    """
    n, counts = len(chosen), chosen.sum(axis=0)
    varying = np.flatnonzero((counts > 0) & (counts < n))
    varying = varying[np.argsort(-counts[varying], kind="stable")]
    some = chosen[:, varying].astype(np.float64)
    i, j = np.triu_indices(len(varying), 1)
    if len(i) == 0:
        return []
    both, often, seldom = (some.T @ some)[i, j], counts[varying[i]], counts[varying[j]]
    by_chance = false_discovery_control(hypergeom.cdf(both, n, often, seldom))
    correlation = n * both - often * seldom
    correlation /= np.sqrt(1.0 * often * (n - often) * seldom * (n - seldom))
    told = np.flatnonzero(by_chance <= FALSE_PAIRS)
    order = told[np.argsort(correlation[told], kind="stable")]
    return [(int(varying[i[pair]]), int(varying[j[pair]])) for pair in order]
