"""Progress of a search: a bar on a terminal, elsewhere a line for each long step."""

from __future__ import annotations

import sys
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn


class SearchProgress:
    """A bar on standard error that follows scikit-learn's callbacks."""

    # scikit-learn follows no nested estimators.
    max_propagation_depth = 0

    def __init__(self, *, shown: bool) -> None:
        console = Console(stderr=True)
        self._lines = shown and not console.is_terminal
        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        self._bar = Progress(
            *columns,
            TimeRemainingColumn(),
            console=console,
            disable=not (shown and console.is_terminal),
            transient=True,
        )
        self._task = self._bar.add_task("Reading", total=None)
        self._n = 0

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        # Old versions of rich print an empty line when a disabled bar stops.
        if not self._bar.disable:
            self._bar.stop()

    def say(self, what: str) -> None:
        """Show what is being done."""
        if self._lines:
            print(f"{what} ...", file=sys.stderr, flush=True)
        self._bar.update(self._task, description=what, refresh=True)

    def follow(self, estimator: Any, rows: str) -> Any:
        """Show the progress of an estimator's fit (scikit-learn 1.9 and later)."""
        self.say(f"Searching in {rows}")
        if hasattr(estimator, "set_callbacks"):
            estimator.set_callbacks(self)
        return estimator

    def setup(self, estimator: Any, context: Any) -> None:
        """Begin a fit."""
        self._bar.update(self._task, total=context.max_subtasks)

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Begin a step."""

    def on_fit_task_end(self, estimator: Any, context: Any) -> None:
        """Count a step, but not the whole fit, which ends last."""
        if context.parent is not None:
            self._n += 1
            what = f"Searching: {context.task_name}"
            self._bar.update(self._task, completed=self._n, description=what)

    def teardown(self, estimator: Any, context: Any) -> None:
        """End a fit."""
