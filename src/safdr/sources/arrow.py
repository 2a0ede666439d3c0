"""Datasets, and whatever else comes as Arrow tables or data frames."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import narwhals as nw

from safdr.sources.errors import SourceError


def schema_of(table: Any) -> dict[str, Any]:
    """Names and types of columns, as narwhals says them."""
    return dict(nw.from_native(table, eager_only=True).schema)


def dataset_tables(dataset: Any) -> Callable[[list[str], int], Iterator[Any]]:
    """Tables of a pyarrow dataset, in order, few at a time."""
    import pyarrow as pa

    from safdr.sources.parquet import dataset_files

    files = dataset_files(dataset)

    def tables(columns: list[str], n_rows: int) -> Iterator[Any]:
        if files is not None:
            for file in files:
                yield from file.tables(columns, n_rows)
            return
        # It holds row groups as a whole.
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
