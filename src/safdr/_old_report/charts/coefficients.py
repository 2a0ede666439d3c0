"""The chosen features as bars: how much one standard deviation of each moves the answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Any
from xml.etree.ElementTree import Element

from safdr._old_report.charts.scale import Scale, tick_text
from safdr._old_report.charts.svg import FONT, GAP, Sheet
from safdr._old_report.folding import dominated, effect_rows
from safdr._old_report.numbers import counted, ratio, significant
from safdr._old_report.tasks import task_of
from safdr._old_report.text import column_width, fitted, one_line
from safdr._old_report.text import width as text_width

ROW, BAR = 26, 14
# Room for half of a number on the scale.
EDGE = 16
NAMES = 230
FOOT = 44


def draw_coefficients(content: Mapping[str, Any], labels: Mapping[int, str], width: int) -> str:
    """Draw a bar for each chosen column or large group, the longest first."""
    bars = [_bar_of(*row, labels) for row in effect_rows(content)]
    own = {i: bar.label for i, bar in enumerate(bars)}
    names = column_width(own.values(), NAMES, FONT)
    left = names + GAP
    bottom = ROW * len(bars) + 4
    effect = task_of(content).effect
    sheet = Sheet(width, bottom + FOOT, _spoken(bars, effect))
    values = [bar.value for bar in bars]
    limit = dominated(values) or inf
    scale = _scale(values, limit, left, width)
    _draw_axis(sheet, scale, bottom, (left + width) / 2, effect)
    sheet.line(scale(0), 0, scale(0), bottom, "axis")
    short = fitted(own, names, FONT)
    for i, bar in enumerate(bars):
        group = sheet.add("g", "mark", title=bar.title)
        top = ROW * i + 6
        sheet.text(names, top + BAR - 3, short[i], "name end", within=group)
        _draw_bar(sheet, group, bar, scale, top, limit)
    return sheet.markup()


@dataclass(frozen=True)
class _Bar:
    """One row: how long, and what it is called."""

    label: str
    value: float
    # Of a group, which has no sign.
    spread: bool
    title: str

    @property
    def number(self) -> str:
        return significant(self.value) if self.spread else _signed(self.value)


def _bar_of(
    feature: Mapping[str, Any] | None, numbers: Mapping[str, Any], labels: Mapping[int, str]
) -> _Bar:
    if feature is not None:
        label = labels[feature["index"]]
        return _Bar(label, feature["standardised_coefficient"], False, _title(feature, label))
    columns = counted(numbers["n_columns"], "column")
    label, value = f"{one_line(numbers['name'])} ({columns})", numbers["effects"][0]
    title = f"{label}\n{significant(value)}: the standard deviation of what its columns add up to"
    return _Bar(label, value, True, title)


def _scale(values: list[float], limit: float, left: float, width: float) -> Scale:
    """From the most negative to the most positive bar, with room for their numbers."""
    low, high = max(-limit, min(0.0, *values)), min(limit, max(0.0, *values))
    number = 8 + max(text_width(_signed(value), FONT) for value in values)
    start = left + (number if low < 0 else EDGE)
    stop = width - (number if high > 0 else EDGE)
    return Scale(low, high, start, stop) if high > low else Scale(0.0, 1.0, start, stop)


def _draw_axis(sheet: Sheet, scale: Scale, bottom: float, middle: float, effect: str) -> None:
    ticks = scale.ticks(4)
    for value in ticks:
        sheet.line(scale(value), 0, scale(value), bottom, "grid")
        sheet.text(scale(value), bottom + 16, tick_text(value, ticks), "tick middle")
    sheet.text(middle, bottom + 36, effect, "tick middle")


def _draw_bar(
    sheet: Sheet, group: Element, bar: _Bar, scale: Scale, top: float, limit: float
) -> None:
    """One bar, with its number at the end; one that is cut short has a gap near it."""
    value = max(-limit, min(limit, bar.value))
    x, end = sorted((scale(0), scale(value)))
    style = "spread" if bar.spread else "raises" if value > 0 else "lowers"
    sheet.rect(x, top, max(end - x, 1.0), BAR, style, within=group, rx=2)
    if value != bar.value:
        middle = x + (end - x) * (0.85 if value > 0 else 0.15)
        points = ((middle - 5, top + BAR + 1), (middle + 5, top - 1))
        sheet.polyline(points, "cut")
    place, anchor = (end + 6, "") if value > 0 else (x - 6, " end")
    sheet.text(place, top + BAR - 3, bar.number, "value" + anchor, within=group)


def _signed(value: float) -> str:
    return ("+" if value > 0 else "") + significant(value)


def _title(feature: Mapping[str, Any], label: str) -> str:
    each, one = feature["odds_ratio_per_deviation"], feature["odds_ratio"]
    return (
        f"{label}\n{_signed(feature['standardised_coefficient'])} per standard deviation "
        f"({significant(feature['standard_deviation'])})"
        + ("" if each is None else f", odds × {significant(each, 4)}")
        + f"\n{significant(feature['coefficient'], 4)} per unit"
        + ("" if one is None else f", odds × {ratio(one)}")
    )


def _spoken(bars: list[_Bar], effect: str) -> str:
    """What the chart says, in words."""
    first = ", ".join(f"{bar.label[:80]} {bar.number}" for bar in bars[:5])
    more = f", and {len(bars) - 5} weaker ones" if len(bars) > 5 else ""
    return f"Bars: {effect}. {first}{more}. Table below."
