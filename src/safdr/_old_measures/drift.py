"""Whether rows are still like those that a model was made for."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import chi2

from safdr._old_measures.intervals import LEVEL, FloatArray, effective_number

N_BINS = 10


def stability_index(
    values: FloatArray,
    weight: FloatArray,
    base: FloatArray,
    base_weight: FloatArray,
    *,
    n_codes: int = 0,
) -> dict[str, Any] | None:
    """Population stability index of some rows against others, by tenths of the latter, or by codes.

    The sum of (a - e)·ln(a/e) over the bins, where a and e are their shares of both; an empty bin
    counts as half a row. `chance` is what 95 of 100 samples that did not change stay below: the
    index is then about (1/n + 1/m) times a chi-squared number (Yurdakul 2018).
    """
    edges = np.arange(n_codes - 1.0) if n_codes else _edges(base, base_weight)
    if not len(values) or not len(edges):
        return None
    n, m = effective_number(weight), effective_number(base_weight)
    actual, expected = (
        _shares(edges, each, own) for each, own in ((values, weight), (base, base_weight))
    )
    actual, expected = _filled(actual, n), _filled(expected, m)
    return {
        "value": float(((actual - expected) * np.log(actual / expected)).sum()),
        "chance": float(chi2.ppf(LEVEL, len(edges)) * (1 / n + 1 / m)),
    }


def _edges(base: FloatArray, weight: FloatArray) -> FloatArray:
    """The largest value of each bin, the last bin aside; each bin of `base` has rows in it."""
    distinct, place = np.unique(base, return_inverse=True)
    up_to = np.cumsum(np.bincount(place, weight, len(distinct)))
    wanted = up_to[-1] * np.arange(1, N_BINS) / N_BINS
    found = np.unique(np.searchsorted(up_to, wanted * (1 - 1e-12)))
    return distinct[found[found < len(distinct) - 1]]


def _shares(edges: FloatArray, values: FloatArray, weight: FloatArray) -> FloatArray:
    place = np.searchsorted(edges, values)
    return np.bincount(place, weight, len(edges) + 1) / weight.sum()


def _filled(shares: FloatArray, n: float) -> FloatArray:
    return np.where(shares > 0, shares, 0.5 / n)
