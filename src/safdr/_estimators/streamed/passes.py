"""The passes over a table: its target, moments and a sample, models, scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.moments.buckets import BucketMoments
from safdr._engine.streaming.models import PassingRows
from safdr._engine.streaming.positions import FOR_SAMPLE, RowSample, buckets_of, hashes
from safdr._estimators.streamed.tables import (
    Chunk,
    Layout,
    as_frame,
    codes_of,
    numbers_of,
    outputs_of,
    weights_of,
)

# Labels beyond which a target is taken for measured.
MOST_CLASSES = 1000
LOOKS_MEASURED = (
    "looks measured: for that there are AnnealingRegressorSelector and "
    "AnnealingRegressorSelectorCV."
)


class TargetFound:
    """Rows with a weight, how many there are of each label, and which of them are sampled."""

    def __init__(self, limit: int) -> None:
        self.n_rows = 0
        self.n_present = 0
        # The smallest and the largest above zero.
        self.weights = (np.inf, 0.0)
        self.labels: list[Any] = []
        self.counts = np.zeros(0, dtype=np.int64)
        self.sample = RowSample(limit)

    def under(self, labels: list[Any]) -> None:
        """Number the labels by a longer list, which begins with those that there are."""
        self.labels = labels
        self.counts = np.pad(self.counts, (0, len(labels) - len(self.counts)))


@dataclass(frozen=True, eq=False)
class TargetPass:
    """Looks at target and weights alone."""

    layout: Layout
    measured: bool
    limit: int
    seed: int

    @property
    def columns(self) -> list[str]:
        """What it reads."""
        return self.layout.besides

    def empty(self) -> TargetFound:
        """Nothing found."""
        return TargetFound(self.limit)

    def add(self, found: TargetFound, table: Any, start: int) -> TargetFound:
        """Look at more rows."""
        frame, layout = as_frame(table), self.layout
        n_rows = len(frame)
        found.n_rows += n_rows
        if self.measured:
            outputs_of(frame, layout.target, layout.source_name, start)
            labels, codes = [0], np.zeros(n_rows, dtype=np.int64)
        else:
            labels, codes = _labels_of(frame[layout.target], layout, start)
        positions = np.arange(start, start + n_rows)
        if layout.weight is not None:
            weight = weights_of(frame, layout.weight, layout.source_name, start)
            present = weight > 0
            positions, codes, weight = positions[present], codes[present], weight[present]
            of_chunk = weight.min(initial=np.inf), weight.max(initial=0.0)
            found.weights = _extended(found.weights, of_chunk)
        found.n_present += len(positions)
        codes = _numbered(found, labels)[codes]
        if len(found.labels) > MOST_CLASSES:
            raise ValueError(
                f"The target {layout.target!r} of {layout.source_name} holds more than "
                f"{MOST_CLASSES} different values, and {LOOKS_MEASURED}"
            )
        found.counts += np.bincount(codes, minlength=len(found.labels))
        found.sample.add(positions, codes, hashes(positions, self.seed, FOR_SAMPLE))
        return found

    def merge(self, first: TargetFound, second: TargetFound) -> TargetFound:
        """What both found."""
        total = self.empty()
        for each in (first, second):
            codes = _numbered(total, each.labels)
            total.n_rows += each.n_rows
            total.n_present += each.n_present
            total.weights = _extended(total.weights, each.weights)
            total.counts[codes] += each.counts
            part = RowSample(self.limit)
            part.merge(each.sample)
            part.codes = codes[part.codes]
            total.sample.merge(part)
        return total


def _extended(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    """The smallest and the largest of both."""
    return min(one[0], other[0]), max(one[1], other[1])


def _labels_of(series: Any, layout: Layout, start: int) -> tuple[list[Any], IntArray]:
    """The labels in a column, and which of them each row has."""
    missing = series.is_null()
    if series.dtype.is_float():
        missing = missing | series.is_nan()
    if missing.any():
        row = start + int(np.argmax(missing.to_numpy()))
        raise ValueError(
            f"The target {layout.target!r} of {layout.source_name} is missing in row {row}. Leave "
            "out the rows without a label."
        )
    if series.dtype.is_numeric():
        labels, codes = np.unique(numbers_of(series), return_inverse=True)
        return labels.tolist(), codes.astype(np.int64)
    if series.dtype.is_temporal():
        raise ValueError(
            f"The target {layout.target!r} of {layout.source_name} holds dates or times: labels "
            "are text, numbers or booleans."
        )
    if series.dtype in (nw.Boolean, nw.Categorical, nw.Object):
        # Categories keep the type of their values.
        labels, codes = np.unique(np.asarray(series.to_numpy()), return_inverse=True)
        return labels.tolist(), codes.astype(np.int64)
    found = sorted(series.cast(nw.String).unique().to_list())
    return found, codes_of(series, np.array(found))


def _numbered(found: TargetFound, labels: list[Any]) -> IntArray:
    """Numbers of labels among those found, to which new ones are added."""
    known = {label: i for i, label in enumerate(found.labels)}
    for label in labels:
        known.setdefault(label, len(known))
    found.under(list(known))
    return np.array([known[label] for label in labels], dtype=np.int64)


@dataclass(eq=False)
class MomentsFound:
    """Moments of buckets, and the rows that are sampled."""

    moments: BucketMoments
    # Sampled rows: their places in the sample, their numbers and their weights.
    places: list[NDArray[np.int64]]
    rows: list[FloatArray]
    targets: list[NDArray[Any]]
    weights: list[FloatArray]
    n_rows: int = 0


@dataclass(frozen=True, eq=False)
class MomentsPass:
    """Adds up moments by bucket and class, and takes out the sample."""

    layout: Layout
    sample: RowSample
    seed: int
    n_buckets: int  # 0 where only the sample is wanted

    @property
    def columns(self) -> list[str]:
        """What it reads."""
        return [*self.layout.features, *self.layout.besides]

    def empty(self) -> MomentsFound:
        """No rows."""
        n_columns, n_classes = len(self.layout.features), 1
        if self.layout.classes is None:
            n_columns += 1
        else:
            n_classes = len(self.layout.classes)
        return MomentsFound(BucketMoments(self.n_buckets, n_classes, n_columns), [], [], [], [])

    def add(self, found: MomentsFound, table: Any, start: int) -> MomentsFound:
        """Add more rows."""
        layout = self.layout
        chunk = layout.chunk(table, start, layout.features)
        n_rows = len(as_frame(table))
        found.n_rows += n_rows
        places, there = self.sample.places(start, n_rows)
        taken = np.searchsorted(chunk.positions, there)
        found.places.append(np.arange(places.start, places.stop))
        found.rows.append(np.column_stack([column[taken] for column in chunk.columns]))
        found.targets.append(chunk.target[..., taken].T)
        if chunk.weight is not None:
            found.weights.append(chunk.weight[taken])
        if self.n_buckets and len(chunk.positions):
            self._add_moments(found.moments, chunk)
        return found

    def _add_moments(self, moments: BucketMoments, chunk: Chunk) -> None:
        buckets = buckets_of(chunk.positions, self.seed, self.n_buckets)
        columns, codes, n_features = chunk.columns, chunk.target, len(self.layout.features)
        if self.layout.classes is None:
            columns = [*columns, *chunk.target]
            codes = np.zeros(len(buckets), dtype=np.int64)
        # NaN among them is a warning of NumPy's, and soon an error of ours.
        with np.errstate(invalid="ignore", over="ignore"):
            moments.add(columns, buckets, codes, chunk.weight)
        low, high = moments.low.min(axis=0), moments.high.max(axis=0)
        self.layout.check_finite(low[:n_features], high[:n_features])

    def merge(self, first: MomentsFound, second: MomentsFound) -> MomentsFound:
        """Of the rows of both."""
        return MomentsFound(
            first.moments + second.moments,
            first.places + second.places,
            first.rows + second.rows,
            first.targets + second.targets,
            first.weights + second.weights,
            first.n_rows + second.n_rows,
        )


@dataclass(frozen=True, eq=False)
class ModelsPass:
    """Adds up losses of models or counts their scores, as the engine's pass does."""

    layout: Layout
    of_chunks: Any  # LossPass or HistogramPass
    seed: int
    n_buckets: int

    @property
    def _features(self) -> tuple[str, ...]:
        return tuple(self.layout.features[i] for i in self.of_chunks.features)

    @property
    def columns(self) -> list[str]:
        """What it reads."""
        return [*self._features, *self.layout.besides]

    def empty(self) -> list[Any]:
        """No rows."""
        sums: list[Any] = self.of_chunks.empty()
        return sums

    def add(self, sums: list[Any], table: Any, start: int) -> list[Any]:
        """Add more rows."""
        chunk = self.layout.chunk(table, start, self._features)
        buckets = buckets_of(chunk.positions, self.seed, self.n_buckets)
        rows = PassingRows(np.array(chunk.columns), buckets, chunk.target, chunk.weight)
        self.of_chunks.add(sums, rows)
        return sums

    def merge(self, first: list[Any], second: list[Any]) -> list[Any]:
        """Of the rows of both."""
        return [a + b for a, b in zip(first, second, strict=True)]
