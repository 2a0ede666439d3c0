"""Dask: each pass goes to where the partitions are, and only sums come back."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import narwhals as nw
import numpy as np

from safdr.sources.errors import SourceError
from safdr.sources.local import rows_at_once

# Sums that are added at a time, in a tree whose shape depends on the number of partitions alone.
FAN_IN = 8


class DaskSource:
    """A Dask DataFrame, on the cluster that its user has, or on threads of this machine."""

    name = "the Dask DataFrame"

    def __init__(self, frame: Any, *, sample_rows: int) -> None:
        if not hasattr(frame, "to_delayed") or not hasattr(frame, "columns"):
            raise SourceError(
                f"Of Dask a DataFrame can be read in passes; got {type(frame).__name__}. A Bag "
                "becomes one by .to_dataframe()."
            )
        self._frame = frame
        self.schema: dict[str, Any] = dict(nw.from_native(frame).collect_schema())
        self.sample_rows = sample_rows
        self.tell: Any = None
        self._starts: list[int] | None = None

    def run(self, task: Any) -> Any:
        """Add up every partition where it is, then their sums."""
        dask: Any = import_module("dask")
        columns = list(dict.fromkeys(task.columns))
        parts = self._frame[columns].to_delayed()
        if self._starts is None:
            # Rows are told by their position, so it takes the lengths of the partitions before.
            first = self._frame[columns[-1:]].to_delayed()
            lengths = dask.compute(*[dask.delayed(len)(part) for part in first])
            self._starts = [sum(lengths[:i]) for i in range(len(lengths))]
        # Sent once, however many partitions there are.
        sent = dask.delayed(task, pure=False)
        sums = [
            dask.delayed(_add_up)(sent, part, start, len(columns))
            for part, start in zip(parts, self._starts, strict=True)
        ]
        while len(sums) > 1:
            sums = [
                dask.delayed(_merge)(sent, sums[i : i + FAN_IN])
                for i in range(0, len(sums), FAN_IN)
            ]
        (total,) = dask.compute(*sums)
        return total


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


def _add_up(task: Any, table: Any, start: int, n_columns: int) -> Any:
    """Sums over one partition."""
    sums, n_rows = task.empty(), rows_at_once(n_columns)
    for first in range(0, len(table), n_rows):
        sums = task.add(sums, table.iloc[first : first + n_rows], start + first)
    return sums


def _merge(task: Any, parts: list[Any]) -> Any:
    """Sums over several, in their order."""
    total = parts[0]
    for part in parts[1:]:
        total = task.merge(total, part)
    return total
