"""The chosen features as bars: how much one standard deviation of each moves the answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from xml.etree.ElementTree import Element

from safdr.report.charts.scale import Scale, tick_text
from safdr.report.charts.svg import FONT, GAP, NARROW_BELOW, Sheet
from safdr.report.numbers import significant
from safdr.report.tasks import task_of
from safdr.report.text import column_width, fitted
from safdr.report.text import width as text_width

BAR = 14
# Room for half of a number on the scale.
EDGE = 16
NAMES = 230
FOOT = 44


def draw_coefficients(content: Mapping[str, Any], labels: Mapping[int, str], width: int) -> str:
    """Draw a bar for each chosen feature, the longest first."""
    features = content["features"]
    narrow = width < NARROW_BELOW
    own = {f["index"]: labels[f["index"]] for f in features}
    names = width if narrow else column_width(own.values(), NAMES, FONT)
    row, left = (42, 0.0) if narrow else (26, names + GAP)
    bottom = row * len(features) + 4
    effect = task_of(content).effect
    sheet = Sheet(width, bottom + FOOT, _spoken(features, labels, effect))
    scale = _scale([f["standardised_coefficient"] for f in features], left, width)
    _draw_axis(sheet, scale, bottom, (left + width) / 2, effect)
    sheet.line(scale(0), 0, scale(0), bottom, "axis")
    short = fitted(own, names, FONT)
    for i, feature in enumerate(features):
        group = sheet.add("g", "mark", title=_title(feature, own[feature["index"]]))
        top = row * i + (21 if narrow else 6)
        name = short[feature["index"]]
        if narrow:
            sheet.text(0, top - 6, name, "name halo", within=group)
        else:
            sheet.text(names, top + BAR - 3, name, "name end", within=group)
        _draw_bar(sheet, group, feature["standardised_coefficient"], scale, top)
    return sheet.markup()


def _scale(values: list[float], left: float, width: float) -> Scale:
    """From the most negative to the most positive bar, with room for their numbers."""
    low, high = min(0.0, *values), max(0.0, *values)
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


def _draw_bar(sheet: Sheet, group: Element, value: float, scale: Scale, top: float) -> None:
    """One bar, with its number at the end."""
    x, end = sorted((scale(0), scale(value)))
    style = "raises" if value > 0 else "lowers"
    sheet.rect(x, top, max(end - x, 1.0), BAR, style, within=group, rx=2)
    place, anchor = (end + 6, "") if value > 0 else (x - 6, " end")
    sheet.text(place, top + BAR - 3, _signed(value), "value" + anchor, within=group)


def _signed(value: float) -> str:
    return ("+" if value > 0 else "") + significant(value)


def _title(feature: Mapping[str, Any], label: str) -> str:
    ratio = feature["odds_ratio"]
    return (
        f"{label}\n{_signed(feature['standardised_coefficient'])} per standard deviation "
        f"({significant(feature['standard_deviation'])})\n"
        f"{significant(feature['coefficient'], 4)} per unit"
        + ("" if ratio is None else f", odds × {significant(ratio, 4)}")
    )


def _spoken(features: list[Mapping[str, Any]], labels: Mapping[int, str], effect: str) -> str:
    """What the chart says, in words."""
    first = ", ".join(
        f"{labels[f['index']][:80]} {_signed(f['standardised_coefficient'])}" for f in features[:5]
    )
    more = f", and {len(features) - 5} weaker ones" if len(features) > 5 else ""
    return f"Bars: {effect}. {first}{more}. Table below."
