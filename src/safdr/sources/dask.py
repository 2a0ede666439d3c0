"""Dask: each pass goes to where the partitions are, and only sums come back."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import narwhals as nw

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
