"""A plot of two scales: where it lies on a sheet, its grid and what is written beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from safdr._old_report.charts.scale import Scale, tick_text
from safdr._old_report.charts.svg import FONT, Sheet
from safdr._old_report.text import width as text_width

FOOT = 44
HEAD = 26
# Between a number and the plot that it belongs to.
GAP = 8
TICK = 12
# Half of the last number below, such as 100 %.
EDGE = 22
# Room for numbers, so that plots below one another begin at the same place.
LEAST = 40.0

Write = Callable[[float, list[float]], str]


def percent_text(value: float, ticks: list[float]) -> str:
    """Write a share, with the decimals that tell ticks apart."""
    return f"{tick_text(100 * value, [100 * tick for tick in ticks])} %"


@dataclass(frozen=True)
class Plane:
    """A plot on a sheet."""

    sheet: Sheet
    x: Scale
    y: Scale

    @classmethod
    def on(
        cls,
        sheet: Sheet,
        box: tuple[float, float, float, float],
        x: tuple[float, float],
        y: tuple[float, float],
        *,
        titles: tuple[str, str],
        write: tuple[Write | None, Write] = (percent_text, percent_text),
    ) -> Plane:
        """Make one in a box (left, top, right, bottom), with the title of y above it."""
        left, top, right, bottom = box
        up = Scale(*y, bottom - FOOT, top + HEAD)
        ticks = up.ticks(5)
        texts = [write[1](value, ticks) for value in ticks]
        left += GAP + max(LEAST, *(text_width(text, TICK) for text in texts))
        right -= EDGE
        plane = cls(sheet, Scale(*x, left, right), up)
        for value, text in zip(ticks, texts, strict=True):
            sheet.line(left, up(value), right, up(value), "grid")
            sheet.text(left - GAP, up(value) + 4, text, "tick end")
        if write[0] is not None:
            plane.write_below(write[0])
        sheet.text(box[0], top + 12, titles[1], "tick")
        sheet.text((left + right) / 2, bottom - 6, titles[0], "tick middle")
        return plane

    def write_below(self, write: Write) -> None:
        """Numbers of the scale of x, as many as there is room for."""
        ticks = self.x.ticks(4 if self.x.stop - self.x.start < 320 else 6)
        for value in ticks:
            self.sheet.text(self.x(value), self.y.start + 18, write(value, ticks), "tick middle")

    def name_below(self, names: Sequence[str]) -> None:
        """Names at 0, 1, 2 and so on; where they would touch, every so many of them."""
        room = (self.x.stop - self.x.start) / max(1, len(names) - 1)
        widest = max(text_width(name, FONT) for name in names) + 6
        step = max(1, -(-int(widest) // max(1, int(room))))
        for i in range(0, len(names), step):
            self.sheet.text(self.x(i), self.y.start + 18, names[i], "tick middle")

    def curve(self, points: Iterable[tuple[float, float]], style: str) -> None:
        """Draw a line through points."""
        self.sheet.polyline([(self.x(x), self.y(y)) for x, y in points], style)

    def whisker(self, x: float, low: float, high: float) -> None:
        """Draw an interval."""
        self.sheet.line(self.x(x), self.y(low), self.x(x), self.y(high), "whisker")

    def dot(self, x: float, y: float, title: str, style: str = "point mark") -> None:
        """Draw a point that tells its numbers."""
        self.sheet.add("circle", style, title=title, cx=self.x(x), cy=self.y(y), r=4.5)
