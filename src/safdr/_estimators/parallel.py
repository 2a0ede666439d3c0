"""Tasks in threads and processes that end soon after an interrupt."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from joblib import effective_n_jobs
from sklearn.utils.parallel import Parallel, delayed

from safdr._engine.interrupt import asking


class CancelledError(Exception):
    """Raised in a task whose caller has left."""


class _Group:
    """Tasks in threads. Leaving the block ends them, and waits until they have ended.

    Threads that still compute when Python exits would crash the process.
    """

    def __init__(self) -> None:
        self._cancelled, self._n_running = False, 0
        self._changed = threading.Condition()

    def __reduce__(self) -> Any:
        return _Group, ()  # another process is ended by its pool

    def __enter__(self) -> _Group:
        return self

    def __exit__(self, *_: Any) -> None:
        with self._changed:
            self._cancelled = True
            self._changed.wait_for(lambda: self._n_running == 0)

    def run(self, function: Callable[..., Any], *args: Any) -> Any:
        """Run a function that asks now and then if it may go on."""
        with self._changed:
            self._n_running += 1
        try:
            self._check()
            with asking(self._check):
                return function(*args)
        finally:
            with self._changed:
                self._n_running -= 1
                self._changed.notify_all()

    def _check(self) -> None:
        if self._cancelled:
            raise CancelledError


def run_tasks(
    function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], n_jobs: Any, *, threads: bool
) -> Iterator[Any]:
    """Call a function with each tuple of arguments; yield the results in order."""
    if n_workers(n_jobs) == 1:
        yield from (function(*task) for task in tasks)
        return
    options: dict[str, Any] = {"n_jobs": n_jobs, "prefer": "processes"}
    if threads:
        options = {"n_jobs": n_jobs, "prefer": "threads", "batch_size": 1}  # none idle at the end
    try:
        parallel = Parallel(**options, return_as="generator")
    except ValueError:  # backends that return everything at the end
        parallel = Parallel(**options)
    if not threads:
        yield from parallel(delayed(function)(*task) for task in tasks)
        return
    with _Group() as group:
        yield from parallel(delayed(group.run)(function, *task) for task in tasks)


def uses_threads(selector: Any) -> bool:
    """Return True if a search runs no code of users: the core releases the GIL."""
    return selector.estimator is None and not callable(selector.criterion)


def n_workers(n_jobs: Any) -> int:
    """Return the number of workers that `n_jobs` stands for."""
    return int(effective_n_jobs(None if n_jobs is None else int(n_jobs)))
