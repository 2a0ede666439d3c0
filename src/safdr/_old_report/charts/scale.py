"""Scales: from numbers to pixels, and the round numbers to write beside them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    """A straight map from numbers to pixels."""

    # The numbers at the two ends.
    low: float
    high: float
    # The pixels at the two ends.
    start: float
    stop: float

    def __call__(self, value: float) -> float:
        """The pixel of a number; the middle where there is one number only."""
        if self.high == self.low:
            return (self.start + self.stop) / 2
        share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.stop - self.start)

    def ticks(self, most: int) -> list[float]:
        """Round numbers within the scale."""
        if self.high <= self.low:
            return [self.low]
        step = _round_step((self.high - self.low) / most)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [i * step for i in range(first, last + 1)]


def padded(values: Iterable[float], share: float = 0.06) -> tuple[float, float]:
    """Give the range of some numbers with a margin, so that no mark is cut."""
    known = list(values)
    low, high = min(known, default=0.0), max(known, default=0.0)
    margin = (high - low) * share or abs(high) * share or 1.0
    return low - margin, high + margin


def tick_text(value: float, ticks: list[float]) -> str:
    """Write a number with the decimals that tell the ticks apart."""
    step = ticks[1] - ticks[0] if len(ticks) > 1 else abs(value) or 1.0
    if max(map(abs, ticks)) >= 1e6 or step < 1e-4:
        text, _, power = f"{value:.3g}".partition("e")
        return (f"{text}e{int(power)}" if power else text).replace("-", "−")
    places = max(0, -math.floor(math.log10(step) + 1e-9))
    return f"{value + 0.0:,.{places}f}".replace("-", "−")


def size_ticks(sizes: list[int], pixels: float) -> list[int]:
    """Give the sizes to write below a chart: all, or every so many where they would touch."""
    step = next((s for s in (1, 2, 5, 10, 20, 50) if s * pixels >= 22), 100)
    return [size for size in sizes if step == 1 or size % step == 0 or (size == 1 and step > 2)]


def _round_step(wanted: float) -> float:
    """The smallest of 1, 2, 5 times a power of ten that is not below what is wanted."""
    power = 10.0 ** math.floor(math.log10(wanted))
    return next(m * power for m in (1, 2, 5, 10) if m * power >= wanted * (1 - 1e-9))
