"""How well scores put rows of one class above those of another: ROC, Gini, KS, gains, cut-offs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safdr._old_measures.intervals import FloatArray, interval_of_counts, sums_of

# Of a curve that people look at and machines read.
MOST_POINTS = 101
# Shares of the rows at or above a cut-off.
SHARES = (0.01, 0.02, 0.05, *(i / 10 for i in range(1, 10)))


@dataclass(frozen=True, eq=False)
class Ranked:
    """Rows of two classes in bins of equal score, from low to high."""

    # Weights of the rows of both classes, the negative first, their squares, and their numbers.
    counts: FloatArray
    squares: FloatArray
    n_rows: FloatArray
    # What the score of each bin is; None where that is not known.
    values: FloatArray | None = None

    @classmethod
    def of(
        cls,
        scores: FloatArray,
        positive: NDArray[np.bool_],
        weight: FloatArray,
        called: FloatArray | None = None,
    ) -> Ranked:
        """Rank rows in memory; scores may be called by something else that grows with them."""
        values, first, place = np.unique(scores, return_index=True, return_inverse=True)
        cells, size = positive * len(values) + place, 2 * len(values)
        counts, squares = (sums_of(each, cells, size) for each in (weight, weight**2))
        n_rows = sums_of((weight > 0).astype(np.float64), positive, 2)
        values = values if called is None else called[first]
        return cls(counts.reshape(2, -1), squares.reshape(2, -1), n_rows, values)

    @classmethod
    def of_counts(cls, counts: FloatArray) -> Ranked:
        """Rows that were counted where they are."""
        return cls(counts, counts, counts.sum(axis=1))

    @property
    def has_both(self) -> bool:
        """Whether there is anything to tell apart."""
        return bool((self.counts.sum(axis=1) > 0).all())

    def rates(self) -> FloatArray:
        """Of each class the share at or above each bin, and above all of them."""
        from_above = np.cumsum(self.counts[:, ::-1], axis=1)[:, ::-1]
        return np.hstack([from_above / from_above[:, :1], np.zeros((2, 1))])


def discrimination(ranked: Ranked) -> dict[str, Any] | None:
    """AUC with its interval, Gini, KS, and the points of ROC and gains curves."""
    if not ranked.has_both:
        return None
    auc = interval_of_counts(ranked.counts, ranked.squares, ranked.n_rows)
    false, true = ranked.rates()
    widest = int(np.argmax(true - false))
    share = ranked.counts.sum(axis=1) / ranked.counts.sum()
    flagged = share @ np.array([false, true])
    kept = np.searchsorted(flagged[::-1], np.linspace(0, 1, MOST_POINTS - 1), side="left")
    points = np.unique([*(len(flagged) - 1 - np.minimum(kept, len(flagged) - 1)), widest])[::-1]
    return {
        "auc": auc,
        "gini": {key: _gini(auc[key]) for key in ("value", "low", "high")},
        "ks": float(true[widest] - false[widest]),
        "ks_cut_off": _value(ranked, widest),
        "curve": {
            "flagged": flagged[points],
            "false_positive_rate": false[points],
            "true_positive_rate": true[points],
        },
    }


def _gini(area: float | None) -> float | None:
    return None if area is None else 2 * area - 1


def _value(ranked: Ranked, place: int) -> float | None:
    """The least score of rows that are flagged."""
    values = ranked.values
    return None if values is None or place >= len(values) else float(values[place])


def cut_offs(ranked: Ranked) -> list[dict[str, Any]]:
    """What happens where rows at or above a score are flagged, and those below approved."""
    if not ranked.has_both:
        return []
    false, true = ranked.rates()
    negative, positive = ranked.counts.sum(axis=1)
    flagged = (negative * false + positive * true) / (negative + positive)
    widest = int(np.argmax(true - false))
    # Of rows with equal scores all are flagged, or none: the nearest share that can be had.
    wanted = {int(np.abs(flagged - share).argmin()) for share in SHARES}
    places = sorted((i for i in {*wanted, widest} if 0 < flagged[i] < 1), reverse=True)
    return [
        {
            "cut_off": _value(ranked, i),
            "flagged": flagged[i],
            "precision": positive * true[i] / (negative * false[i] + positive * true[i]),
            "recall": true[i],
            "false_positive_rate": false[i],
            "approval_rate": 1 - flagged[i],
            "bad_rate": _share(positive * (1 - true[i]), negative * (1 - false[i])),
            "largest_ks": i == widest,
        }
        for i in places
    ]


def _share(bad: float, good: float) -> float | None:
    return bad / (bad + good) if bad + good > 0 else None
