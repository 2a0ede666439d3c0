"""Whether a table fits comfortably in memory."""

from __future__ import annotations

from safdr._memory import available_memory

# Bytes at the peak for each byte of values, measured on a million rows of 60 numbers (2.7 GB for
# 0.49): the file, the table, its parts to learn from and to hold out, their rows of doubles, and
# standardised columns.
PEAK = 6
# Others need memory too, and a text column may become many columns of numbers.
SHARE = 0.5


def fits_in_memory(n_bytes: int) -> bool:
    """Whether a table of so many bytes does; where nobody can tell, it does."""
    available = available_memory()
    return available is None or n_bytes * PEAK <= available * SHARE
