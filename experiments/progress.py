"""How a run goes: a bar on a terminal, elsewhere a line for each cell."""

from __future__ import annotations

import sys
from datetime import timedelta
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from experiments.run import Outcome


class CellProgress:
    """Counts cells; the caller guesses the time left, since cells differ by a factor of 100."""

    def __init__(self, n_done: int, n_left: int) -> None:
        console = Console(stderr=True)
        columns = [
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
        ]
        self._on_terminal = console.is_terminal
        self._bar = Progress(*columns, console=console, disable=not self._on_terminal)
        self._n, self._total = n_done, n_done + n_left
        self._task = self._bar.add_task("cells", total=self._total, completed=n_done, left="")

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def report(self, outcome: Outcome, seconds_left: float | None) -> None:
        """Count a cell."""
        self._n += 1
        left = "" if seconds_left is None else f"{timedelta(seconds=round(seconds_left))} left"
        self._bar.update(self._task, advance=1, description=str(outcome.cell), left=left)
        if not self._on_terminal:
            state = "failed" if outcome.error else f"{outcome.seconds:.1f} s"
            parts = [f"{self._n}/{self._total}", str(outcome.cell), state, left]
            print(" | ".join(part for part in parts if part), file=sys.stderr, flush=True)
