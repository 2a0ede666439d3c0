"""Parquet files, and datasets of pyarrow."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from safdr.sources.source import (
    Source,
    SourceError,
    batch_rows,
    changed,
    cut,
    one_line,
    select_fields,
)

NAMES = (".parquet", ".parq", ".pq")

# An address such as s3://bucket/key; C:/folder is none.
ADDRESS = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]+:/")

# Read buffer of each column; a larger one takes memory and saves no time.
BUFFER_BYTES = 2**15


def parquet_source(path: str) -> Source:
    """Open a Parquet file, or a folder of files whose folders may name partitions (hive)."""
    import pyarrow as pa
    import pyarrow.dataset as ds

    files = _files(path)
    try:
        base = path if Path(path).is_dir() else None
        how: dict[str, Any] = {"format": "parquet", "partitioning": "hive"}
        dataset = ds.dataset(files, partition_base_dir=base, **how)
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(path, error) from None
    before = _versions(files)

    def check() -> None:
        now = _versions(files)
        if different := [file for file in files if now[file] != before[file]]:
            raise changed(repr(different[0]), "its size or its time is another one")

    return dataset_source(dataset, path, check)


def dataset_source(dataset: Any, name: str = "the dataset", *check: Any) -> Source:
    """Open a dataset of pyarrow."""
    return Source(name, dataset.schema, lambda columns: _tables(dataset, columns), *check)


def _files(path: str) -> list[str]:
    """Return the file, or the files of the folder, in order."""
    if not Path(path).exists():
        hint = ""
        if ADDRESS.match(path):
            hint = " An address needs a dataset: pyarrow.dataset.dataset(address)."
        raise SourceError(f"There is no file or folder {path!r}.{hint}")
    if not Path(path).is_dir():
        return [path]
    files = [each.relative_to(path) for each in Path(path).rglob("*")]
    # As in Arrow, names that begin with a dot or an underscore are hidden.
    shown = [each for each in files if not any(part[0] in "._" for part in each.parts)]
    found = sorted(each.as_posix() for each in shown if each.suffix.lower() in NAMES)
    if not found:
        raise SourceError(f"The folder {path!r} has no Parquet file (names in {', '.join(NAMES)}).")
    return [(Path(path) / each).as_posix() for each in found]


def _versions(files: list[str]) -> dict[str, Any]:
    """Return the size and time of each file."""
    stats = {file: Path(file).stat() if Path(file).exists() else None for file in files}
    return {file: stat and (stat.st_size, stat.st_mtime_ns) for file, stat in stats.items()}


def _tables(dataset: Any, columns: list[str]) -> Iterator[Any]:
    """Return batches of rows; of Parquet files without holding whole row groups in memory."""
    import pyarrow as pa

    n_rows = batch_rows(len(columns))
    try:
        fragments = list(dataset.get_fragments()) if _is_parquet(dataset) else None
    except ValueError:
        fragments = None  # only the scanner knows the filter
    if fragments is None:
        readahead: dict[str, Any] = {"batch_readahead": 1, "fragment_readahead": 1}
        for batch in dataset.scanner(columns=columns, batch_size=n_rows, **readahead).to_batches():
            yield pa.table(batch)
        return
    schema = select_fields(dataset.schema, columns)
    for fragment in fragments:
        try:
            yield from cut(_of_fragment(fragment, schema, n_rows), schema, repr(fragment.path))
        except (pa.ArrowException, OSError) as error:
            raise _unreadable(fragment.path, error) from None


def _is_parquet(dataset: Any) -> bool:
    import pyarrow.dataset as ds

    is_files = isinstance(dataset, ds.FileSystemDataset)
    return is_files and isinstance(dataset.format, ds.ParquetFileFormat)


def _of_fragment(fragment: Any, schema: Any, n_rows: int) -> Iterator[Any]:
    """Return batches of a Parquet file, with the columns that names of folders give."""
    import pyarrow as pa
    import pyarrow.dataset as ds
    import pyarrow.parquet as pq

    keys = ds.get_partition_keys(fragment.partition_expression)
    inside = [name for name in schema.names if name not in keys]
    groups = [group.id for group in fragment.row_groups]
    how: dict[str, Any] = {"pre_buffer": False, "buffer_size": BUFFER_BYTES}
    with (
        fragment.filesystem.open_input_file(fragment.path) as opened,
        pq.ParquetFile(opened, **how) as file,
    ):
        for batch in file.iter_batches(n_rows, columns=inside, row_groups=groups):
            batch.validate(full=True)  # a damaged file may hold invalid text
            table = pa.table(batch)
            for name, key in keys.items():
                if name in schema.names:
                    column = pa.repeat(pa.scalar(key, schema.field(name).type), len(batch))
                    table = table.append_column(name, column)
            yield table


def _unreadable(path: str, error: Exception) -> SourceError:
    return SourceError(
        f"{path!r} cannot be read as Parquet: {one_line(error)}. Convert it, or pass a function "
        "that returns an iterator of its tables."
    )
