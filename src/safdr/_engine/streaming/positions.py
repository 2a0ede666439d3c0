"""Where a row stands says which bucket it is in, and whether it is in the sample."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from safdr._engine.arrays import IntArray

Hashes: TypeAlias = NDArray[np.uint64]

# Buckets and sample draw from streams of their own, so that the sample is even in all buckets.
FOR_BUCKETS, FOR_SAMPLE = 1, 2


def hashes(positions: IntArray, seed: int, stream: int) -> Hashes:
    """Random numbers that depend on the positions of rows alone (SplitMix64)."""
    first = np.random.SeedSequence([seed, stream]).generate_state(1, np.uint64)[0]
    with np.errstate(over="ignore"):
        z = first + (positions.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def buckets_of(positions: IntArray, seed: int, n_buckets: int) -> IntArray:
    """The bucket of each row."""
    high = hashes(positions, seed, FOR_BUCKETS) >> np.uint64(32)
    return (high % np.uint64(n_buckets)).astype(np.int64)


class RowSample:
    """Positions of a bounded number of rows, as many of each class as there are, or its share.

    Where rows are too many, classes with many rows are cut down to the same number: of a rare class
    all that there is says something. Which rows are in depends on their positions alone, so parts
    of the rows can be looked at in any order, anywhere.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.positions = np.empty(0, dtype=np.int64)
        self.codes = np.empty(0, dtype=np.int64)
        self._hashes: Hashes = np.empty(0, dtype=np.uint64)

    def add(self, positions: IntArray, codes: IntArray, hashes: Hashes) -> None:
        """Consider more rows."""
        self.positions = np.concatenate([self.positions, positions])
        self.codes = np.concatenate([self.codes, codes])
        self._hashes = np.concatenate([self._hashes, hashes])
        if len(self.positions) > 2 * self.limit:
            self.trim()

    def merge(self, other: RowSample) -> None:
        """Consider what another sample kept, under the same codes."""
        self.add(other.positions, other.codes, other._hashes)

    def trim(self) -> None:
        """Leave out what is too much; the rest is in the order of the rows."""
        # By class, and there by the random number.
        order = np.lexsort([self._hashes, self.codes])
        counts = np.bincount(self.codes)
        rank = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
        kept = np.sort(order[rank < most_of_each(counts, self.limit)])
        kept = kept[np.argsort(self.positions[kept], kind="stable")]
        self.positions, self.codes = self.positions[kept], self.codes[kept]
        self._hashes = self._hashes[kept]

    def places(self, start: int, n_rows: int) -> tuple[Any, IntArray]:
        """Of the rows in a chunk that are sampled: places in the sample, and positions."""
        first, last = np.searchsorted(self.positions, [start, start + n_rows])
        return slice(first, last), self.positions[first:last]


def most_of_each(counts: IntArray, limit: int) -> int:
    """How many rows of each class there may be, so that there are no more than so many in all."""
    if counts.sum() <= limit:
        return int(counts.max(initial=0))
    # Classes that have less than their share leave the rest to the others.
    ascending, left = np.sort(counts[counts > 0]), limit
    n_classes = len(ascending)
    while ascending[-n_classes] <= left // n_classes:
        left -= int(ascending[-n_classes])
        n_classes -= 1
    return left // n_classes
