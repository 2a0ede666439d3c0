"""Two passes over a source: statistics of all rows by bucket, and a sample."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from safdr._engine.arrays import IntArray
from safdr._engine.moments.triangle import Triangle
from safdr._estimators.streaming.columns import Columns, Rows, find_columns
from safdr._estimators.streaming.passes import CountTask, SumsTask, buckets_of, sample_shares
from safdr.sources import Source, open_source

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
class StreamedRows:
    """Statistics of all rows by bucket, and a sample."""

    source: Source
    columns: Columns
    counts: IntArray  # of each class
    seed: int
    moments: Any  # BucketMoments; None if the sample has all rows
    sample: Rows

    @classmethod
    def read(
        cls, X: Any, y: Any, sample_weight: Any, *, regression: bool, seed: int
    ) -> StreamedRows:
        """Count the labels, then sum up statistics and take a sample."""
        source, y, sample_weight = open_rows(X, y, sample_weight)
        columns = find_columns(source, y, sample_weight, regression=regression)
        counted = source.run(CountTask(columns, regression))
        if not sum(counted.values()):
            raise ValueError(f"{source.name} has no rows.")
        if not regression:
            columns = replace(columns, classes=np.array(sorted(counted)))
            check_classification_targets(columns.classes)
        counts = np.array([counted[label] for label in sorted(counted)])
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
        return cls(source, columns, counts, seed, *_run(source, task, counts))

    def of_buckets(self, buckets: IntArray) -> dict[str, Any]:
        """Return the sampled rows of some buckets; their weights are those of all rows there."""
        sample = self.sample
        if len(buckets) < N_BUCKETS:
            bucket = buckets_of(sample.positions, self.seed, N_BUCKETS)
            sample = sample.take(np.isin(bucket, buckets))
        codes = self.columns.codes(sample)
        of_all = self.moments.weight[buckets].sum(axis=0)
        sampled = np.bincount(codes, sample.weight, minlength=len(of_all))
        weight = sample.weight * (of_all / np.where(sampled > 0, sampled, 1.0))[codes]
        y = self.columns.given(sample.target)
        rows = {"X": sample.X.T, "y": y, "row_weight": weight}
        return rows if self.columns.classes is None else rows | {"codes": codes}

    def all_rows(self, features: list[str]) -> Rows | None:
        """Return all rows with a weight, with some features; None if they take too much memory."""
        if 8 * self.counts.sum() * (len(features) + 3) > MAX_FIT_BYTES:
            return None
        task = SumsTask(replace(self.columns, features=features), np.ones(len(self.counts)))
        return _run(self.source, task, self.counts)[1].weighted()


def _run(source: Source, task: SumsTask, counts: IntArray) -> tuple[Any, Rows]:
    """Read the rows; refuse a source whose labels are not those of the first pass."""
    sums = source.run(task)
    if not np.array_equal(sums.counts, counts):
        raise ValueError(
            f"{source.name} changed while it was read: {counts.tolist()} rows of each class at "
            f"first and {sums.counts.tolist()} now. Read a copy that does not change."
        )
    parts: list[Any] = [np.concatenate(each, axis=-1) for each in zip(*sums.parts, strict=True)]
    return sums.moments, Rows(*parts)
