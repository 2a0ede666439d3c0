"""A source on this machine: one table after the other, the next one read meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any, Protocol

import narwhals as nw

from safdr.sources.errors import SourceError

# Rows at a time: so many numbers (32 MB), and no more rows than that.
NUMBERS_AT_ONCE = 4_000_000
MOST_ROWS = 65_536
LEAST_ROWS = 4096

# What is told while rows are read: passes done, rows read in this one, rows in all if known,
# seconds that this pass has taken.
Tell = Callable[[int, int, "int | None", float], None]


class Readable(Protocol):
    """Rows in tables: a file, some row groups of it, or what is made of them."""

    def tables(self, columns: list[str], n_rows: int) -> Iterator[Any]:
        """Tables of some columns, of at most so many rows each."""


class View(Protocol):
    """Rows made of the rows of a table, such as numbers of those that are complete."""

    @property
    def schema(self) -> dict[str, Any]:
        """Types of its columns."""

    @property
    def n_rows(self) -> int:
        """How many there are."""

    def of(self, part: Readable, start: int) -> Readable:
        """The view of a part of the table, whose first row stands at `start`."""


def rows_at_once(n_columns: int) -> int:
    """How many rows a pass works on at a time."""
    return max(LEAST_ROWS, min(MOST_ROWS, NUMBERS_AT_ONCE // n_columns))


class LocalSource:
    """Rows in tables that can be read any number of times, in the same order."""

    def __init__(
        self,
        name: str,
        schema: dict[str, Any],
        tables: Callable[[list[str], int], Iterator[Any]],
        *,
        sample_rows: int,
        check: Callable[[], None] = lambda: None,
        n_rows: int | None = None,
    ) -> None:
        self.name = name
        self.schema = schema
        self.sample_rows = sample_rows
        self.tell: Tell | None = None
        self._tables = tables
        # Raises where the source has changed.
        self._check = check
        # Known after a pass, if not before.
        self._n_rows = n_rows
        self._n_passes = 0

    def run(self, task: Any) -> Any:
        """Read all rows once, and return what they add up to."""
        self._check()
        sums, start = task.empty(), 0
        columns = list(dict.fromkeys(task.columns))
        n_rows = rows_at_once(len(columns))
        began = time.monotonic()
        with closing(_ahead(self._tables(columns, n_rows))) as tables:
            for table in tables:
                length = len(nw.from_native(table, eager_only=True))
                if length:
                    sums = task.add(sums, table, start)
                start += length
                if self.tell is not None:
                    self.tell(self._n_passes, start, self._n_rows, time.monotonic() - began)
        self._check()
        if self._n_rows not in (None, start):
            raise SourceError(
                f"{self.name} had {self._n_rows} rows when it was first read, and {start} now: it "
                "must not change."
            )
        self._n_rows, self._n_passes = start, self._n_passes + 1
        return sums


def _ahead(tables: Iterator[Any]) -> Generator[Any]:
    """The same tables, each read while the one before is worked on."""
    with ThreadPoolExecutor(1) as reader:
        coming = reader.submit(next, tables, None)
        while (table := coming.result()) is not None:
            coming = reader.submit(next, tables, None)
            yield table
