"""Available memory, and errors before a computation exceeds it."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

# Matrices of products that a search holds: of all rows, and of at least two batches.
N_MATRICES = 3

# Limits of a container: control groups of version 2, of version 1.
LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def check_memory(
    n_bytes: float, what: str, hint: str, available: float | None = None, where: str = "of memory"
) -> None:
    """Raise an error with the numbers and a remedy if the memory is too small."""
    available = available_memory() if available is None else available
    if n_bytes > available:
        raise MemoryError(
            f"{what} would take {n_bytes / 1e9:.2g} GB {where}; {available / 1e9:.2g} GB are "
            f"available. {hint}"
        )


def fits_products(n_columns: int) -> bool:
    """Return True if the products of all columns with each other fit into memory."""
    return 8.0 * n_columns**2 * N_MATRICES <= available_memory()


def check_products(n_columns: int) -> None:
    """Check the memory for the products of all columns with each other."""
    check_memory(
        8.0 * n_columns**2 * N_MATRICES,
        f"The products of {n_columns:,} columns with each other",
        "Searches without a screen, proofs and near-optimal subsets need them. Use "
        "annealing=Annealing(screen=2000), or fewer columns.",
    )


def check_exclusions(n_columns: int) -> None:
    """Check the memory for the pairs of columns that exclude each other."""
    what = f"The pairs of {n_columns:,} columns that exclude each other (at_most_one_of)"
    check_memory(2.0 * n_columns**2, what, "Leave columns out, or use never_include.")


def available_memory() -> float:
    """Return the available bytes; infinite if the system reports no limit."""
    limits = [float("inf")]
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        free = next(line for line in lines if line.startswith("MemAvailable:"))
        limits.append(1024.0 * int(free.split()[1]))
    with suppress(AttributeError, OSError, ValueError):
        limits.append(float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")))
    for path in LIMITS:
        with suppress(OSError, ValueError):
            limits.append(float(int(Path(path).read_text(encoding="ascii"))))
    return min(limits)
