"""Parquet files and folders, datasets, and whatever else comes as Arrow tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import narwhals as nw

from safdr.sources.errors import SourceError, require
from safdr.sources.local import MOST_ROWS, LocalSource

# Of each column, while a file is read.
BUFFER_BYTES = 2**18


def schema_of(table: Any) -> dict[str, Any]:
    """Names and types of columns, as narwhals says them."""
    return dict(nw.from_native(table, eager_only=True).schema)


class ParquetFiles:
    """A Parquet file, or a folder of them, whose folders may name partitions (hive)."""

    def __init__(self, path: str | Path) -> None:
        require("pyarrow", "big", "Reading Parquet in passes")
        import pyarrow as pa
        import pyarrow.dataset as ds

        self.name = str(path)
        if not Path(path).exists():
            raise SourceError(f"There is no file or folder {self.name!r}.")
        try:
            if Path(path).is_file():
                self._check_names()
            self._dataset = ds.dataset(self.name, format="parquet", partitioning="hive")
            schema = self._dataset.schema
            self._fragments = list(self._dataset.get_fragments())
        except (pa.ArrowException, OSError) as error:
            raise self._unreadable(error, self.name) from None
        if not self._fragments:
            raise SourceError(f"The folder {self.name!r} holds no Parquet file.")
        self.schema = schema_of(schema.empty_table())
        self._seen = self._looks()

    def _check_names(self) -> None:
        """Refuse columns that share a name, of which datasets say something else."""
        import pyarrow.parquet as pq

        names = pq.read_schema(self.name).names
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise SourceError(
                f"{self.name!r} has several columns called {twice!r}. Rename them, so that they "
                "can be told apart."
            )

    def source(self, *, sample_rows: int) -> LocalSource:
        """The source of all columns."""
        return LocalSource(
            self.name,
            self.schema,
            self.tables,
            sample_rows=sample_rows,
            check=self.check,
            n_rows=self.n_rows(),
        )

    def n_rows(self) -> int:
        """Number of rows, as the files say."""
        return int(self._dataset.count_rows())

    def n_bytes(self) -> int:
        """Size of the values before they were compressed, and at least eight bytes each."""
        groups = (group for fragment in self._fragments for group in fragment.row_groups)
        written = sum(int(group.total_byte_size) for group in groups)
        # Values that repeat are written once, but read as many times as they occur.
        return max(written, 8 * len(self.schema) * self.n_rows())

    def read(self) -> Any:
        """All rows as one table."""
        import pyarrow as pa

        self.check()
        tables = list(self.tables(list(self.schema), MOST_ROWS))
        self.check()
        return pa.concat_tables(tables) if tables else self._dataset.schema.empty_table()

    def check(self) -> None:
        """Refuse files that have changed since they were first looked at."""
        now = self._looks()
        for path, look in self._seen.items():
            if now[path] != look:
                raise SourceError(
                    f"{path!r} has changed while it was read: start again once it is whole."
                )

    def _looks(self) -> dict[str, Any]:
        """Size and time of each file."""
        looks: dict[str, Any] = {}
        for fragment in self._fragments:
            try:
                stat = Path(fragment.path).stat()
                looks[fragment.path] = (stat.st_size, stat.st_mtime_ns)
            except OSError:
                looks[fragment.path] = None
        return looks

    def tables(self, columns: list[str], n_rows: int) -> Iterator[Any]:
        """Tables of at most so many rows, file by file."""
        import pyarrow as pa
        import pyarrow.dataset as ds
        import pyarrow.parquet as pq

        for fragment in self._fragments:
            keys = ds.get_partition_keys(fragment.partition_expression)
            try:
                # Not by the scanner of the dataset, which holds whole row groups; nor with buffers
                # of them, which stay until the file is closed.
                how: dict[str, Any] = {"pre_buffer": False, "buffer_size": BUFFER_BYTES}
                with pq.ParquetFile(fragment.path, **how) as file:
                    inside = [name for name in columns if name in file.schema_arrow.names]
                    for batch in file.iter_batches(n_rows, columns=inside):
                        # Text of a damaged file may be none.
                        batch.validate(full=True)
                        yield self._completed(pa.table(batch), columns, keys)
            except (pa.ArrowException, OSError) as error:
                raise self._unreadable(error, fragment.path) from None

    def _completed(self, table: Any, columns: list[str], keys: dict[str, Any]) -> Any:
        """With the columns that the names of folders give, and in the types of the first file."""
        import pyarrow as pa

        schema = self._dataset.schema
        arrays = []
        for name in columns:
            kind = schema.field(name).type
            if name in table.column_names:
                column = table.column(name)
                arrays.append(column if column.type == kind else column.cast(kind))
            else:
                value = pa.scalar(keys.get(name), type=kind)
                arrays.append(pa.repeat(value, table.num_rows))
        return pa.table(dict(zip(columns, arrays, strict=True)))

    def _unreadable(self, error: Exception, path: str) -> SourceError:
        text = " ".join(str(error).split()).rstrip(".")
        return SourceError(
            f"{path!r} can't be read as Parquet: {text}. It is cut short or damaged."
        )


def dataset_tables(dataset: Any) -> Callable[[list[str], int], Iterator[Any]]:
    """Tables of a pyarrow dataset, in order, few at a time."""
    import pyarrow as pa

    def tables(columns: list[str], n_rows: int) -> Iterator[Any]:
        scanner = dataset.scanner(
            columns=columns, batch_size=n_rows, batch_readahead=1, fragment_readahead=1
        )
        for batch in scanner.to_batches():
            yield pa.table(batch)

    return tables


def made_tables(make: Callable[[], Any], name: str) -> Callable[[list[str], int], Iterator[Any]]:
    """Tables that a function of the user's makes, cut to size."""

    def tables(columns: list[str], n_rows: int) -> Iterator[Any]:
        for each in make():
            frame = nw.from_native(as_table(each), eager_only=True)
            missing = [column for column in columns if column not in frame.columns]
            if missing:
                raise SourceError(f"A table of {name} has no column {missing[0]!r}.")
            for start in range(0, len(frame), n_rows):
                yield frame[start : start + n_rows].select(columns).to_native()

    return tables


def as_table(each: Any) -> Any:
    """A record batch as a table; others as they are."""
    if type(each).__name__ == "RecordBatch" and type(each).__module__.startswith("pyarrow"):
        import pyarrow as pa

        return pa.table(each)
    return each
