"""Tasks in threads and processes, which end soon after the one who waits for them gives up."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache, partial
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

import numpy as np
from joblib import Parallel, delayed

from safdr._engine.interrupt import asking

# How often a worker looks whether the process that started it is still there.
WATCH_SECONDS = 0.5

# Seconds of work from which on it pays to send it to other processes.
WORTH_WORKERS = 0.2


# ---- Threads: Ctrl-C, or an error -----------------------------------------------------------


class CancelledError(Exception):
    """Nobody waits for this task any more."""


@dataclass
class _Tasks:
    """Tasks of one owner that run in this process."""

    cancelled: bool = False
    n_running: int = 0
    changed: threading.Condition = field(default_factory=threading.Condition)


# By identity of the owner.
_TASKS: dict[str, _Tasks] = {}


class Cancellation:
    """Owns tasks; leaving the block ends them and waits until they have ended.

    Without that, threads that still compute when Python exits would bring the process down.
    """

    def __init__(self) -> None:
        self._id = uuid4().hex
        self._process = os.getpid()

    def __enter__(self) -> Self:
        _TASKS[self._id] = _Tasks()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        tasks = _TASKS[self._id]
        with tasks.changed:
            tasks.cancelled = True
            tasks.changed.wait_for(lambda: tasks.n_running == 0)
        del _TASKS[self._id]

    @contextmanager
    def task(self) -> Iterator[None]:
        """Run the body as one of the tasks."""
        end_with(self._process)
        tasks = _TASKS.get(self._id, _Tasks())
        with tasks.changed:
            tasks.n_running += 1
        try:
            # Once it counts, the owner waits for it: before that, it could leave in between.
            self.check()
            with asking(self.check):
                yield
        finally:
            with tasks.changed:
                tasks.n_running -= 1
                tasks.changed.notify_all()

    def check(self) -> None:
        """Raise CancelledError if the owner has left.

        In another process tasks are not ours to stop: whoever started the process ends it, or it
        ends by itself when that one is gone.
        """
        tasks = _TASKS.get(self._id)
        if tasks is not None and not tasks.cancelled:
            return
        if os.getpid() == self._process:
            raise CancelledError


class Shared:
    """What several tasks use: made for the first of them, and dropped after the last.

    To another process goes what was made; here it is there for as long as tasks refer to it.
    """

    def __init__(self, make: Callable[[], Any], n_uses: int) -> None:
        self._make = make
        self._n_left = n_uses
        self._made: Any = None
        self._lock = threading.Lock()

    @contextmanager
    def use(self) -> Iterator[Any]:
        """It, for one of the tasks."""
        try:
            yield self.made()
        finally:
            with self._lock:
                self._n_left -= 1
                if self._n_left == 0:
                    self._made = None

    def made(self) -> Any:
        """It, made if need be: those who come meanwhile wait."""
        with self._lock:
            if self._made is None:
                self._made = self._make()
            return self._made

    def __getstate__(self) -> dict[str, Any]:
        return {"_made": self.made(), "_n_left": self._n_left}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.Lock())


# ---- Processes: SIGKILL keeps their owner from telling them ---------------------------------


# The process that those get for a parent whose own has ended.
INIT = 1


def end_with(owner: int) -> None:
    """Let this process end soon after the owner of its tasks, if that is who started it.

    Others (a scheduler on a cluster, say) look after the workers that they start.
    """
    parent = multiprocessing.parent_process()
    if parent is not None and parent.pid == owner:
        if os.getppid() == INIT != owner:
            os._exit(1)  # it ended before anyone watched
        # Which may have had a server fork it, that ends with its owner.
        _watch(os.getppid(), os.getpid())


def watched(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a task for workers, which end with this process."""
    return partial(_run_watched, os.getpid(), function)


def _run_watched(owner: int, function: Callable[..., Any], *args: Any) -> Any:
    end_with(owner)
    return function(*args)


@lru_cache
def _watch(parent: int, process: int) -> None:
    """Watch once in each process: one that is forked has the cache of its parent."""

    def watch() -> None:
        # A process whose parent has ended gets another one.
        while os.getppid() == parent:
            time.sleep(WATCH_SECONDS)
        # At once: files are written atomically, and there is nobody left to answer to.
        os._exit(1)

    threading.Thread(target=watch, name=f"safdr-watch-{process}", daemon=True).start()


class Workers:
    """Evaluates subsets, several at a time through joblib where that pays."""

    def __init__(self, n_jobs: int) -> None:
        self.n_jobs = n_jobs
        self._seconds = 0.0  # that one evaluation took, at the last look

    def __call__(self, objective: Any, tasks: Sequence[Any]) -> list[float]:
        """Values of the tasks, in their order."""
        first = [self._timed(objective, tasks[0])] if tasks else []
        rest = tasks[1:]
        if self.n_jobs == 1 or self._seconds * len(rest) < WORTH_WORKERS:
            return first + _values(objective, rest)
        # A few tasks at a time: the objective, with its rows, is sent along with each portion.
        portions = [rest[i :: self.n_jobs] for i in range(min(self.n_jobs, len(rest)))]
        run = Parallel(n_jobs=self.n_jobs)
        parts = run(delayed(watched(_values))(objective, portion) for portion in portions)
        values = np.empty(len(rest))
        for i, part in enumerate(parts):
            values[i :: self.n_jobs] = part
        return first + list(values.tolist())

    def _timed(self, objective: Any, task: Any) -> float:
        started = time.perf_counter()
        value = float(objective(*task))
        self._seconds = time.perf_counter() - started
        return value


def _values(objective: Any, tasks: Sequence[Any]) -> list[float]:
    return [float(objective(*task)) for task in tasks]
