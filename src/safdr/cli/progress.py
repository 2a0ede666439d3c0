"""Progress with the time left: a bar on a terminal, a line for each cell elsewhere."""

from __future__ import annotations

import sys
from datetime import timedelta
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from safdr.paper.run import Outcome


class CellProgress:
    """Counts cells; the time left is the caller's estimate, since cells differ by a factor of 100.

    Parameters
    ----------
    n_done, n_left : int
        Cells that were there at the start, and cells to do.
    """

    def __init__(self, n_done: int, n_left: int) -> None:
        self._console = Console(stderr=True)
        columns = [
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
        ]
        on_terminal = self._console.is_terminal
        self._bar = Progress(*columns, console=self._console, disable=not on_terminal)
        self._n, self._total = n_done, n_done + n_left
        self._task = self._bar.add_task("cells", total=self._total, completed=n_done, left="")

    def __enter__(self) -> Self:
        """Show the bar."""
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the bar as it is."""
        self._bar.stop()

    def report(self, outcome: Outcome, seconds_left: float | None) -> None:
        """Count a cell.

        Parameters
        ----------
        outcome : Outcome
            What was done.
        seconds_left : float or None
            Estimate for the rest.
        """
        self._n += 1
        left = "" if seconds_left is None else f"{timedelta(seconds=round(seconds_left))} left"
        self._bar.update(self._task, advance=1, description=str(outcome.cell), left=left)
        if not self._console.is_terminal:
            state = "failed" if outcome.error else f"{outcome.seconds:.1f} s"
            parts = [f"{self._n}/{self._total}", str(outcome.cell), state, left]
            print(" | ".join(part for part in parts if part), file=sys.stderr, flush=True)
