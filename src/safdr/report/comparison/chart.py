"""The effects of two models, feature by feature, as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from safdr.report.charts.scale import Scale, tick_text
from safdr.report.charts.svg import FONT, GAP, NARROW_BELOW, Sheet
from safdr.report.numbers import significant
from safdr.report.text import column_width, fit

# Features that are drawn, those of both first; the table has all.
MOST = 25
BAR, ROW, AXIS = 8, 30, 26
# Of the first and of the second result.
STYLES = ("lowers", "raises")


def draw_effects(features: Sequence[Mapping[str, Any]], width: int) -> str:
    """Two bars for each feature, from zero to its effect per standard deviation."""
    rows = [each for each in features if any(e is not None for e in each["effects"])][:MOST]
    known = [e for each in rows for e in each["effects"] if e is not None]
    narrow = width < NARROW_BELOW
    step = ROW + (FONT + 4 if narrow else 0)
    sheet = Sheet(width, step * len(rows) + AXIS, "Effects of both models, per standard deviation")
    names = column_width([each["name"] for each in rows], 0.4 * width, FONT) if rows else 0.0
    left = 4.0 if narrow else names + GAP
    scale = Scale(min(0.0, *known), max(0.0, *known), left, width - 8.0)
    ticks = scale.ticks(4 if narrow else 7)
    for tick in ticks:
        sheet.line(scale(tick), 0, scale(tick), step * len(rows), "grid")
        sheet.text(scale(tick), step * len(rows) + 18, tick_text(tick, ticks), "tick middle")
    for number, each in enumerate(rows):
        _draw_row(sheet, each, step * number, scale, step - ROW, width if narrow else names)
    sheet.line(scale(0), 0, scale(0), step * len(rows), "axis")
    return sheet.markup()


def _draw_row(
    sheet: Sheet,
    feature: Mapping[str, Any],
    top: float,
    scale: Scale,
    above: float,
    room: float,
) -> None:
    """The name, and a bar for each result that has the feature."""
    numbers = " and ".join(significant(effect) for effect in feature["effects"])
    group = sheet.add("g", "mark", title=f"{feature['name']}: {numbers}")
    label = fit(feature["name"], room, FONT)
    baseline = top + (above - 2 if above else ROW / 2 + FONT / 2 - 2)
    sheet.text(2 if above else room, baseline, label, "name" if above else "name end", within=group)
    for place, (effect, style) in enumerate(zip(feature["effects"], STYLES, strict=True)):
        if effect is None:
            continue
        start, end = sorted((scale(0.0), scale(effect)))
        y = top + above + 5 + place * (BAR + 2)
        sheet.rect(start, y, max(end - start, 1.5), BAR, style, within=group, rx=2)
