"""What the tables share: rows as they are read, cells as they are written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Rows = list[dict[str, str]]
# Relative; two orders of summing up the same value differ by less.
SAME = 1e-9


def compare(ours: float, theirs: float) -> int:
    """1 if ours is larger, -1 if it is smaller, 0 if they are the same but for rounding."""
    if abs(ours - theirs) <= SAME * max(abs(ours), abs(theirs)):
        return 0
    return 1 if ours > theirs else -1


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown.

    Parameters
    ----------
    header : sequence of str
        Names of the columns.
    rows : iterable of sequence of str
        Cells.

    Returns
    -------
    str
    """
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
