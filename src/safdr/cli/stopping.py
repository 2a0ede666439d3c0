"""SIGTERM ends the program as Ctrl-C does: files that were begun are removed, workers end."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

# As shells tell it: 128 and the number of the signal.
TERMINATED = 143


class TerminatedError(BaseException):
    """Somebody asked the program to end; no handler of ordinary errors may keep it from that."""


@contextmanager
def stop_on_sigterm() -> Iterator[None]:
    """Leave the block, and the program, when SIGTERM comes.

    Whoever runs the command within a program of their own, in another thread or with a handler of
    SIGTERM, keeps that.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, _stop)
    try:
        yield
    except TerminatedError:
        print("safdr: Stopped. No file is half written.", file=sys.stderr)
        sys.exit(TERMINATED)
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _stop(*_: object) -> None:
    """Stop once: a second signal must not disturb what cleans up after the first."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise TerminatedError
