"""Random stratified batches of the rows: the noise that keeps replicas apart."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from safdr._engine.arrays import IntArray

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


def affordable_batches(n_batches: int, n_features: int) -> int:
    """Number of batches whose matrices fit into memory: those asked for, where features are few.

    It depends on the number of features alone, so that sparse and dense rows, and rows in any
    number, are searched alike.

    Parameters
    ----------
    n_batches : int
        Number asked for.
    n_features : int
        Number of features.

    Returns
    -------
    int
        At most `n_batches`, and at least 2 unless 1 was asked for.
    """
    fitting = BATCH_BYTES // (8 * n_features**2)
    return min(n_batches, max(MIN_BATCHES, fitting))


def batch_share(batch_fraction: float, size: int, class_counts: IntArray) -> float:
    """Share of the rows that a batch needs, so that its covariance can carry `size` features.

    Parameters
    ----------
    batch_fraction : float
        The share asked for.
    size : int
        Number of features in a subset.
    class_counts : ndarray of shape (n_classes,)
        Rows of each class.

    Returns
    -------
    float
        At least `batch_fraction`, at most 1.
    """
    needed = (ROWS_PER_FEATURE * size + len(class_counts)) / class_counts.sum()
    if needed <= batch_fraction:
        return batch_fraction
    return float(min(1.0, np.ceil(SHARE_LEVELS * needed) / SHARE_LEVELS))


def draw_batches(
    codes: IntArray, n_batches: int, share: float, rng: np.random.Generator
) -> Iterator[IntArray]:
    """Class codes of each batch in turn, with -1 for the rows that it leaves out.

    Parameters
    ----------
    codes : ndarray of shape (n_samples,)
        Class of each row.
    n_batches : int
        Number of batches.
    share : float
        Share of each class in a batch.
    rng : numpy.random.Generator
        Source of randomness.

    Yields
    ------
    ndarray of shape (n_samples,)
    """
    rows_by_class = [np.flatnonzero(codes == label) for label in np.unique(codes)]
    for _ in range(n_batches):
        batch = np.full_like(codes, -1)
        for rows in rows_by_class:
            count = min(len(rows), max(MIN_CLASS_ROWS, int(np.ceil(share * len(rows)))))
            chosen = rng.permutation(rows)[:count]
            batch[chosen] = codes[chosen]
        yield batch
