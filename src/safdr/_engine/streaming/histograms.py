"""Areas under ROC curves of many models in one pass, from fine histograms, with their error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.streaming.models import PassingRows

# Bins between the quantiles of a sample. Where a bin holds the shares p and q of the classes, the
# order of its rows is unknown, and the area off by pq/2 at most: with equal shares, 3e-5 in all.
N_EDGES = 16_384


@dataclass(frozen=True, eq=False)
class ScoredModel:
    """A model of two classes whose scores are to be counted, on rows of some buckets."""

    subset: IntArray
    slopes: FloatArray
    intercept: float
    clip: tuple[FloatArray, FloatArray] | None
    buckets: IntArray
    edges: FloatArray = field(default_factory=lambda: np.empty(0))

    def scores(self, columns: FloatArray) -> FloatArray:
        """Log-odds of rows, given by the columns of the subset."""
        if self.clip is not None:
            low, high = self.clip
            columns = np.clip(columns, low[:, None], high[:, None])
        # Term by term: a product of matrices may round a row by its place among the others, and
        # rows that are alike must have the same score, wherever they pass by.
        scores = np.full(columns.shape[1], self.intercept)
        for slope, column in zip(self.slopes, columns, strict=True):
            scores += slope * column
        return scores

    def with_edges_of(self, columns: FloatArray) -> ScoredModel:
        """With edges that cut the scores of a sample into equal parts; all, where they are few."""
        scores = np.sort(self.scores(columns))
        places = np.linspace(0, len(scores) - 1, N_EDGES)
        edges = np.unique(np.interp(places, np.arange(len(scores)), scores))
        distinct = np.unique(scores)
        if len(distinct) < N_EDGES:
            # Scores that many rows share are edges themselves.
            edges = np.union1d(edges, distinct)
        return replace(self, edges=edges)


class HistogramPass:
    """Scores of models on rows that pass by, counted between edges and on them."""

    def __init__(self, models: Sequence[ScoredModel]) -> None:
        self._models = models
        self.features = np.unique(np.concatenate([model.subset for model in models]))
        self._places = [np.searchsorted(self.features, model.subset) for model in models]

    def empty(self) -> list[FloatArray]:
        """Histograms of no rows: of each model both classes, on and between edges."""
        return [np.zeros((2, 2 * len(model.edges) + 1)) for model in self._models]

    def add(self, histograms: list[FloatArray], rows: PassingRows) -> None:
        """Count some rows."""
        # Those of the buckets of each fold, which many models share.
        parts: dict[bytes, PassingRows] = {}
        for model, places, histogram in zip(self._models, self._places, histograms, strict=True):
            key = model.buckets.tobytes()
            if key not in parts:
                parts[key] = _in_buckets(rows, model.buckets)
            some = parts[key]
            bins = _bins(model.scores(some.columns[places]), model.edges)
            n_bins = histogram.shape[1]
            counted = np.bincount(some.codes * n_bins + bins, some.weight, minlength=2 * n_bins)
            histogram += counted.reshape(histogram.shape)


def _in_buckets(rows: PassingRows, buckets: IntArray) -> PassingRows:
    """The rows of some buckets."""
    which = np.flatnonzero(np.isin(rows.buckets, buckets))
    weight = None if rows.weight is None else rows.weight[which]
    columns = np.take(rows.columns, which, axis=1)
    return PassingRows(columns, rows.buckets[which], rows.codes[which], weight)


def _bins(scores: FloatArray, edges: FloatArray) -> IntArray:
    """Odd numbers for scores that are an edge, and even ones for those between."""
    place = np.searchsorted(edges, scores)
    on_edge = edges[np.minimum(place, len(edges) - 1)] == scores
    bins: IntArray = 2 * place + on_edge
    return bins


def area_and_error(histogram: FloatArray) -> tuple[float, float]:
    """Area under the ROC curve, and the most by which it may be off."""
    weight = histogram.sum(axis=1, keepdims=True)
    if not weight.all():
        return np.nan, np.nan
    negative, positive = histogram / weight
    below = np.cumsum(negative) - negative
    area = float(positive @ (below + 0.5 * negative))
    # Scores on an edge are equal, so that half is right.
    return area, float(0.5 * np.sum(negative[::2] * positive[::2]))
