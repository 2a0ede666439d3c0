"""Sums over all rows: counts of the labels, then sufficient statistics and a sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.moments.buckets import BucketMoments
from safdr._estimators.streaming.columns import Columns, Rows

# A target with more labels is taken for continuous.
MAX_CLASSES = 1000

# Random streams of the positions of rows.
FOR_BUCKETS, FOR_SAMPLE = 1, 2


def uniforms(positions: IntArray, seed: int, stream: int) -> FloatArray:
    """Return a random number in [0, 1) for each position, the same in each pass (SplitMix64)."""
    first = np.random.SeedSequence([seed, stream]).generate_state(1, np.uint64)[0]
    with np.errstate(over="ignore"):
        z = first + (positions.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    bits: Any = (z ^ (z >> np.uint64(31))) >> np.uint64(11)
    return bits * 2.0**-53


def buckets_of(positions: IntArray, seed: int, n_buckets: int) -> IntArray:
    """Return the bucket of each row."""
    return (uniforms(positions, seed, FOR_BUCKETS) * n_buckets).astype(np.int64)


@dataclass(frozen=True, eq=False)
class CountTask:
    """Rows of each label; in a regression, one label stands for all rows."""

    layout: Columns
    regression: bool

    @property
    def columns(self) -> list[str]:
        """Columns that it reads."""
        return [self.layout.target]

    def empty(self) -> dict[Any, int]:
        """Return the counts of no rows."""
        return {}

    def add(self, total: dict[Any, int], table: Any, start: int) -> dict[Any, int]:
        """Count the rows of a table."""
        if self.regression:
            return self.merge(total, {None: table.num_rows})
        pairs = self.layout.labels(table, start).value_counts()
        counts = zip(*(pairs.field(i).to_pylist() for i in range(2)), strict=True)
        total = self.merge(total, dict(counts))
        if len(total) > MAX_CLASSES:
            raise ValueError(
                f"The target {self.layout.target!r} of {self.layout.source} has more than "
                f"{MAX_CLASSES} labels. For a continuous target use AnnealingRegressorSelector."
            )
        return total

    def merge(self, first: dict[Any, int], second: dict[Any, int]) -> dict[Any, int]:
        """Add the counts of both."""
        return {label: first.get(label, 0) + second.get(label, 0) for label in first | second}


@dataclass(eq=False)
class Sums:
    """Rows of each class, their sufficient statistics by bucket, and parts of the sample."""

    counts: IntArray
    moments: BucketMoments | None
    parts: list[Rows]


@dataclass(frozen=True, eq=False)
class SumsTask:
    """Sufficient statistics and a sample of the rows that have a weight.

    Without buckets, the sample alone, with rows of weight zero.
    """

    layout: Columns
    shares: FloatArray  # of the rows of each class that are sampled
    seed: int = 0
    n_buckets: int = 0

    @property
    def columns(self) -> list[str]:
        """Columns that it reads."""
        return self.layout.names

    def empty(self) -> Sums:
        """Return the sums of no rows."""
        n_classes = len(self.shares)
        n_columns = len(self.layout.features) + (self.layout.classes is None)  # the output
        moments = BucketMoments(self.n_buckets, n_classes, n_columns) if self.n_buckets else None
        return Sums(np.zeros(n_classes, dtype=np.int64), moments, [])

    def add(self, total: Sums, table: Any, start: int) -> Sums:
        """Add the rows of a table."""
        rows = self.layout.read(table, start)
        codes = self.layout.codes(rows)
        total.counts += np.bincount(codes[codes >= 0], minlength=len(self.shares))
        if total.moments is not None and codes.min() >= 0:
            rows = rows.weighted()
            codes = self.layout.codes(rows)
            columns = [*rows.X, *([rows.target] if self.layout.classes is None else [])]
            weight = None if self.layout.weight is None else rows.weight
            buckets = buckets_of(rows.positions, self.seed, self.n_buckets)
            total.moments.add(columns, buckets, codes, weight)
        sampled = uniforms(rows.positions, self.seed, FOR_SAMPLE) < self.shares[codes]
        total.parts.append(rows.take(sampled))
        return total

    def merge(self, first: Sums, second: Sums) -> Sums:
        """Add the sums of both."""
        moments = None
        if first.moments is not None and second.moments is not None:
            moments = first.moments + second.moments
        return Sums(first.counts + second.counts, moments, first.parts + second.parts)


def sample_shares(counts: IntArray, limit: int) -> FloatArray:
    """Return the share of each class in a sample; large classes have equal numbers of rows."""
    ascending, left = np.sort(counts), limit
    for i, count in enumerate(ascending):
        each = left / (len(counts) - i)
        if count > each:
            return np.minimum(1.0, each / counts)
        left -= int(count)
    return np.ones(len(counts))
