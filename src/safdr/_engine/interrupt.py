"""Cooperative interruption of long work, in Python as in the compiled core."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# Holds, for each thread, the function that raises when the caller no longer waits.
_here = threading.local()


def look_up() -> None:
    """Raise if the caller of the work in this thread no longer waits."""
    ask: Callable[[], None] | None = getattr(_here, "ask", None)
    if ask is not None:
        ask()


@contextmanager
def asking(ask: Callable[[], None]) -> Iterator[None]:
    """Make `look_up` in this thread call `ask`, which may raise; nested calls call both."""
    before = getattr(_here, "ask", None)

    def both() -> None:
        if before is not None:
            before()
        ask()

    _here.ask = both
    try:
        yield
    finally:
        _here.ask = before
