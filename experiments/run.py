"""Which cells are missing, and doing them: each row goes to disk when its cell is done."""

from __future__ import annotations

import os
import threading
import time
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from statistics import fmean
from typing import Any

from experiments.datasets import get_dataset, load
from experiments.environment import environment
from experiments.errors import CorruptRowError, WorkerError
from experiments.methods import get_method
from experiments.protocol import run_cell, settings_of
from experiments.store import Cell, RowStore, check_same_settings

# How often a worker looks whether the run that started it is still there.
WATCH_SECONDS = 0.5


@dataclass(frozen=True)
class Experiment:
    """What cells are made of: data sets, methods, and what is done with one and the other."""

    # Values or, if each cell draws its own, what they are drawn by.
    load: Callable[[str, Path | None], Any]
    is_made_up: Callable[[str], bool]
    get_method: Callable[[str], Any]
    # Of the data, the method, the repeat and the protocol.
    run_cell: Callable[[Any, Any, int, Any], dict[str, Any]]


def _is_made_up(name: str) -> bool:
    return get_dataset(name).file is None


PAPER = Experiment(load, _is_made_up, get_method, run_cell)


@dataclass(frozen=True)
class Task:
    """A cell that is to be done, with all that a worker needs for it."""

    experiment: Experiment
    cell: Cell
    settings: dict[str, Any]
    protocol: Any
    data_dir: Path | None
    out: Path
    parent: int = field(default_factory=os.getpid)


@dataclass(frozen=True)
class Outcome:
    """How a cell went: its seconds, and the error if there was one."""

    cell: Cell
    seconds: float
    error: str | None = None


@dataclass
class Plan:
    """What is there, and what is to be done."""

    tasks: list[Task] = field(default_factory=list)
    n_done: int = 0
    seconds_of_done: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def make_plan(
    out: Path,
    *,
    data: Sequence[str],
    methods: Sequence[str],
    repeats: int,
    first: int = 0,
    protocol: Any,
    data_dir: Path | None = None,
    experiment: Experiment = PAPER,
) -> Plan:
    """Look at the rows that are there; name the cells that are missing.

    Data set by data set, then repeat by repeat, so that what is there can be compared early.
    """
    store = RowStore(out)
    plan = Plan()
    chosen = {method.name: method for method in map(experiment.get_method, methods)}
    for name in data:
        checksum = _checksum(experiment, name, data_dir)
        for repeat in range(first, first + repeats):
            for method in chosen.values():
                settings = settings_of(checksum, method, protocol)
                cell = Cell(name, method.name, repeat)
                _take_in(Task(experiment, cell, settings, protocol, data_dir, out), store, plan)
    return plan


def _checksum(experiment: Experiment, name: str, data_dir: Path | None) -> str:
    """Of the values; of the recipe where they are made up, since BLAS decides their last digits."""
    if experiment.is_made_up(name):
        return f"generated as {name}, version 1"
    return str(_load(experiment, name, data_dir).sha256())


def _take_in(task: Task, store: RowStore, plan: Plan) -> None:
    """Count the cell as done, or as one to do."""
    row = None
    try:
        row = store.read(task.cell)
    except CorruptRowError as error:
        plan.problems.append(str(error))
    if row is None:
        plan.tasks.append(task)
        return
    check_same_settings(store.path(task.cell), row, task.settings)
    plan.n_done += 1
    _note(plan.seconds_of_done, task.cell, row["seconds"])


def _note(seconds: dict[tuple[str, str], list[float]], cell: Cell, value: float) -> None:
    seconds.setdefault((cell.data, cell.method), []).append(value)


def run_plan(plan: Plan, jobs: int = 1) -> Iterator[Outcome]:
    """Do the missing cells, several at a time; each writes its own row."""
    from joblib import Parallel, delayed

    for folder in {task.out for task in plan.tasks}:
        RowStore(folder).clean_up()
    parallel = Parallel(jobs, "loky", return_as="generator_unordered", batch_size=1)
    outcomes: Iterable[Outcome] = parallel(delayed(_do)(task) for task in plan.tasks)
    try:
        yield from outcomes
    except BrokenProcessPool:
        raise WorkerError(
            "A worker process was killed, most likely because the memory was full. Finished cells "
            "are kept: give the same command again, with fewer --jobs."
        ) from None


@lru_cache(maxsize=1)
def _end_with(parent: int) -> None:
    """Let a worker end soon after the run that started it: one that is killed can't tell it to."""

    def watch() -> None:
        # A process whose parent has ended gets another one.
        while os.getppid() == parent:
            time.sleep(WATCH_SECONDS)
        # At once: rows are written whole, and there is nobody left to answer to.
        os._exit(1)

    if os.getpid() != parent:
        threading.Thread(target=watch, daemon=True).start()


def _do(task: Task) -> Outcome:
    """One cell; an error in it must not end the others."""
    _end_with(task.parent)
    start = time.perf_counter()
    try:
        data = _load(task.experiment, task.cell.data, task.data_dir)
        method = task.experiment.get_method(task.cell.method)
        content = task.experiment.run_cell(data, method, task.cell.repeat, task.protocol)
        seconds = round(time.perf_counter() - start, 3)
        about = {"seconds": seconds, "environment": environment()}
        RowStore(task.out).write(task.cell, task.settings, {**content, **about})
    except Exception:
        return Outcome(task.cell, time.perf_counter() - start, traceback.format_exc())
    return Outcome(task.cell, seconds)


@lru_cache(maxsize=1)
def _load(experiment: Experiment, name: str, data_dir: Path | None) -> Any:
    """The data of the cell at hand; cells come data set by data set."""
    return experiment.load(name, data_dir)


def seconds_left(
    tasks: Iterable[Cell], known: dict[tuple[str, str], list[float]], jobs: int
) -> float | None:
    """Estimate of the time left, from cells of the same data and method, else of the same data."""
    if not known:
        return None
    by_data: dict[str, list[float]] = defaultdict(list)
    for (data, _), seconds in known.items():
        by_data[data].extend(seconds)
    everything = fmean(value for seconds in known.values() for value in seconds)

    def guess(cell: Cell) -> float:
        similar = known.get((cell.data, cell.method)) or by_data.get(cell.data)
        return fmean(similar) if similar else everything

    return sum(map(guess, tasks)) / jobs


Report = Callable[[Outcome, float | None], None]


def run_all(plan: Plan, jobs: int, report: Report) -> list[Outcome]:
    """Do the missing cells, report each with the seconds left, and return those that failed."""
    left = {task.cell for task in plan.tasks}
    known = plan.seconds_of_done
    failed = []
    for outcome in run_plan(plan, jobs):
        left.discard(outcome.cell)
        if outcome.error is None:
            _note(known, outcome.cell, outcome.seconds)
        else:
            failed.append(outcome)
        report(outcome, seconds_left(left, known, jobs))
    return failed
