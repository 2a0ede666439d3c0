"""Two passes over a source: counts of the labels, then statistics by bucket and a sample."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.moments.buckets import BucketMoments
from safdr._engine.moments.triangle import Triangle
from safdr._estimators.streaming.columns import Columns, Rows, find_columns
from safdr.sources import Source, open_source

# A target with more labels is taken for continuous.
MAX_CLASSES = 1000

# Folds, batches and halves are sums of buckets: twenty allow folds and quarters.
N_BUCKETS = 20

# Memory for the statistics of all buckets (4,900 features of two classes), and for the sample
# (200,000 rows of 2,500 features).
MAX_BYTES = 4e9

# Memory for the columns of the final model (30 million rows of five features); the fit takes
# about four times as much.
MAX_FIT_BYTES = 2e9


def open_rows(X: Any, y: Any = None, sample_weight: Any = None) -> tuple[Source, Any, Any]:
    """Return a source, and the names of its target and weights."""
    if type(X).__module__.startswith("dask.array"):
        from safdr.sources.dask import as_frame

        X, y, sample_weight = as_frame(X, y, sample_weight)
    return open_source(X), y, sample_weight


@dataclass(frozen=True, eq=False)
class CountTask:
    """Rows of each label; in a regression, one label stands for all rows."""

    columns: list[str]
    regression: bool

    def empty(self) -> Counter[Any]:
        return Counter()

    def add(self, total: Counter[Any], table: Any, start: int) -> Counter[Any]:
        """Count the rows of a table."""
        if self.regression:
            return total + Counter({0: table.num_rows})
        total = total + Counter(table[self.columns[0]].to_pylist())
        if len(total) > MAX_CLASSES:
            raise ValueError(
                f"The target {self.columns[0]!r} has more than {MAX_CLASSES} labels. For a "
                "continuous target use AnnealingRegressorSelector."
            )
        return total

    def merge(self, first: Counter[Any], second: Counter[Any]) -> Counter[Any]:
        return first + second


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
        return self.layout.names

    def empty(self) -> tuple[Any, list[Rows]]:
        n_columns = len(self.layout.features) + (self.layout.classes is None)  # the output
        how = self.n_buckets, len(self.shares), n_columns
        return BucketMoments(*how) if self.n_buckets else None, []

    def add(self, total: tuple[Any, list[Rows]], table: Any, start: int) -> Any:
        # Two random numbers for each position, whatever the length of the tables.
        stream = np.random.PCG64(self.seed).advance(2 * start)
        draws = np.random.Generator(stream).random((table.num_rows, 2))
        rows = self.layout.read(table, (draws[:, 0] * self.n_buckets).astype(np.int64))
        moments, parts = total
        sampled = draws[:, 1] < self.shares[rows.codes]
        if moments is not None:
            weighted = rows.take(rows.weight > 0)
            columns = [*weighted.X, *([weighted.y] if self.layout.classes is None else [])]
            weight = None if self.layout.weight is None else weighted.weight
            moments.add(columns, weighted.buckets, weighted.codes, weight)
            sampled &= rows.weight > 0
        return moments, [*parts, rows.take(sampled)]

    def merge(self, first: tuple[Any, list[Rows]], second: tuple[Any, list[Rows]]) -> Any:
        moments = None if first[0] is None else first[0] + second[0]
        return moments, first[1] + second[1]


@dataclass(frozen=True, eq=False)
class StreamedRows:
    """Statistics of all rows by bucket, and a sample."""

    source: Source
    columns: Columns
    counts: IntArray  # of each class
    moments: Any  # BucketMoments; None if the sample has all rows
    sample: Rows

    @classmethod
    def read(
        cls, X: Any, y: Any, sample_weight: Any, *, regression: bool, seed: int
    ) -> StreamedRows:
        """Count the labels, then sum up statistics and take a sample."""
        source, y, sample_weight = open_rows(X, y, sample_weight)
        columns = find_columns(source, y, sample_weight, regression=regression)
        counts, labels = _count(source, CountTask([y], regression))
        if not regression:
            check_classification_targets(labels)
            columns = replace(columns, classes=labels)
        n_columns = len(columns.features)
        limit = min(source.sample_rows, int(MAX_BYTES / 8 / n_columns))
        n_buckets = 0 if counts.sum() <= limit else N_BUCKETS
        n_bytes = 8 * n_buckets * len(counts) * Triangle(n_columns + 1).size
        if n_bytes > MAX_BYTES:
            raise ValueError(
                f"Statistics of {n_columns} features and {len(counts)} classes would take "
                f"{n_bytes / 1e9:.1f} GB; {MAX_BYTES / 1e9:.0f} GB are allowed for rows that are "
                "read in chunks. Choose columns: Stream(source, columns=[...])."
            )
        task = SumsTask(columns, sample_shares(counts, limit), seed, n_buckets)
        return cls(source, columns, counts, *_run(source, task))

    def of_buckets(self, buckets: IntArray) -> dict[str, Any]:
        """Return the sampled rows of some buckets; their weights are those of all rows there."""
        sample = self.sample
        if len(buckets) < N_BUCKETS:
            sample = sample.take(np.isin(sample.buckets, buckets))
        of_all = self.moments.weight[buckets].sum(axis=0)
        sampled = np.bincount(sample.codes, sample.weight, minlength=len(of_all))
        weight = sample.weight * (of_all / np.where(sampled > 0, sampled, 1.0))[sample.codes]
        rows = {"X": sample.X.T, "y": sample.y, "row_weight": weight}
        return rows if self.columns.classes is None else rows | {"codes": sample.codes}

    def all_rows(self, features: list[str]) -> Rows | None:
        """Return all rows with a weight, with some features; None if they take too much memory."""
        if 8 * self.counts.sum() * (len(features) + len(Rows._fields)) > MAX_FIT_BYTES:
            return None
        task = SumsTask(replace(self.columns, features=features), np.ones(len(self.counts)))
        rows = _run(self.source, task)[1]
        return rows.take(rows.weight > 0)


def _count(source: Source, task: CountTask) -> tuple[IntArray, NDArray[Any]]:
    """Return the number of rows of each label, and the sorted labels."""
    counted = source.run(task)
    if not counted:
        raise ValueError(f"{source.name} has no rows.")
    if any(label is None or label != label for label in counted):
        raise ValueError(f"The target {task.columns[0]!r} has missing values. Remove these rows.")
    labels = sorted(counted)
    return np.array([counted[label] for label in labels]), np.array(labels)


def _run(source: Source, task: SumsTask) -> tuple[Any, Rows]:
    moments, parts = source.run(task)
    rows: list[Any] = [np.concatenate(each, axis=-1) for each in zip(*parts, strict=True)]
    return moments, Rows(*rows)


def sample_shares(counts: IntArray, limit: int) -> FloatArray:
    """Return the share of each class in a sample; large classes have equal numbers of rows."""
    ascending, left = np.sort(counts), limit
    for i, count in enumerate(ascending):
        each = left / (len(counts) - i)
        if count > each:
            return np.minimum(1.0, each / counts)
        left -= int(count)
    return np.ones(len(counts))
