"""Whether a table fits comfortably in memory."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

# Bytes at the peak for each byte of values, measured on a million rows of 60 numbers (2.7 GB for
# 0.49): the file, the table, its parts to learn from and to hold out, their rows of doubles, and
# standardised columns.
PEAK = 6
# Others need memory too, and a text column may become many columns of numbers.
SHARE = 0.5

# What a container may take: control groups of version 2, of version 1.
LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def fits_in_memory(n_bytes: int) -> bool:
    """Whether a table of so many bytes does; where nobody can tell, it does."""
    available = available_memory()
    return available is None or n_bytes * PEAK <= available * SHARE


def available_memory() -> int | None:
    """Bytes that may be taken, if the system tells."""
    found = [_physical(), *map(_limit, LIMITS)]
    return min((each for each in found if each is not None), default=None)


def _physical() -> int | None:
    """Memory that is free or can be freed; where only that is told, all that there is."""
    with suppress(OSError, ValueError, IndexError):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        kilobytes = next(line for line in lines if line.startswith("MemAvailable:")).split()[1]
        return 1024 * int(kilobytes)
    with suppress(AttributeError, OSError, ValueError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def _limit(path: str) -> int | None:
    """A number in a file; "max" is none."""
    with suppress(OSError, ValueError):
        return int(Path(path).read_text(encoding="ascii"))
    return None
