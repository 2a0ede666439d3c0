"""Risk scores against survival times: concordance, and survival by thirds of the risk."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from safdr.measures.intervals import FloatArray, Z, as_weights

# Pairs of rows that are compared at a time, and points of a curve.
PAIRS_AT_ONCE, MAX_POINTS = 10_000_000, 200
THIRDS = ("low", "middle", "high")


def concordance_interval(times: FloatArray, risk: FloatArray, weight: Any = None) -> list[float]:
    """Return Harrell's concordance with its interval; times are negative for censored rows."""
    # A row's share of the pairs gives its influence, and these the variance (delta method).
    weight, time, is_event = as_weights(weight, len(times)), np.abs(times), times > 0
    won, total = np.zeros((2, len(times)))
    events = np.flatnonzero(is_event)
    step = max(1, PAIRS_AT_ONCE // len(times))
    for some in (events[start : start + step] for start in range(0, len(events), step)):
        later = time > time[some, None]
        later |= (time == time[some, None]) & ~is_event
        pairs = later * weight[some, None] * weight
        higher = np.sign(risk[some, None] - risk) / 2 + 0.5
        for sums, each in ((won, pairs * higher), (total, pairs)):
            sums[some] += each.sum(axis=1)
            sums += each.sum(axis=0)
    if not total.any():
        return []
    value = float(won.sum() / total.sum())
    half = Z * 2.0 * float(np.sqrt(np.sum((won - value * total) ** 2))) / float(total.sum())
    return [value, max(0.0, value - half), min(1.0, value + half)]


def thirds(times: FloatArray, risk: FloatArray, weight: Any = None) -> list[dict[str, Any]]:
    """Return Kaplan-Meier curves of the rows with low, middle and high risk."""
    weight = as_weights(weight, len(times))
    part = np.searchsorted(np.quantile(risk, [1 / 3, 2 / 3]), risk)
    groups = [(name, part == i) for i, name in enumerate(THIRDS) if (part == i).any()]
    return [
        {"risk": name, "n": int(rows.sum()), "events": int((times[rows] > 0).sum())}
        | _kaplan_meier(times[rows], weight[rows])
        for name, rows in groups
    ]


def _kaplan_meier(times: FloatArray, weight: FloatArray) -> dict[str, NDArray[Any]]:
    """Return the times of events, and the share of rows without one up to each."""
    distinct, place = np.unique(np.abs(times), return_inverse=True)
    at_risk = np.cumsum(np.bincount(place, weight)[::-1])[::-1]
    events = np.bincount(place, weight * (times > 0))
    share, kept = np.cumprod(1.0 - events / at_risk), np.flatnonzero(events > 0)
    kept = kept[:: max(1, len(kept) // MAX_POINTS)]
    last = [distinct[-1]]
    ends = share[kept[-1:]] if len(kept) else np.ones(1)
    return {
        "times": np.concatenate([[0.0], distinct[kept], last]),
        "survival": np.concatenate([[1.0], share[kept], ends]),
    }
