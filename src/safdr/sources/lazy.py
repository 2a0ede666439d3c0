"""Lazy frames of polars and relations of DuckDB, which run their query once a pass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import narwhals as nw

from safdr.sources.arrow import schema_of
from safdr.sources.errors import SourceError
from safdr.sources.local import LocalSource


def is_lazy(source: Any) -> bool:
    """Whether something is a query that has not run."""
    package, kind = type(source).__module__.partition(".")[0], type(source).__name__
    return (package, kind) in {
        ("polars", "LazyFrame"),
        ("duckdb", "DuckDBPyRelation"),
        ("_duckdb", "DuckDBPyRelation"),
    }


def lazy_source(source: Any, *, sample_rows: int) -> LocalSource:
    """The source of a query."""
    if type(source).__name__ == "LazyFrame":
        return _of_polars(source, sample_rows)
    return _of_duckdb(source, sample_rows)


def _of_polars(frame: Any, sample_rows: int) -> LocalSource:
    if not hasattr(frame, "collect_batches"):
        raise SourceError(
            "Reading a polars LazyFrame in passes needs polars 1.34 or later; or write it to a "
            "Parquet file with frame.sink_parquet(path), and pass the path."
        )

    def tables(columns: list[str], n_rows: int) -> Iterator[Any]:
        yield from frame.select(columns).collect_batches(chunk_size=n_rows, maintain_order=True)

    schema = schema_of(nw.from_native(frame).head(0).collect().to_native())
    return LocalSource("the lazy frame", schema, tables, sample_rows=sample_rows)


def _of_duckdb(relation: Any, sample_rows: int) -> LocalSource:
    def reader(query: Any, n_rows: int) -> Any:
        # Its name before DuckDB 1.4.
        read = getattr(query, "to_arrow_reader", None) or query.fetch_arrow_reader
        return read(n_rows)

    def tables(columns: list[str], n_rows: int) -> Iterator[Any]:
        import pyarrow as pa

        quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
        for batch in reader(relation.project(quoted), n_rows):
            yield pa.table(batch)

    empty = reader(relation.limit(0), 1).schema.empty_table()
    return LocalSource("the relation", schema_of(empty), tables, sample_rows=sample_rows)
