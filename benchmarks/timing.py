"""Contestants take turns, so that what else the machine does falls on all of them alike."""

from __future__ import annotations

import csv
import platform
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median

RESULTS = Path(__file__).parent / "results"


def take_turns(contestants: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Median seconds of each contestant over several rounds, after one that does not count."""
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(rounds + 1):
        for name, run in contestants.items():
            start = time.perf_counter()
            run()
            if turn > 0:
                seconds[name].append(time.perf_counter() - start)
    return {name: median(values) for name, values in seconds.items()}


def keep(name: str, rows: list[dict[str, object]]) -> None:
    """Write rows as CSV, whole or not at all, and print them."""
    RESULTS.mkdir(exist_ok=True)
    rows = [{**row, "machine": f"{platform.machine()} {platform.system()}"} for row in rows]
    unfinished = RESULTS / f".{name}.csv.part"
    with unfinished.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    unfinished.replace(RESULTS / f"{name}.csv")
    for row in rows:
        print(name, *(f"{key}={value}" for key, value in row.items()), sep="  ")
