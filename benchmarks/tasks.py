"""More classes and regression: seconds for all sizes, and who finds the smaller training loss."""

from __future__ import annotations

import argparse
import warnings
from dataclasses import replace
from functools import partial
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from benchmarks.folds import LONG_ENOUGH
from benchmarks.rows import keep
from benchmarks.task_peers import Losses, contestants
from benchmarks.task_problem import TASKS, TaskFold, load_task
from benchmarks.timing import Seconds, median_seconds, timed

ROUNDS = 3


def main(options: argparse.Namespace) -> None:
    """Each task: all contestants in turn, several rounds, medians."""
    for title in TASKS:
        fold = load_task(title)
        with warnings.catch_warnings():
            # RFE's models stop at scikit-learn's default number of steps, as in the protocol.
            warnings.simplefilter("ignore", ConvergenceWarning)
            seconds, losses = _take_turns(fold, options.rounds or ROUNDS)
        by = ("problem", "contestant")
        keep("tasks", [_row(fold, name, several) for name, several in seconds.items()], by=by)
        keep("tasks_found", _found(fold, losses), by=by, quiet=True)


def _take_turns(fold: TaskFold, rounds: int) -> tuple[dict[str, list[Seconds]], dict[str, Losses]]:
    """Seconds of each round, and losses by size, of each contestant."""
    peers = contestants(fold)
    small = replace(fold, X=fold.X[:, :20], sizes=fold.sizes[:2])
    for run in peers.values():
        run(small)
    seconds: dict[str, list[Seconds]] = {name: [] for name in peers}
    losses: dict[str, Losses] = {}
    for _ in range(rounds):
        for name, run in peers.items():
            if not any(taken.process > LONG_ENOUGH for taken in seconds[name]):
                losses[name], taken = timed(partial(run, fold))
                seconds[name].append(taken)
    return seconds, losses


def _row(fold: TaskFold, name: str, several: list[Seconds]) -> dict[str, Any]:
    seconds = median_seconds(several)
    return {
        "problem": fold.title,
        "rows": fold.X.shape[0],
        "features": fold.X.shape[1],
        "max_size": fold.sizes[-1],
        "contestant": name,
        "process_s": round(seconds.process, 4),
        "wall_s": round(seconds.wall, 4),
        "rounds": len(several),
    }


def _found(fold: TaskFold, losses: dict[str, Losses]) -> list[dict[str, Any]]:
    return [
        {"problem": fold.title, "contestant": name, "size": size, "loss": f"{loss:.9g}"}
        for name, by_size in losses.items()
        for size, loss in sorted(by_size.items())
    ]
