"""A table is read into memory, or in passes: where it would not fit, or as asked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from safdr.cli.errors import UsageError
from safdr.cli.memory import fits_in_memory
from safdr.cli.options import TableOptions
from safdr.cli.progress import SearchProgress
from safdr.cli.rows import SplitRows, most_rows_at_hand, rows_in_memory, rows_in_passes
from safdr.cli.sampling import draw_rows
from safdr.sources.errors import SourceError
from safdr.sources.parquet import ParquetFiles, check_local
from safdr._old_table.choices import Choices
from safdr._old_table.reading import STANDARD_INPUT, checked_table, is_parquet, read_table

if TYPE_CHECKING:
    import pyarrow as pa

# Enough to see which columns have two values.
SOME_ROWS = 10_000
TOO_LARGE = "The table would not fit comfortably in memory"


def open_table(file: str | None, options: TableOptions) -> pa.Table | ParquetFiles:
    """The table, or the files that are to be read in passes."""
    if file is None:
        from safdr.cli.builtin import breast_cancer

        if option := _in_passes(options):
            raise UsageError(f"{option} reads a Parquet file; name one: safdr select FILE {option}")
        return breast_cancer()
    check_local(file)
    if not is_parquet(file):
        option = _in_passes(options)
        if option and (file == STANDARD_INPUT or Path(file).is_file()):
            raise UsageError(_convert(file, option.split()[0]))
        return read_table(file)
    return _open_parquet(file, options)


def _open_parquet(file: str, options: TableOptions) -> pa.Table | ParquetFiles:
    wanted = bool(_in_passes(options))
    single = Path(file).is_file() and not wanted
    try:
        files = _files(file, options)
    except SourceError:
        if single:
            return read_table(file)  # which says what is wrong with a file
        raise
    if options.sample is not None:
        return files
    if files.n_rows() > most_rows_at_hand(files, options.sample_rows) and (
        wanted or not fits_in_memory(files.n_bytes())
    ):
        return files
    return read_table(file) if single else checked_table(files.name, files.read())


def _in_passes(options: TableOptions) -> str:
    """The option that asks for passes, as it was written."""
    if options.dask is not None:
        return f"--dask {options.dask}"
    return "--stream" if options.stream else ""


def _files(file: str, options: TableOptions) -> ParquetFiles:
    if options.dask is None:
        return ParquetFiles(file)
    from safdr.sources.dask import ParquetOnDask

    return ParquetOnDask(file)


def _convert(file: str, option: str) -> str:
    """How to make Parquet of something else."""
    name, target = Path(file).name, f"{Path(file).name.split('.')[0]}.parquet"
    if file == STANDARD_INPUT:
        return f"{option} reads Parquet files, and standard input is none. Write it to one first."
    return (
        f"{option} reads Parquet, and {file!r} is something else. Convert it first, CSV by "
        f"duckdb -c \"COPY (FROM '{name}') TO '{target}'\", Arrow by "
        f"python -c \"import polars; polars.scan_ipc('{name}').sink_parquet('{target}')\"."
    )


def column_names(opened: pa.Table | ParquetFiles) -> list[str]:
    """Of all columns."""
    return list(opened.schema) if isinstance(opened, ParquetFiles) else opened.column_names


def some_rows(opened: pa.Table | ParquetFiles) -> pa.Table:
    """Rows to look at: all, or the first."""
    if not isinstance(opened, ParquetFiles):
        return opened
    return next(opened.tables(list(opened.schema), SOME_ROWS))


def prepare_rows(
    opened: pa.Table | ParquetFiles,
    choices: Choices,
    options: TableOptions,
    progress: SearchProgress,
) -> SplitRows:
    """Rows to learn from, and rows held out."""
    notes: list[str] = []
    if options.sample is not None:
        opened, notes = draw_rows(opened, options.sample, choices.seed)
    if not isinstance(opened, ParquetFiles):
        return replace(rows_in_memory(opened, choices), notes=tuple(notes))
    why = TOO_LARGE
    if options.dask is not None:
        why = f"Asked to read the table on the Dask cluster at {options.dask}"
    elif options.stream:
        why = "Asked to stream the table"
    return rows_in_passes(opened, choices, options.sample_rows, progress, why)
