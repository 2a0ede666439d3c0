"""How much memory there is, and errors that tell before it is short."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

# That of all rows, and those of at least two batches.
N_MATRICES = 3

# What a container may take: control groups of version 2, of version 1.
LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def check_memory(
    n_bytes: float, what: str, hint: str, available: float | None = None, where: str = "of memory"
) -> None:
    """Raise an error that says how much is needed, for what, and what to do, before it is taken."""
    available = available_memory() if available is None else available
    if available is not None and n_bytes > available:
        raise MemoryError(
            f"{what} would take {told_bytes(n_bytes)} {where}, and {told_bytes(available)} are "
            f"available. {hint}"
        )


def fits_products(n_columns: int) -> bool:
    """Return True if the products of all columns with each other fit into memory."""
    available = available_memory()
    return available is None or 8.0 * n_columns**2 * N_MATRICES <= available


def check_products(n_columns: int) -> None:
    """The same for the products of very many columns with each other."""
    check_memory(
        8.0 * n_columns**2 * N_MATRICES,
        f"The products of {n_columns:,} columns with each other",
        "A search among all features (screen=None), proofs and near-optimal subsets need them. "
        "Screen the features: annealing=Annealing(screen=2000).",
    )


def check_rivals(n_columns: int) -> None:
    """The same for which of very many columns exclude each other."""
    check_memory(
        2.0 * n_columns**2,
        f"Which of {n_columns:,} columns exclude each other (at_most_one_of)",
        "Leave columns out, for example those that tell least alone; or keep the rivals of a "
        "column that you want out by never_include.",
    )


def told_bytes(n_bytes: float) -> str:
    """Bytes in words."""
    return f"{n_bytes / 1e9:.1f} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:.0f} MB"


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
