"""Contestants take turns, so that what else the machine does falls on all of them alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import TypeVar

Result = TypeVar("Result")


@dataclass(frozen=True)
class Seconds:
    """Of the processor, which other programs hardly change, and on the wall."""

    process: float
    wall: float


def timed(run: Callable[[], Result]) -> tuple[Result, Seconds]:
    """What a call gives, and how long it takes."""
    process, wall = time.process_time(), time.perf_counter()
    result = run()
    return result, Seconds(time.process_time() - process, time.perf_counter() - wall)


def median_seconds(several: list[Seconds]) -> Seconds:
    """Median of each clock."""
    return Seconds(median(s.process for s in several), median(s.wall for s in several))


def take_turns(contestants: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, Seconds]:
    """Median seconds of each contestant over several rounds, after one that does not count."""
    several: dict[str, list[Seconds]] = {name: [] for name in contestants}
    for turn in range(rounds + 1):
        for name, run in contestants.items():
            _, seconds = timed(run)
            if turn > 0:
                several[name].append(seconds)
    return {name: median_seconds(values) for name, values in several.items()}
