"""Wide problems: rows as of gene expression, and rows as of words."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

# Columns of a block share a factor that makes up so much of their variance.
BLOCK = 20
SHARED = 0.6

N_PLANTED = 10

# Columns that are made at a time, so that making the rows leaves no higher mark than they need.
AT_ONCE = 20_000


class Wide(NamedTuple):
    """Rows, two classes, and which columns tell them."""

    X: Any
    y: NDArray[np.int64]
    planted: NDArray[np.int64]


def omics(
    n_rows: int, n_columns: int, seed: int, *, strength: float = 0.8, dtype: DTypeLike = np.float64
) -> Wide:
    """Rows as of gene expression.

    Columns come in blocks of 20, as genes of one pathway do: a factor that a block shares is 60 %
    of each column's variance. Ten columns, each of another block, are shifted by `strength`
    standard deviations, up or down, in one of the two classes; their neighbours are not.
    """
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n_rows) % 2)
    blocks = rng.choice(n_columns // BLOCK, N_PLANTED, replace=False)
    planted = np.sort(BLOCK * blocks + rng.integers(0, BLOCK, N_PLANTED))
    signs = rng.choice([-1.0, 1.0], N_PLANTED)
    X = np.empty((n_rows, n_columns), dtype=dtype)
    for start in range(0, n_columns, AT_ONCE):
        some = X[:, start : start + AT_ONCE]
        factors = rng.normal(size=(n_rows, -(-some.shape[1] // BLOCK)))
        shared = np.repeat(factors, BLOCK, axis=1)[:, : some.shape[1]]
        own = rng.normal(size=some.shape)
        some[:] = np.sqrt(SHARED) * shared + np.sqrt(1 - SHARED) * own
    X[:, planted] += strength * np.outer(y, signs)
    return Wide(X, y, planted)


def words(n_rows: int, n_columns: int, density: float, seed: int) -> Wide:
    """Rows as of texts, mostly zero.

    Word j is in a text with a probability in proportion to 1/(j + 50), at least once in ten
    thousand texts, which makes about the given density in all; it counts as log(1 + count). Ten of
    the thousand most frequent words are two and a half times as frequent in one of the two classes.
    """
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n_rows) % 2)
    rate = 1.0 / (np.arange(n_columns) + 50.0)
    rate = np.clip(rate * density * n_columns / rate.sum(), 1e-4, 0.5)
    planted = np.sort(rng.choice(1000, N_PLANTED, replace=False))
    columns = []
    for j in range(n_columns):
        more = 1.5 * (y == rng.integers(2)) if j in planted else 0.0
        counts = rng.poisson(rate[j] * (1.0 + more), n_rows)
        columns.append(sparse.csc_array(np.log1p(counts)[:, None]))
    return Wide(sparse.hstack(columns, format="csr"), y, planted)


# As many rows, columns and bytes as the title says.
PROBLEMS = {
    "100 × 10 000": lambda: omics(100, 10_000, 0),
    "200 × 100 000": lambda: omics(200, 100_000, 0),
    "500 × 1 000 000, float32": lambda: omics(500, 1_000_000, 0, dtype=np.float32),
    "20 000 × 30 000, sparse at 0.2 %": lambda: words(20_000, 30_000, 0.002, 0),
}
