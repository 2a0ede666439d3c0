"""Dask: each pass goes to where the rows are, and only sums come back."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import accumulate
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

from safdr.sources.errors import SourceError
from safdr.sources.local import Tell, View, rows_at_once
from safdr.sources.parquet import ParquetFiles

# Sums that are added at a time, in a tree whose shape depends on the number of parts alone.
FAN_IN = 8


class DaskSource:
    """Rows in parts, read on the cluster that its user has, or on threads of this machine."""

    def __init__(
        self,
        name: str,
        schema: dict[str, Any],
        parts: Callable[[list[str]], list[Any]],
        *,
        sample_rows: int,
        check: Callable[[], None] = lambda: None,
        lengths: list[int] | None = None,
    ) -> None:
        self.name = name
        self.schema = schema
        self.sample_rows = sample_rows
        self.tell: Tell | None = None
        # Partitions with some columns, or what reads them where it is sent.
        self._parts = parts
        self._check = check
        self._lengths = lengths
        self._n_passes = 0

    def run(self, task: Any) -> Any:
        """Add up every part where it is, then their sums."""
        dask: Any = import_module("dask")
        self._check()
        began, columns = time.monotonic(), list(dict.fromkeys(task.columns))
        if self._lengths is None:
            # Rows are told by their position, so it takes the lengths of the parts before.
            one = columns[-1:]
            lengths = [dask.delayed(_length)(part, one) for part in self._parts(one)]
            self._lengths = list(dask.compute(*lengths))
        # Sent once, however many parts there are.
        sent = dask.delayed(task, pure=False)
        starts = accumulate(self._lengths[:-1], initial=0)
        sums = [
            dask.delayed(_add_up)(sent, part, start, columns)
            for part, start in zip(self._parts(columns), starts, strict=True)
        ]
        while len(sums) > 1:
            sums = [
                dask.delayed(_merge)(sent, sums[i : i + FAN_IN])
                for i in range(0, len(sums), FAN_IN)
            ]
        (total,) = dask.compute(*sums)
        self._check()
        if self.tell is not None:
            n_rows = sum(self._lengths)
            self.tell(self._n_passes, n_rows, n_rows, time.monotonic() - began)
        self._n_passes += 1
        return total


class ParquetOnDask(ParquetFiles):
    """Parquet files that workers of a cluster read, each its part."""

    def __init__(self, path: str | Path) -> None:
        # Workers may have been started elsewhere.
        super().__init__(Path(path).absolute())

    def source(self, *, sample_rows: int, view: View | None = None) -> Any:
        """The source of all columns, or of what a view makes of them."""
        parts, lengths = (list(each) for each in zip(*self.parts(), strict=True))
        how: dict[str, Any] = {"sample_rows": sample_rows, "check": self.check}
        if view is None:
            return DaskSource(self.name, self.schema, lambda _: parts, lengths=lengths, **how)
        starts = accumulate(lengths[:-1], initial=0)
        views = [view.of(part, start) for part, start in zip(parts, starts, strict=True)]
        # How many rows it has of each part is counted first.
        return DaskSource(self.name, view.schema, lambda _: views, **how)


def frame_source(frame: Any, *, sample_rows: int) -> DaskSource:
    """The source of a Dask DataFrame."""
    if not hasattr(frame, "to_delayed") or not hasattr(frame, "columns"):
        raise SourceError(
            f"Of Dask a DataFrame can be read in passes; got {type(frame).__name__}. A Bag "
            "becomes one by .to_dataframe()."
        )
    schema = dict(nw.from_native(frame).collect_schema())

    def parts(columns: list[str]) -> list[Any]:
        several: list[Any] = frame[columns].to_delayed()
        return several

    return DaskSource("the Dask DataFrame", schema, parts, sample_rows=sample_rows)


def as_frame(X: Any, y: Any) -> tuple[Any, str]:
    """Dask arrays of rows and of their target as a DataFrame, and the name of the target in it."""
    dask_frames: Any = import_module("dask.dataframe")
    if not hasattr(y, "to_delayed") or y.ndim != 1:
        raise SourceError("With a Dask array of rows, y must be a Dask array of one dimension.")
    if np.isnan(X.shape[0]) or np.isnan(y.shape[0]) or X.shape[0] != y.shape[0]:
        raise SourceError(
            f"X has {X.shape[0]} rows and y {y.shape[0]}: both must be known, and the same. "
            "compute_chunk_sizes() finds them out."
        )
    # One block of rows, with all columns, is a partition.
    X = X.rechunk({0: X.chunks[0], 1: -1})
    names = [f"x{j}" for j in range(X.shape[1])]
    frame = dask_frames.from_dask_array(X, columns=names)
    target = dask_frames.from_dask_array(y.rechunk((X.chunks[0],)), columns="y")
    return frame.assign(y=target), "y"


def _tables(part: Any, columns: list[str]) -> Iterator[Any]:
    """A part, a few rows at a time."""
    n_rows = rows_at_once(len(columns))
    if hasattr(part, "tables"):
        yield from part.tables(columns, n_rows)
    else:
        for first in range(0, len(part), n_rows):
            yield part.iloc[first : first + n_rows]


def _length(part: Any, columns: list[str]) -> int:
    """Rows of a part."""
    return sum(len(table) for table in _tables(part, columns))


def _add_up(task: Any, part: Any, start: int, columns: list[str]) -> Any:
    """Sums over one part."""
    sums = task.empty()
    for table in _tables(part, columns):
        if len(table):
            sums = task.add(sums, table, start)
        start += len(table)
    return sums


def _merge(task: Any, parts: list[Any]) -> Any:
    """Sums over several, in their order."""
    total = parts[0]
    for part in parts[1:]:
        total = task.merge(total, part)
    return total
