"""Dask: each task goes to where the rows are, and only sums come back."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from itertools import accumulate
from typing import Any

from safdr.sources.source import (
    Source,
    SourceError,
    Task,
    arrow_tables,
    changed,
    cut,
    select_fields,
)

# Sums that are merged at a time, in a tree that depends on the number of partitions alone.
FAN_IN = 8


class DaskSource(Source):
    """Rows of a Dask DataFrame, on the cluster of its user or on threads of this machine."""

    def __init__(self, frame: Any) -> None:
        if not isinstance(frame, import_module("dask.dataframe").DataFrame):
            raise SourceError(
                f"Only a Dask DataFrame can be read; got {type(frame).__name__}. Convert it, for "
                "example by .to_dataframe()."
            )
        schema = next(arrow_tables(frame._meta_nonempty)).schema.remove_metadata()
        super().__init__("the Dask DataFrame", schema, self._read_parts)
        self._frame = frame
        self._lengths: list[int] | None = None

    def _parts(self, columns: list[str]) -> list[Any]:
        parts: list[Any] = self._frame[columns].to_delayed()
        return parts

    def _read_parts(self, columns: list[str]) -> Iterator[Any]:
        return arrow_tables(part.compute() for part in self._parts(columns))

    def run(self, task: Task) -> Any:
        """Sum up every partition where it is, then the sums."""
        dask: Any = import_module("dask")
        schema = select_fields(self.schema, task.columns)
        if self._lengths is None:
            # A row is known by its position, which depends on the partitions before.
            parts = self._parts(task.columns[-1:])
            self._lengths = list(dask.compute(*(dask.delayed(len)(part) for part in parts)))
        starts = accumulate(self._lengths[:-1], initial=0)
        sent = dask.delayed(task, pure=False)  # once, for all partitions
        sums = [
            dask.delayed(_add_up)(sent, part, start, length, schema, self.name)
            for part, start, length in zip(
                self._parts(task.columns), starts, self._lengths, strict=True
            )
        ]
        while len(sums) > 1:
            packs = [sums[i : i + FAN_IN] for i in range(0, len(sums), FAN_IN)]
            sums = [dask.delayed(_merge)(sent, pack) for pack in packs]
        return dask.compute(*sums)[0]


def as_frame(X: Any, y: Any, weight: Any) -> tuple[Any, str, str | None]:
    """Return Dask arrays of rows, target and weights as a DataFrame, and names of the last two."""
    dask_frames: Any = import_module("dask.dataframe")
    X = X.rechunk({1: -1})
    frame = dask_frames.from_dask_array(X, columns=[f"x{j}" for j in range(X.shape[1])])
    for name, column in {"y": y, "sample_weight": weight}.items():
        if column is None:
            continue
        # Unknown lengths never agree.
        if not hasattr(column, "rechunk") or column.shape != X.shape[:1]:
            raise SourceError(
                f"With a Dask array of rows, {name} must be a Dask array of as many rows: call "
                "compute_chunk_sizes() on both if lengths are unknown."
            )
        column = column.rechunk((X.chunks[0],))
        frame = frame.assign(**{name: dask_frames.from_dask_array(column, columns=name)})
    return frame, "y", None if weight is None else "sample_weight"


def _add_up(task: Task, part: Any, start: int, length: int, schema: Any, name: str) -> Any:
    """Return the sum over one partition."""
    if len(part) != length:
        raise changed(f"A partition of {name}", f"{length} rows at first and {len(part)} now")
    total = task.empty()
    for table in cut(arrow_tables(part), schema, name):
        total = task.add(total, table, start)
        start += table.num_rows
    return total


def _merge(task: Task, sums: list[Any]) -> Any:
    """Return the sum of several, in their order."""
    total = sums[0]
    for part in sums[1:]:
        total = task.merge(total, part)
    return total
