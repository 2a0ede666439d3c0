"""Open rows of any kind as a source."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from numbers import Integral
from os import PathLike, fspath
from typing import Any

from safdr.sources.parquet import dataset_source, parquet_source
from safdr.sources.source import (
    Source,
    SourceError,
    arrow_tables,
    batch_rows,
    require,
    select_fields,
)

SAMPLE_ROWS = 200_000

KINDS = (
    "the path of a Parquet file or folder, a pyarrow dataset, a polars LazyFrame, a DuckDB "
    "relation, a Dask DataFrame, a data frame, or a function that returns an iterator of tables"
)


class Stream:
    """Choose the columns of a source, or the size of its sample.

    Selectors take sources as they are: ``selector.fit("loans.parquet", "default")``. A `Stream`
    says more about one.

    Parameters
    ----------
    source : object
        The path of a Parquet file or of a folder of them (hive partitions too), a pyarrow dataset,
        a polars LazyFrame, a DuckDB relation, a Dask DataFrame, a data frame, or a function. The
        function is called for each pass over the rows. It returns a table or an iterator of tables:
        pandas, or any object with ``__arrow_c_stream__``.

    columns : list of str, default=None
        Columns to read, with target and weights. None reads all.

    sample_rows : int, default=200_000
        Number of rows in the sample that models and scores use. A source with at most as many rows
        is read whole, with the same result as in memory. Large classes have equal shares of the
        sample, and weights restore the shares of the classes. A sample takes at most 4 GB: beyond
        2,500 features, it has fewer rows than 200,000.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from sklearn.datasets import load_breast_cancer
    >>> from safdr import AnnealingSelector, Stream
    >>> table = pa.Table.from_pandas(load_breast_cancer(as_frame=True).frame)
    >>> stream = Stream(lambda: table.to_batches(max_chunksize=100), sample_rows=400)
    >>> AnnealingSelector(2, random_state=0).fit(stream, "target").get_feature_names_out().tolist()
    ['worst radius', 'worst concave points']
    """

    def __init__(
        self, source: Any, columns: Sequence[str] | None = None, sample_rows: int = SAMPLE_ROWS
    ) -> None:
        given: Any = sample_rows
        if isinstance(given, bool) or not isinstance(given, Integral) or given < 1:
            raise ValueError(f"sample_rows must be a positive integer; got {sample_rows!r}.")
        self.source = source
        self.columns = columns
        self.sample_rows = sample_rows

    def __repr__(self) -> str:
        return f"Stream({self.source!r}, sample_rows={self.sample_rows})"


def open_source(given: Any) -> Source:
    """Return the source of a `Stream`, or of rows of any kind."""
    require("pyarrow", "Reading rows in chunks")
    stream = given if isinstance(given, Stream) else Stream(given)
    source = _open(stream.source)
    source.sample_rows = int(stream.sample_rows)
    if stream.columns is not None:
        unknown = [name for name in stream.columns if name not in source.schema.names]
        if unknown:
            raise SourceError(f"{source.name} has no column {unknown[0]!r}.")
        source.schema = select_fields(source.schema, list(stream.columns))
    return source


def _open(rows: Any) -> Source:
    package, kind = type(rows).__module__.partition(".")[0], type(rows).__name__
    if isinstance(rows, str | PathLike):
        return parquet_source(fspath(rows))
    if package in {"dask", "dask_expr"}:
        from safdr.sources.dask import DaskSource

        return DaskSource(rows)
    if package == "pyarrow" and hasattr(rows, "scanner"):
        return dataset_source(rows)
    if kind == "RecordBatchReader":
        raise SourceError("A record batch reader can be read once only. Pass a function of it.")
    if kind == "LazyFrame":
        return _polars_source(rows)
    if kind == "DuckDBPyRelation":
        return _duckdb_source(rows)
    if callable(rows):
        return _function_source(rows, "the tables of the function")
    if package == "pandas" or hasattr(rows, "__arrow_c_stream__"):
        return _function_source(lambda: rows, "the data frame")
    raise SourceError(f"Rows must be {KINDS}; got {kind}.")


def _polars_source(frame: Any) -> Source:
    def read(columns: list[str]) -> Iterator[Any]:
        size = batch_rows(len(columns))
        batches = frame.select(columns).collect_batches(chunk_size=size, maintain_order=True)
        return arrow_tables(batches)

    return Source("the lazy frame", frame.head(0).collect().to_arrow().schema, read)


def _duckdb_source(relation: Any) -> Source:
    def reader(query: Any) -> Any:
        # Its name before DuckDB 1.4.
        return getattr(query, "to_arrow_reader", None) or query.fetch_arrow_reader

    def read(columns: list[str]) -> Iterator[Any]:
        quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
        query, n_rows = relation.project(quoted), batch_rows(len(columns))
        return arrow_tables(reader(query)(n_rows))

    return Source("the relation", reader(relation.limit(0))(1).schema, read)


def _function_source(make: Callable[[], Any], name: str) -> Source:
    """Open what a function returns; its first table has the schema."""
    made = make()
    if isinstance(made, Iterator) and make() is made:
        raise SourceError("The function must return a new iterator at each call.")
    first = next(arrow_tables(made), None)
    if first is None:
        raise SourceError(f"There is no table in {name}.")
    return Source(name, first.schema.remove_metadata(), lambda _: arrow_tables(make()))
