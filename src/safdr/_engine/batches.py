"""Random stratified batches of the rows: the noise that keeps replicas apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from safdr._engine.arrays import FloatArray, IntArray, RowArray
from safdr._engine.criterion import (
    Criterion,
    CriterionStack,
    FisherCriterion,
    R2Criterion,
    fisher_criterion,
    r2_criterion,
)
from safdr._engine.moments import joint_moments, within_moments

# With γ = features / rows the eigenvalues of a sampled covariance spread over (1 ± √γ)² (Marchenko
# and Pastur): a factor of 34 at γ = 1/2, and without bound as γ nears 1.
ROWS_PER_FEATURE = 2
MIN_CLASS_ROWS = 2

# A share that must be raised goes up to one of these many levels, so that neighbouring sizes can
# use the same batches.
SHARE_LEVELS = 8

# Memory for the matrices of all batches: five of 2590 features, two of 4096. Beyond that there are
# two whatever they take, since one would be no noise.
BATCH_BYTES = 2**28
MIN_BATCHES = 2


class Noise(Protocol):
    """Where the criteria of random batches come from."""

    @property
    def strata(self) -> IntArray:
        """Class of each row, of which a batch takes the same share; all zero if there are none."""

    def batch_criterion(self, batch: IntArray, out: FloatArray) -> Criterion:
        """The criterion on the rows where `batch` is not -1; its A is `out`."""


@dataclass(frozen=True, eq=False)
class ClassNoise:
    """Batches of rows with labels."""

    X: RowArray
    strata: IntArray
    sample_weight: FloatArray | None
    criterion: FisherCriterion

    def batch_criterion(self, batch: IntArray, out: FloatArray) -> Criterion:
        """Fisher's ratio on some of the rows, on the scale of all; its A is `out`."""
        n_classes = len(self.criterion.marginals.weight)
        moments = within_moments(self.X, batch, n_classes, self.sample_weight, out=out)
        ridge, scale = self.criterion.ridge, self.criterion.scale
        return fisher_criterion(moments, ridge=ridge, scale=scale, overwrite=True)


@dataclass(frozen=True, eq=False)
class OutputNoise:
    """Batches of rows with measured outputs."""

    X: RowArray
    outputs: FloatArray
    sample_weight: FloatArray | None
    criterion: R2Criterion

    @property
    def strata(self) -> IntArray:
        """There is but one."""
        return np.zeros(len(self.outputs), dtype=np.int64)

    def batch_criterion(self, batch: IntArray, out: FloatArray) -> Criterion:
        """R² on some of the rows, in units of the variances on all; its A is `out`."""
        moments = joint_moments(self.X, self.outputs, self.sample_weight, rows=batch >= 0, out=out)
        return r2_criterion(
            moments,
            ridge=self.criterion.ridge,
            scale=self.criterion.scale,
            output_scale=np.sqrt(self.criterion.marginals.output_variance),
            overwrite=True,
        )


def batch_criteria(
    noise: Noise, n_batches: int, share: float, n_features: int, rng: np.random.Generator
) -> CriterionStack:
    """Criteria of random batches, each with a share of the rows."""
    A = np.empty((affordable_batches(n_batches, n_features), n_features, n_features))
    D = []
    for out, batch in zip(A, draw_batches(noise.strata, len(A), share, rng), strict=True):
        # In place: a list of matrices would take the memory twice.
        D.append(noise.batch_criterion(batch, out).D)
    return A, np.array(D)


def affordable_batches(n_batches: int, n_features: int) -> int:
    """Number of batches whose matrices fit into memory: those asked for, where features are few.

    It depends on the number of features alone, so that sparse and dense rows, and rows in any
    number, are searched alike.
    """
    fitting = BATCH_BYTES // (8 * n_features**2)
    return min(n_batches, max(MIN_BATCHES, fitting))


def batch_share(batch_fraction: float, size: int, class_counts: IntArray) -> float:
    """Share of the rows that a batch needs, so that its covariance can carry `size` features."""
    needed = (ROWS_PER_FEATURE * size + len(class_counts)) / class_counts.sum()
    if needed <= batch_fraction:
        return batch_fraction
    return float(min(1.0, np.ceil(SHARE_LEVELS * needed) / SHARE_LEVELS))


def draw_batches(
    codes: IntArray, n_batches: int, share: float, rng: np.random.Generator
) -> Iterator[IntArray]:
    """Class codes of each batch in turn, with -1 for the rows that it leaves out."""
    rows_by_class = [np.flatnonzero(codes == label) for label in np.unique(codes)]
    for _ in range(n_batches):
        batch = np.full_like(codes, -1)
        for rows in rows_by_class:
            count = min(len(rows), max(MIN_CLASS_ROWS, int(np.ceil(share * len(rows)))))
            chosen = rng.permutation(rows)[:count]
            batch[chosen] = codes[chosen]
        yield batch
