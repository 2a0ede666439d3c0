"""Moments of buckets of rows: sums of them are those of folds, of batches and of all rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.moments.classes import ClassMoments
from safdr._engine.moments.joint import JointMoments
from safdr._engine.moments.triangle import Triangle

# Sums are about a shift. It moves to the mean once there are so many times the rows that it was
# taken from: squares about a point far off the mean would lose the digits that tell the variance.
ROWS_FOR_SHIFT = 4


class BucketMoments:
    """Sums over rows by bucket and class, to which more rows or other sums can be added.

    Columns are features. In a regression, outputs come after them, and there is one class.
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
        self._room = np.empty((n_columns, 0))

    def add(
        self,
        columns: Sequence[FloatArray],
        buckets: IntArray,
        codes: IntArray,
        weight: FloatArray | None,
    ) -> None:
        """Add rows: their columns one by one, and the bucket, class and weight of each row."""
        n_classes = self.counts.shape[1]
        places = (buckets * n_classes + codes).astype(np.uint16)
        order = np.argsort(places, kind="stable")
        ends = np.searchsorted(places[order], np.arange(self.counts.size + 1))
        # One after the other: they are not copied together before.
        ordered = self._room_for(len(order))
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

    def _room_for(self, n_rows: int) -> FloatArray:
        """Memory for rows, the same each time: fresh one costs a fifth of the time."""
        if self._room.shape[1] < n_rows:
            self._room = np.empty((self._shift.shape[1], n_rows))
        return self._room[:, :n_rows]

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_room": self._room[:, :0]}

    def _add_part(
        self, bucket: int, label: int, part: FloatArray, weight: FloatArray | None
    ) -> None:
        """Add rows of one bucket and class, which are overwritten."""
        low, high = part.min(axis=1), part.max(axis=1)
        np.minimum(self.low[bucket], low, out=self.low[bucket])
        np.maximum(self.high[bucket], high, out=self.high[bucket])
        if self._rows_of_shift[label] == 0:
            # Exact where a column never changes: rounding would leave it with a variance.
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
        """Have the sums of a class about its mean."""
        shift = self._shift[label]
        mean = shift + self._sums[:, label].sum(axis=0) / self.weight[:, label].sum()
        # As far as the shift itself moves: it is rounded.
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
        """Turn sums about one point into those about another, `offset` further on."""
        if not offset.any():
            return
        for first, last, values in self._triangle.block_rows(scatter):
            values -= np.outer(sums[first:last], offset[first:])
            values -= np.outer(offset[first:last], sums[first:])
            values += np.outer(weight * offset[first:last], offset[first:])
        sums -= weight * offset

    def __add__(self, other: BucketMoments) -> BucketMoments:
        """Of the rows of both."""
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

    def _first_moments(self, buckets: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Weight of each class, sums about its shift, and mean."""
        weight = self.weight[buckets].sum(axis=0)
        sums = self._sums[buckets].sum(axis=0)
        return weight, sums, self._shift + sums / _known(weight)

    def classes(self, buckets: IntArray) -> ClassMoments:
        """Moments of each class in some of the buckets."""
        weight, sums, mean = self._first_moments(buckets)
        total = np.zeros_like(self._scatter[0])
        for bucket in buckets:
            total += self._scatter[bucket]
        n_classes, n_columns = sums.shape
        scatter = np.empty((n_classes, n_columns, n_columns))
        shares = sums / _known(weight)
        for label in range(n_classes):
            self._triangle.unfold(total[label], scatter[label])
            scatter[label] -= np.outer(sums[label], shares[label])
            # What was squared is never below zero.
            squares = np.einsum("ii->i", scatter[label])
            np.maximum(squares, 0.0, out=squares)
        # Rounding would leave a variance, and a difference of means, where all values are equal.
        low = self.low[buckets].min(axis=0)
        constant = low == self.high[buckets].max(axis=0)
        mean[:, constant] = low[constant]
        scatter[:, constant] = 0.0
        scatter[:, :, constant] = 0.0
        return ClassMoments(weight, mean, scatter)

    def joint(self, buckets: IntArray, n_features: int) -> JointMoments:
        """Moments of features and outputs in some of the buckets."""
        every = self.classes(buckets)
        weight, mean = float(every.weight[0]), every.mean[0]
        covariance = every.scatter[0] / weight
        return JointMoments(
            weight,
            mean[:n_features],
            mean[n_features:],
            np.diag(covariance)[n_features:].copy(),
            covariance[:n_features, n_features:].copy(),
            covariance[:n_features, :n_features].copy(),
        )


def _known(weight: FloatArray) -> FloatArray:
    """Weights of classes to divide by, as a column: 1 where there is none."""
    return np.where(weight > 0, weight, 1.0)[:, None]
