"""Moments of buckets of rows, which add up to those of folds, batches and all rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.moments.blocks import Group
from safdr._engine.moments.moments import Moments
from safdr._engine.moments.triangle import Triangle

# Sums are about a shift. It moves to the mean when there are this many times the rows that it was
# computed from: squares about a distant point would lose the digits of the variance.
ROWS_FOR_SHIFT = 4


class BucketMoments:
    """Sums over rows by bucket and class.

    Columns are features; in a regression, outputs follow.
    """

    def __init__(self, n_buckets: int, n_classes: int, n_columns: int) -> None:
        shape = (n_buckets, n_classes)
        self.counts = np.zeros(shape, dtype=np.int64)
        self.weight = np.zeros(shape)
        self.low = np.full((n_buckets, n_columns), np.inf)
        self.high = np.full((n_buckets, n_columns), -np.inf)
        # Of each class, for all buckets alike, so that buckets can be added as they are.
        self._shift = np.zeros((n_classes, n_columns))
        self._rows_of_shift = np.zeros(n_classes, dtype=np.int64)
        self._sums = np.zeros((*shape, n_columns))
        self._triangle = Triangle(n_columns)
        self._scatter = np.zeros((*shape, self._triangle.size))
        self._buffer = np.empty((n_columns, 0))

    def add(
        self,
        columns: Sequence[FloatArray],
        buckets: IntArray,
        codes: IntArray,
        weight: FloatArray | None,
    ) -> None:
        """Add rows, given as columns, with the bucket, class and weight of each."""
        n_classes = self.counts.shape[1]
        places = (buckets * n_classes + codes).astype(np.min_scalar_type(self.counts.size))
        order = np.argsort(places, kind="stable")
        ends = np.searchsorted(places[order], np.arange(self.counts.size + 1))
        ordered = self._buffer_for(len(order))
        for out, column in zip(ordered, columns, strict=True):
            np.take(column, order, out=out, mode="clip")
        of_rows = None if weight is None else weight[order]
        for place in np.flatnonzero(np.diff(ends)):
            bucket, label = divmod(int(place), n_classes)
            some = slice(ends[place], ends[place + 1])
            self._add_part(
                bucket, label, ordered[:, some], None if of_rows is None else of_rows[some]
            )
        for label in range(n_classes):
            n_rows = int(self.counts[:, label].sum())
            if n_rows > ROWS_FOR_SHIFT * self._rows_of_shift[label]:
                self._move_shift(label)
                self._rows_of_shift[label] = n_rows

    def _buffer_for(self, n_rows: int) -> FloatArray:
        """Return a buffer for rows; its reuse saves a fifth of the time."""
        if self._buffer.shape[1] < n_rows:
            self._buffer = np.empty((self._shift.shape[1], n_rows))
        return self._buffer[:, :n_rows]

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_buffer": self._buffer[:, :0]}

    def _add_part(
        self, bucket: int, label: int, part: FloatArray, weight: FloatArray | None
    ) -> None:
        """Add rows of one bucket and class; they are overwritten."""
        low, high = part.min(axis=1), part.max(axis=1)
        np.minimum(self.low[bucket], low, out=self.low[bucket])
        np.maximum(self.high[bucket], high, out=self.high[bucket])
        if self._rows_of_shift[label] == 0:
            # Exact for a constant column: its variance must be zero.
            self._shift[label] = np.where(low == high, low, part.mean(axis=1))
            self._rows_of_shift[label] = part.shape[1]
        part -= self._shift[label][:, None]
        self.counts[bucket, label] += part.shape[1]
        if weight is None:
            self.weight[bucket, label] += part.shape[1]
            self._sums[bucket, label] += part.sum(axis=1)
        else:
            self.weight[bucket, label] += weight.sum()
            self._sums[bucket, label] += part @ weight
            part *= np.sqrt(weight)
        self._triangle.add_products(self._scatter[bucket, label], part)

    def _move_shift(self, label: int) -> None:
        shift = self._shift[label]
        mean = shift + self._sums[:, label].sum(axis=0) / self.weight[:, label].sum()
        # The shift is rounded: move by its rounded difference.
        offset = mean - shift
        for bucket in range(len(self.counts)):
            self._shift_by(
                offset,
                self.weight[bucket, label],
                self._sums[bucket, label],
                self._scatter[bucket, label],
            )
        self._shift[label] = mean

    def _shift_by(
        self, offset: FloatArray, weight: float, sums: FloatArray, scatter: FloatArray
    ) -> None:
        if not offset.any():
            return
        for first, last, values in self._triangle.block_rows(scatter):
            values -= np.outer(sums[first:last], offset[first:])
            values -= np.outer(offset[first:last], sums[first:])
            values += np.outer(weight * offset[first:last], offset[first:])
        sums -= weight * offset

    def __add__(self, other: BucketMoments) -> BucketMoments:
        n_buckets, n_classes, n_columns = self._sums.shape
        total = BucketMoments(n_buckets, n_classes, n_columns)
        total.counts = self.counts + other.counts
        total.weight = self.weight + other.weight
        total.low = np.minimum(self.low, other.low)
        total.high = np.maximum(self.high, other.high)
        total._rows_of_shift = self._rows_of_shift + other._rows_of_shift
        for label in range(n_classes):
            one = self if self._rows_of_shift[label] else other
            total._shift[label] = one._shift[label]
            for each in (self, other):
                offset = total._shift[label] - each._shift[label]
                for bucket in np.flatnonzero(each.counts[:, label]):
                    sums = each._sums[bucket, label].copy()
                    scatter = each._scatter[bucket, label].copy()
                    total._shift_by(offset, each.weight[bucket, label], sums, scatter)
                    total._sums[bucket, label] += sums
                    total._scatter[bucket, label] += scatter
        return total

    def moments(self, buckets: IntArray, n_features: int) -> Moments:
        """Return the moments of some buckets; columns after the features are outputs."""
        weight, sums, mean = self._first_moments(buckets)
        shares = sums / _known(weight)
        # Rounding would leave a variance, and a difference of means, if all values are equal.
        low = self.low[buckets].min(axis=0)
        constant = low == self.high[buckets].max(axis=0)
        mean[:, constant] = low[constant]
        within, groups = np.zeros((n_features, n_features)), []
        for label in range(len(weight)):
            scatter = self._scatter_of(buckets, label)
            scatter -= np.outer(sums[label], shares[label])
            # Squares are never below zero.
            np.fill_diagonal(scatter, np.maximum(np.diag(scatter), 0.0))
            scatter[constant], scatter[:, constant] = 0.0, 0.0
            squares = np.diag(scatter)[:n_features].copy()
            scatter /= weight[label] if weight[label] > 0 else 1.0
            within += scatter[:n_features, :n_features]
            outputs = mean[label, n_features:], np.diag(scatter)[n_features:].copy()
            cross = scatter[:n_features, n_features:].copy()
            features = float(weight[label]), mean[label, :n_features], squares
            groups.append(Group(*features, *outputs, cross))
        return Moments.of_groups(groups, within)

    def _first_moments(self, buckets: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the weight of each class, sums about its shift, and its mean."""
        weight = self.weight[buckets].sum(axis=0)
        sums = self._sums[buckets].sum(axis=0)
        return weight, sums, self._shift + sums / _known(weight)

    def _scatter_of(self, buckets: IntArray, label: int) -> FloatArray:
        total = np.zeros(self._triangle.size)
        for bucket in buckets:
            total += self._scatter[bucket, label]
        scatter = np.empty((self._sums.shape[2],) * 2)
        self._triangle.unfold(total, scatter)
        return scatter


def _known(weight: FloatArray) -> FloatArray:
    """Return weights as a column of divisors; 1 for no weight."""
    return np.where(weight > 0, weight, 1.0)[:, None]
