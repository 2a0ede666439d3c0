"""Workers end soon after the process that started them, which SIGKILL keeps from telling them."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

# How often a worker looks whether the process that started it is still there.
WATCH_SECONDS = 0.5


def end_with(owner: int) -> None:
    """Let this process end soon after the owner of its tasks, if that is who started it.

    Others (a scheduler on a cluster, say) look after the workers that they start.

    Parameters
    ----------
    owner : int
        Process id; that of this process changes nothing.
    """
    parent = multiprocessing.parent_process()
    if parent is not None and parent.pid == owner:
        # Which may have had a server fork it, that ends with its owner.
        _watch(os.getppid(), os.getpid())


def watched(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a task for workers, which end with this process.

    Parameters
    ----------
    function : callable
        The task.

    Returns
    -------
    callable
    """
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
