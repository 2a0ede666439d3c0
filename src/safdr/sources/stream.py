"""Which source something is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from numbers import Integral
from os import PathLike, fspath
from typing import Any

import narwhals as nw

from safdr.sources.arrow import as_table, dataset_tables, made_tables, schema_of
from safdr.sources.errors import SourceError
from safdr.sources.local import LocalSource
from safdr.sources.parquet import ParquetFiles

SAMPLE_ROWS = 200_000

WANTED = (
    "the path of a Parquet file or of a folder of them, a pyarrow dataset, a polars LazyFrame, a "
    "DuckDB relation, a Dask DataFrame, a data frame, or a function that returns an iterator of "
    "tables (it is called once a pass)"
)

MUST_RETURN = "The function must return an iterator of tables (data frames, Arrow), or a table"


class Stream:
    """Rows that are read in passes, with a say in which columns and how large a sample.

    Selectors take sources as they are: ``selector.fit("loans.parquet", "default")``. This is for
    saying more.

    Parameters
    ----------
    source : object
        The path of a Parquet file or of a folder of them (hive partitions too), a pyarrow dataset,
        a polars LazyFrame, a DuckDB relation, a Dask DataFrame, a data frame, or a function that
        returns an iterator of Arrow record batches or of data frames, and is called once a pass.

    columns : list of str, default=None
        Columns to read, target and weights among them; None is all.

    sample_rows : int, default=200_000
        Candidates are compared on no more than so many rows. Where there are fewer, all are read,
        and the answer is the one in memory. Of the classes with many rows the same number is
        sampled, and rows are weighted accordingly. Of more than 60 features the sample is smaller:
        12 million numbers.

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
        self,
        source: Any,
        *,
        columns: Sequence[str] | None = None,
        sample_rows: int = SAMPLE_ROWS,
    ) -> None:
        given: Any = sample_rows
        if isinstance(given, bool) or not isinstance(given, Integral) or int(given) < 1:
            raise ValueError(
                f"sample_rows must be a whole number from 1 on, such as {SAMPLE_ROWS}; got "
                f"{sample_rows!r}."
            )
        self.source = source
        self.columns = columns
        self.sample_rows = sample_rows

    def __repr__(self) -> str:
        return f"Stream({self.source!r}, sample_rows={self.sample_rows})"


def open_source(given: Any) -> Any:
    """A source that passes can be run on, out of what was given."""
    if hasattr(given, "run") and hasattr(given, "schema") and hasattr(given, "sample_rows"):
        return given  # one already
    stream = given if isinstance(given, Stream) else Stream(given)
    source = _opened(stream.source, int(stream.sample_rows))
    if stream.columns is not None:
        unknown = [name for name in stream.columns if name not in source.schema]
        if unknown:
            raise SourceError(f"{source.name} has no column {unknown[0]!r}.")
        source.schema = {name: source.schema[name] for name in stream.columns}
    return source


def _opened(source: Any, sample_rows: int) -> Any:
    how: dict[str, Any] = {"sample_rows": sample_rows}
    if isinstance(source, str | PathLike):
        return ParquetFiles(fspath(source)).source(**how)
    package = type(source).__module__.partition(".")[0]
    if package == "dask" or package == "dask_expr":
        from safdr.sources.dask import frame_source

        return frame_source(source, **how)
    if package == "pyarrow" and hasattr(source, "scanner"):
        schema = schema_of(source.schema.empty_table())
        return LocalSource("the dataset", schema, dataset_tables(source), **how)
    if hasattr(source, "read_next_batch"):
        raise SourceError(
            "A record batch reader can be read once only. Pass a function that makes one, such as "
            "lambda: dataset.scanner().to_reader()."
        )
    from safdr.sources.lazy import is_lazy, lazy_source

    if is_lazy(source):
        return lazy_source(source, **how)
    if callable(source):
        return _made(source, "what the function returns", **how)
    try:
        frame = nw.from_native(as_table(source), eager_only=True)
    except TypeError:
        raise SourceError(f"Rows must come as {WANTED}; got {type(source).__name__}.") from None
    native = frame.to_native()
    return _made(lambda: [native], "the data frame", **how)


def _made(make: Callable[[], Any], name: str, *, sample_rows: int) -> LocalSource:
    """A source of tables that a function makes; the first one says what columns there are."""
    made = _several(make())
    if made is iter(made) and make() is made:
        raise SourceError("The function must return a new iterator at each call: one is used up.")
    first = list(islice(iter(made), 1))
    if not first:
        raise SourceError(f"There is no table in {name}.")
    if not _is_table(first[0]):
        raise SourceError(f"{MUST_RETURN}; the first thing in it is {type(first[0]).__name__}.")
    schema = schema_of(as_table(first[0]))
    tables = made_tables(lambda: _several(make()), name)
    return LocalSource(name, schema, tables, sample_rows=sample_rows)


def _several(made: Any) -> Any:
    """Tables that a function has returned; a single one is all there is."""
    if _is_table(made):
        return [made]
    if not isinstance(made, Iterable):
        raise SourceError(f"{MUST_RETURN}; got {type(made).__name__}.")
    return made


def _is_table(made: Any) -> bool:
    return isinstance(
        nw.from_native(as_table(made), eager_only=True, pass_through=True), nw.DataFrame
    )
