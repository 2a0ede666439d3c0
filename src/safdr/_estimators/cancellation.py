"""Tasks in threads stop soon after the one who waits for them gives up (Ctrl-C, an error)."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self
from uuid import uuid4

from safdr._engine.interrupt import asking
from safdr._estimators.orphans import end_with


class CancelledError(Exception):
    """Nobody waits for this task any more."""


@dataclass
class _Group:
    """Tasks of one owner that run in this process."""

    cancelled: bool = False
    n_running: int = 0
    changed: threading.Condition = field(default_factory=threading.Condition)


# By identity of the owner.
_GROUPS: dict[str, _Group] = {}


class Cancellation:
    """Owns tasks; leaving the block ends them and waits until they have ended.

    Without that, threads that still compute when Python exits would bring the process down.
    """

    def __init__(self) -> None:
        self._id = uuid4().hex
        self._process = os.getpid()

    def __enter__(self) -> Self:
        _GROUPS[self._id] = _Group()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        group = _GROUPS[self._id]
        with group.changed:
            group.cancelled = True
            group.changed.wait_for(lambda: group.n_running == 0)
        del _GROUPS[self._id]

    @contextmanager
    def task(self) -> Iterator[None]:
        """Run the body as one of the tasks."""
        end_with(self._process)
        group = _GROUPS.get(self._id, _Group())
        with group.changed:
            group.n_running += 1
        try:
            # Once it counts, the owner waits for it: before that, it could leave in between.
            self.check()
            with asking(self.check):
                yield
        finally:
            with group.changed:
                group.n_running -= 1
                group.changed.notify_all()

    def check(self) -> None:
        """Raise CancelledError if the owner has left.

        In another process tasks are not ours to stop: whoever started the process ends it, or it
        ends by itself when that one is gone.
        """
        group = _GROUPS.get(self._id)
        if group is not None and not group.cancelled:
            return
        if os.getpid() == self._process:
            raise CancelledError
