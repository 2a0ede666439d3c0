"""A random sample of the rows of a table, for a first look."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from safdr.sources.parquet import ParquetFiles

if TYPE_CHECKING:
    import pyarrow as pa

# Rows that are looked at in one go.
AT_ONCE = 65_536


def draw_rows(opened: pa.Table | ParquetFiles, n: int, seed: int) -> tuple[pa.Table, list[str]]:
    """So many rows, in the order of the table, and a note; the seed and their number decide."""
    n_rows = opened.n_rows() if isinstance(opened, ParquetFiles) else opened.num_rows
    drawn = np.arange(n_rows)
    if n < n_rows:
        drawn = np.sort(np.random.default_rng(seed).choice(n_rows, n, replace=False))
    table = _of_files(opened, drawn) if isinstance(opened, ParquetFiles) else opened.take(drawn)
    if n >= n_rows:
        return table, []
    return table, [
        f"A first look: {n:,} of the {n_rows:,} rows, drawn at random (--sample). Without it all "
        "are taken."
    ]


def _of_files(files: ParquetFiles, drawn: np.typing.NDArray[np.int64]) -> pa.Table:
    """Rows of some numbers, read a few at a time."""
    import pyarrow as pa

    found, start = [], 0
    for table in files.tables(list(files.schema), AT_ONCE):
        first, last = np.searchsorted(drawn, [start, start + table.num_rows])
        found.append(table.take(drawn[first:last] - start))
        start += table.num_rows
    return pa.concat_tables(found)
