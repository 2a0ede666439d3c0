"""Some rows of a Parquet file, which can be read here or by a worker of a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safdr.sources.errors import SourceError

if TYPE_CHECKING:
    import pyarrow as pa

# Of each column, while a file is read (less takes no longer, and there may be 1000 of them).
BUFFER_BYTES = 2**15

# First bytes of a file.
MAGIC = b"PAR1"

# Values of a part, before they were compressed; one row group may be more.
PART_BYTES = 2**27


@dataclass(frozen=True, eq=False)
class ParquetPart:
    """A file of a table, or some of its row groups."""

    path: str
    # Values of the columns that the names of folders give.
    keys: dict[str, Any]
    # Of the table: types are those of the first file.
    schema: pa.Schema
    first_path: str
    row_groups: list[int] | None = None  # None is all

    def cut(self, groups: list[Any]) -> Iterator[tuple[ParquetPart, int]]:
        """Parts of few row groups, each with the number of its rows."""
        some: list[Any] = []
        for i, group in enumerate(groups):
            some.append(group)
            last = i == len(groups) - 1
            if last or sum(int(each.total_byte_size) for each in some) >= PART_BYTES:
                numbers = [each.id for each in some]
                yield replace(self, row_groups=numbers), sum(int(each.num_rows) for each in some)
                some = []

    def tables(self, columns: list[str], n_rows: int) -> Iterator[Any]:
        """Tables of at most so many rows."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            # Not by the scanner of a dataset, which holds whole row groups; nor with buffers of
            # them, which stay until the file is closed.
            how: dict[str, Any] = {"pre_buffer": False, "buffer_size": BUFFER_BYTES}
            with pq.ParquetFile(self.path, **how) as file:
                there = file.schema_arrow.names
                self._check_columns([name for name in columns if name not in self.keys], there)
                inside = [name for name in columns if name in there]
                every = range(file.num_row_groups)
                groups = list(every if self.row_groups is None else self.row_groups)
                for batch in file.iter_batches(n_rows, columns=inside, row_groups=groups):
                    # Text of a damaged file may be none.
                    batch.validate(full=True)
                    yield self._completed(pa.table(batch), columns)
        except (pa.ArrowException, OSError) as error:
            raise unreadable(error, self.path) from None
        finally:
            # Arrow keeps what it has had for later use.
            pa.default_memory_pool().release_unused()

    def _check_columns(self, wanted: list[str], there: list[str]) -> None:
        """Refuse a file that lacks a column: nobody has said what its rows have there."""
        for name in wanted:
            if name not in there:
                raise SourceError(
                    f"{self.path!r} has no column {name!r}, which the first file of the table has, "
                    f"{self.first_path!r}. Write it there too, or leave the column out."
                )

    def _completed(self, table: Any, columns: list[str]) -> Any:
        """With the columns that the names of folders give, and in the types of the first file."""
        import pyarrow as pa

        arrays, there = [], dict(zip(table.column_names, table.columns, strict=True))
        for name in columns:
            if name in there:
                arrays.append(self._cast(there[name], name))
            else:
                value = pa.scalar(self.keys[name], type=self.schema.field(name).type)
                arrays.append(pa.repeat(value, table.num_rows))
        return pa.table(dict(zip(columns, arrays, strict=True)))

    def _cast(self, column: Any, name: str) -> Any:
        """A column in the type of the first file."""
        import pyarrow as pa

        kind = self.schema.field(name).type
        try:
            return column if column.type == kind else column.cast(kind)
        except pa.ArrowException as error:
            raise SourceError(
                f"Column {name!r} is {column.type} in {self.path!r}, but {kind} in the first file, "
                f"{self.first_path!r}: {one_line(error)}. Write all files with the same types."
            ) from None


def unreadable(error: Exception, path: str) -> SourceError:
    """What is wrong with a file."""
    if isinstance(error, FileNotFoundError):
        return SourceError(
            f"{path!r} is not there where it is read: every worker of a cluster must find it at "
            "this path."
        )
    if isinstance(error, OSError) and error.errno:
        return SourceError(f"{path!r} can't be read: {one_line(error)}.")
    with Path(path).open("rb") as file:
        head = file.read(len(MAGIC))
    if not MAGIC.startswith(head):
        return SourceError(
            f"{path!r} is not Parquet: its first bytes are {head!r}. Convert it, or pass a "
            "function that returns an iterator of its tables."
        )
    return SourceError(
        f"{path!r} can't be read as Parquet: {one_line(error)}. It is cut short or damaged."
    )


def one_line(error: Exception) -> str:
    """What it says, without a full stop."""
    return " ".join(str(error).split()).rstrip(".")
