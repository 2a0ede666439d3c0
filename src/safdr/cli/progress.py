"""Progress with the time left: a bar on a terminal, elsewhere nothing."""

from __future__ import annotations

from typing import Any, Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)


class SearchProgress:
    """A bar with the time left while a selector searches; on a terminal only."""

    # scikit-learn asks how far down to follow nested estimators: not at all.
    max_propagation_depth = 0

    def __init__(self, *, shown: bool) -> None:
        console = Console(stderr=True)
        columns = [
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[count]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[left]}"),
        ]
        disabled = not (shown and console.is_terminal)
        # What is left on the screen is the answer, not the bar.
        self._bar = Progress(*columns, console=console, disable=disabled, transient=True)
        self._task = self._bar.add_task("", total=None, count="", left="")
        self._n, self._total = 0, 0
        self._pass: Any = None
        self._n_passes, self._n_rows = 1, 0

    def __enter__(self) -> Self:
        """Show the bar."""
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Take the bar away; old versions of rich leave an empty line where none was."""
        if not self._bar.disable:
            self._bar.stop()

    def say(self, what: str) -> None:
        """Tell what is being done, where there is nothing to count."""
        # At once: it may be done before the bar is drawn again.
        self._bar.update(self._task, description=what, refresh=True)

    def passing(self, _: int, n_rows: int, n_in_all: int | None, seconds: float) -> None:
        """Tell how far a pass over the rows is, on a line of its own."""
        if self._pass is None:
            self._pass = self._bar.add_task("", total=None, count="", left="left")
        if n_rows <= self._n_rows:
            # Sources count their own passes; this counts those of all.
            self._n_passes += 1
            self._bar.reset(self._pass)
        self._n_rows = n_rows
        self._bar.update(
            self._pass,
            description=f"Pass {self._n_passes}",
            completed=n_rows,
            total=n_in_all,
            count=f"{n_rows / seconds if seconds > 0 else 0:,.0f} rows/s",
        )

    def follow(self, estimator: Any) -> Any:
        """Have the estimator tell how far it is, where scikit-learn can (1.9 and later)."""
        self.say("Searching")
        if hasattr(estimator, "set_callbacks"):
            estimator.set_callbacks(self)
        return estimator

    def setup(self, estimator: Any, context: Any) -> None:
        """Learn how many steps there are."""
        self._total = context.max_subtasks
        self._bar.update(self._task, total=self._total, left="left")

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Nothing to tell yet."""

    def on_fit_task_end(self, estimator: Any, context: Any) -> None:
        """Count a step; the root, which ends last, is none."""
        if context.parent is not None:
            self._n += 1
            done = f"{self._n}/{self._total}"
            what = f"Searching: {context.task_name}"
            last = self._n == self._total
            self._bar.update(
                self._task, completed=self._n, count=done, description=what, refresh=last
            )

    def teardown(self, estimator: Any, context: Any) -> None:
        """Leave the bar to the block that it was opened in."""
