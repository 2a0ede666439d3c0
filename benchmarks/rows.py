"""Rows to CSV and back: tracked, so that the tables need no second run."""

from __future__ import annotations

import csv
import io
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.whole_files import write_whole

RESULTS = Path(__file__).parent / "results"


def keep(
    name: str, rows: Sequence[dict[str, Any]], by: Sequence[str] = (), quiet: bool = False
) -> None:
    """Write rows as CSV, whole or not at all, and print them.

    Parameters
    ----------
    name : str
        Of the file, without ".csv".
    rows : sequence of dict
        New rows, all with the same columns.
    by : sequence of str, default=()
        Columns that name the work: earlier rows of other work stay. Without them none stay.
    quiet : bool, default=False
        Whether to print how many rows there are instead.
    """
    rows = [{**row, "machine": f"{platform.machine()} {platform.system()}"} for row in rows]
    new = {_key(row, by) for row in rows}
    others = [row for row in read(name) if _key(row, by) not in new] if by else []
    text = io.StringIO()
    writer = csv.DictWriter(
        text, fieldnames=list(rows[0]), restval="", extrasaction="ignore", lineterminator="\n"
    )
    writer.writeheader()
    writer.writerows([*others, *rows])
    write_whole(RESULTS / f"{name}.csv", text.getvalue().encode())
    if quiet:
        print(name, f"rows={len(rows)}", sep="  ", flush=True)
        return
    for row in rows:
        print(name, *(f"{key}={value}" for key, value in row.items()), sep="  ", flush=True)


def read(name: str) -> list[dict[str, str]]:
    """The rows of a file; none where it is not there."""
    path = RESULTS / f"{name}.csv"
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def _key(row: dict[str, Any], by: Sequence[str]) -> tuple[str, ...]:
    return tuple(str(row[column]) for column in by)
