"""Take turns, take medians, and write rows with machine, versions and date."""

from __future__ import annotations

import csv
import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("safdr", "numpy", "scikit-learn")


def seconds_of(run: Callable[[], object], cpu: bool = True) -> float:
    """Return the CPU seconds of this process, or the wall-clock seconds, of a call."""
    clock = time.process_time if cpu else time.perf_counter
    start = clock()
    run()
    return clock() - start


def take_turns(
    methods: Mapping[str, Callable[[], object]], rounds: int, cpu: bool = True
) -> dict[str, float]:
    """Return median seconds; the methods alternate, so that load affects all alike."""
    found: dict[str, list[float]] = {name: [] for name in methods}
    for _ in range(rounds):
        for name, run in methods.items():
            found[name].append(seconds_of(run, cpu))
    return {name: median(values) for name, values in found.items()}


def write(name: str, rows: Sequence[dict[str, Any]]) -> None:
    """Write rows to results/NAME.csv and print them."""
    about = {
        "machine": f"{cpu_name()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
    }
    about |= {package: version(package) for package in PACKAGES}
    about["date"] = time.strftime("%Y-%m-%d")
    RESULTS.mkdir(exist_ok=True)
    with (RESULTS / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [*rows[0], *about], lineterminator="\n")
        writer.writeheader()
        writer.writerows({**row, **about} for row in rows)
    for row in rows:
        print(name, *(f"{key}={value}" for key, value in row.items()), sep="  ", flush=True)


def cpu_name() -> str:
    """Return the model of the processor."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def geometric_mean(values: Sequence[float]) -> float:
    """Return the geometric mean."""
    product = 1.0
    for value in values:
        product *= value ** (1.0 / len(values))
    return product
