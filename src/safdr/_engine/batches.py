"""Criteria of random batches of the rows, which keep the replicas diverse."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.criterion import Criterion, CriterionStack, make_criterion
from safdr._engine.moments import Moments

# With γ = features / rows the eigenvalues of a sampled covariance spread over (1 ± √γ)² (Marchenko
# and Pastur): a factor of 34 at γ = 1/2, and without bound as γ nears 1.
ROWS_PER_FEATURE = 2
MIN_CLASS_ROWS = 2

# A share that must be raised is rounded up to one of this many levels, so that neighbouring sizes
# use the same batches.
SHARE_LEVELS = 8

# Memory for the matrices of all batches: five of 2590 features, two of 4096. Two are made in any
# case: one would not differ between steps.
BATCH_BYTES = 2**28
MIN_BATCHES = 2


@dataclass(frozen=True, eq=False)
class Batches:
    """Random batches of units: rows, or buckets of rows."""

    codes: IntArray  # class of each unit
    counts: IntArray  # rows of each class
    # Moments of the units with their codes; -1 leaves a unit out. They may be written to an array.
    moments_of: Callable[[IntArray, FloatArray], Moments]

    def draw(self, of_all: Criterion, n_batches: int, share: float, seed: int) -> CriterionStack:
        """Return criteria of random batches, each with a share of the units."""
        n = of_all.n_features
        A = np.empty((affordable_batches(n_batches, n), n, n))
        D = []
        rng = np.random.default_rng(np.random.SeedSequence([seed]))
        for out, codes in zip(A, draw_batches(self.codes, len(A), share, rng), strict=True):
            moments = self.moments_of(codes, out)
            found = make_criterion(moments, of_all.ridge, like=of_all)
            if moments.within is not out:
                out[:] = found.A
            D.append(found.D)
        return A, np.array(D)


def affordable_batches(n_batches: int, n_features: int) -> int:
    """Return the number of batches whose matrices fit into memory."""
    # The number depends on the features alone: dense and sparse rows give the same result.
    return min(n_batches, max(MIN_BATCHES, BATCH_BYTES // (8 * n_features**2)))


def batch_share(batch_fraction: float, size: int, batches: Any) -> float:
    """Return the share of rows whose covariance is stable for `size` features."""
    counts = batches.counts
    needed = (ROWS_PER_FEATURE * size + len(counts)) / counts.sum()
    if needed <= batch_fraction:
        return batch_fraction
    return float(min(1.0, np.ceil(SHARE_LEVELS * needed) / SHARE_LEVELS))


def draw_batches(
    codes: IntArray, n_batches: int, share: float, rng: np.random.Generator
) -> Iterator[IntArray]:
    """Yield the class codes of each batch, stratified by class; -1 excludes a unit."""
    units_by_class = [np.flatnonzero(codes == label) for label in np.unique(codes)]
    for _ in range(n_batches):
        batch = np.full_like(codes, -1)
        for units in units_by_class:
            count = min(len(units), max(MIN_CLASS_ROWS, int(np.ceil(share * len(units)))))
            chosen = rng.permutation(units)[:count]
            batch[chosen] = codes[chosen]
        yield batch
