"""Rows that can be read several times, a batch at a time, as Arrow tables."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from importlib.util import find_spec
from typing import Any, Protocol

# Rows of a batch: 4 million numbers (32 MB) within these limits.
MIN_ROWS, MAX_ROWS, NUMBERS = 4096, 65_536, 4_000_000

# Columns to batches of rows.
Tables = Callable[[list[str]], Iterator[Any]]


class SourceError(ValueError):
    """Rows cannot be read; the message names the source."""


class Task(Protocol):
    """A sum over all rows. It is sent to where the rows are."""

    @property
    def columns(self) -> list[str]:
        """Columns that it reads."""

    def empty(self) -> Any:
        """Return the sum over no rows."""

    def add(self, total: Any, table: Any, start: int) -> Any:
        """Add the rows of a table; `start` is the position of the first one."""

    def merge(self, first: Any, second: Any) -> Any:
        """Add two sums; the rows of the first come first."""


class Source:
    """Rows that this process reads, the next batch while it works on the last one."""

    sample_rows: int

    def __init__(
        self, name: str, schema: Any, read: Tables, check: Callable[[], None] = lambda: None
    ) -> None:
        self.name = name
        self.schema = schema
        self._read = read
        self._check = check
        self._n_rows: int | None = None

    def tables(self, columns: list[str]) -> Iterator[Any]:
        """Return batches of rows."""
        self._check()
        start = 0
        schema = select_fields(self.schema, columns)
        with closing(_ahead(cut(self._read(columns), schema, self.name))) as tables:
            for table in tables:
                yield table
                start += table.num_rows
        self._check()
        if self._n_rows not in (None, start):
            raise changed(self.name, f"{self._n_rows} rows at first and {start} now")
        self._n_rows = start

    def run(self, task: Task) -> Any:
        """Read all rows once and return their sum."""
        total, start = task.empty(), 0
        for table in self.tables(task.columns):
            total = task.add(total, table, start)
            start += table.num_rows
        return total


def changed(name: str, what: str) -> SourceError:
    """Return the error of a source that is not the same in each pass."""
    return SourceError(
        f"{name} changed while it was read: {what}. Read a copy that no program writes "
        "to, and give a query an order of rows."
    )


def batch_rows(n_columns: int) -> int:
    """Return the number of rows of a batch."""
    return max(MIN_ROWS, min(MAX_ROWS, NUMBERS // max(n_columns, 1)))


def select_fields(schema: Any, columns: list[str]) -> Any:
    """Return the schema of some columns."""
    import pyarrow as pa

    return pa.schema([schema.field(name) for name in columns])


def cut(tables: Iterable[Any], schema: Any, name: str) -> Iterator[Any]:
    """Return tables with the columns and types of a schema, none with too many rows."""
    import pyarrow as pa

    n_rows = batch_rows(len(schema))
    for table in tables:
        missing = [column for column in schema.names if column not in table.column_names]
        if missing:
            raise SourceError(f"A table of {name} has no column {missing[0]!r}.")
        try:
            batch = table.select(schema.names).cast(schema)
        except (pa.ArrowException, ValueError) as error:
            raise SourceError(
                f"A table of {name} has other types than the first one: {one_line(error)}."
            ) from None
        for start in range(0, batch.num_rows, n_rows):
            yield batch.slice(start, n_rows)


def arrow_tables(made: Any) -> Iterator[Any]:
    """Return Arrow tables of a table, a stream, or an iterator of tables."""
    import pyarrow as pa

    if type(made).__module__.startswith("pandas"):
        yield pa.Table.from_pandas(made, preserve_index=False)
    elif hasattr(made, "to_arrow"):  # polars
        yield made.to_arrow()
    elif hasattr(made, "__arrow_c_stream__"):
        for batch in pa.RecordBatchReader.from_stream(made):
            yield pa.table(batch)
    elif isinstance(made, Iterable) and not isinstance(made, str | bytes):
        for table in made:
            if isinstance(table, Iterable) and not hasattr(table, "__arrow_c_stream__"):
                raise _no_table(table)
            yield from arrow_tables(table)
    else:
        raise _no_table(made)


def _no_table(made: Any) -> SourceError:
    return SourceError(
        "The function must return an iterator of tables (Arrow, polars, pandas), or a table; got "
        f"{type(made).__name__}."
    )


def _ahead(tables: Iterator[Any]) -> Generator[Any]:
    """Return the same tables; read each while the one before is in use."""
    with ThreadPoolExecutor(1) as reader:
        future = reader.submit(next, tables, None)
        while (table := future.result()) is not None:
            future = reader.submit(next, tables, None)
            yield table


def require(module: str, what: str) -> None:
    """Refuse to go on without a package."""
    if find_spec(module) is None:
        raise ImportError(f"{what} needs {module}. Run: pip install {module}")


def one_line(error: Exception) -> str:
    """Return the message of an error, without a full stop."""
    return " ".join(str(error).split()).rstrip(".")
