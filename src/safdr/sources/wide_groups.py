"""Row groups of many columns: a few columns at a time into temporary files, then all by rows.

Of each column that it reads Arrow holds a page and a dictionary: of 1000 columns 2.5 GB.
"""

from __future__ import annotations

import errno
import shutil
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack
from typing import IO, Any

from safdr.sources.errors import SourceError

# What Arrow holds of a column: twice what a short one has; of a long one, with pages and a
# dictionary of 1 MB each as most programs write them, no more than this (measured).
HELD_OF_SHORT = 2
MOST_HELD = 2_500_000

# All columns are read at once where no more is held: 100 long ones, or 1000 of 10 000 rows.
MOST_AT_ONCE = 250_000_000
# Else those that hold so much are read at a time; but no more files than can be open anywhere.
HELD_AT_A_TIME = 64_000_000
MOST_FILES = 64

# How often an empty batch says that the reader is at work, and may be stopped.
SECONDS = 0.2


def read_batches(
    file: Any, path: str, columns: list[str], groups: list[int] | None, n_rows: int
) -> Iterator[Any]:
    """Some columns of an open Parquet file, in batches of at most so many rows."""
    every = list(range(file.num_row_groups)) if groups is None else groups
    held = [_held(file.metadata, group, columns) for group in every]
    if max(held, default=0) <= MOST_AT_ONCE:
        yield from file.iter_batches(n_rows, columns=columns, row_groups=every)
        return
    for group, n_bytes in zip(every, held, strict=True):
        if n_bytes > MOST_AT_ONCE and _is_room(file.metadata, group, columns, path):
            n_files = min(MOST_FILES, -(-n_bytes // HELD_AT_A_TIME))
            width = -(-len(columns) // n_files)
            slices = [columns[i : i + width] for i in range(0, len(columns), width)]
            yield from _through_files(file, path, group, slices, n_rows)
        else:
            yield from file.iter_batches(n_rows, columns=columns, row_groups=[group])


def _held(metadata: Any, group: int, columns: list[str]) -> int:
    """Bytes that Arrow holds where it reads some columns of a row group at once."""
    if len(columns) * MOST_HELD <= MOST_AT_ONCE:
        return 0
    of_group, wanted = metadata.row_group(group), set(columns)
    chunks = [of_group.column(i) for i in range(of_group.num_columns)]
    return sum(
        min(HELD_OF_SHORT * int(chunk.total_uncompressed_size), MOST_HELD)
        for chunk in chunks
        # Columns that have parts are called by paths.
        if not wanted.isdisjoint((chunk.path_in_schema, chunk.path_in_schema.split(".")[0]))
    )


def _is_room(metadata: Any, group: int, columns: list[str], path: str) -> bool:
    """Whether temporary files can hold a row group; say so where they can't."""
    of_group = metadata.row_group(group)
    needed = 8 * of_group.num_rows * len(columns)
    if needed <= shutil.disk_usage(tempfile.gettempdir()).free:
        return True
    warnings.warn(
        f"{len(columns)} columns of {path!r} are read at once, which takes memory: {_no_room()}",
        stacklevel=2,
    )
    return False


def _no_room() -> str:
    return (
        "a row group of it is too large for the folder of temporary files, "
        f"{tempfile.gettempdir()!r}. Let TMPDIR name another one, or write the file with "
        "row_group_size=10_000."
    )


def _through_files(
    file: Any, path: str, group: int, slices: list[list[str]], n_rows: int
) -> Iterator[Any]:
    """Batches of all columns, once every slice of them is in a file of its own."""
    import pyarrow as pa

    names = [name for some in slices for name in some]
    of_file = file.schema_arrow
    schema = pa.schema([of_file.field(name) for name in names])
    nothing = pa.RecordBatch.from_pylist([], schema=schema)
    with ExitStack() as stack:
        kept = [stack.enter_context(tempfile.TemporaryFile(prefix="safdr-")) for _ in slices]
        told = time.monotonic()
        for some, out in zip(slices, kept, strict=True):
            batches = file.iter_batches(n_rows, columns=some, row_groups=[group])
            for _ in _written(batches, out, path):
                if time.monotonic() > told + SECONDS:
                    told = time.monotonic()
                    yield nothing
        readers = [pa.ipc.open_stream(pa.PythonFile(each, "r")) for each in kept]
        for parts in zip(*readers, strict=True):
            arrays = [array for part in parts for array in part.columns]
            yield pa.RecordBatch.from_arrays(arrays, names=names)


def _written(batches: Iterator[Any], out: IO[bytes], path: str) -> Iterator[None]:
    """Write batches to a file, which can be read from its beginning afterwards."""
    import pyarrow as pa

    writer = None
    for batch in batches:
        try:
            writer = writer or pa.ipc.new_stream(pa.PythonFile(out, "w"), batch.schema)
            writer.write_batch(batch)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            raise SourceError(f"{path!r} can't be read: {_no_room()}") from None
        yield
    if writer is not None:
        writer.close()
    out.seek(0)
