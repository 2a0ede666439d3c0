"""The chosen features as bars: how much one standard deviation of each moves the log-odds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from safdr.report.charts.scale import Scale, tick_text
from safdr.report.charts.svg import NARROW_BELOW, Sheet
from safdr.report.numbers import significant
from safdr.report.text import fitted

FONT = 13
BAR = 14
# Room for the number at the end of a bar.
NUMBER = 52
NAMES = 230
GAP = 12
FOOT = 44


def draw_coefficients(content: Mapping[str, Any], labels: Mapping[int, str], width: int) -> str:
    """Draw a bar for each chosen feature, the longest first.

    Parameters
    ----------
    content : mapping
        Of a report; every coefficient must be a number.
    labels : mapping
        From the index of a feature to its label.
    width : int
        Of the chart in pixels.

    Returns
    -------
    str
        SVG.
    """
    features = content["features"]
    narrow = width < NARROW_BELOW
    row, left = (42, 0) if narrow else (26, NAMES + GAP)
    bottom = row * len(features) + 4
    sheet = Sheet(width, bottom + FOOT, _spoken(features, labels))
    scale = _scale([f["standardised_coefficient"] for f in features], left, width)
    _draw_axis(sheet, scale, bottom, (left + width) / 2)
    sheet.line(scale(0), 0, scale(0), bottom, "axis")
    own = {f["index"]: labels[f["index"]] for f in features}
    short = fitted(own, width if narrow else NAMES, FONT)
    for i, feature in enumerate(features):
        _draw_row(sheet, feature, scale, row * i, short[feature["index"]], own, narrow)
    return sheet.markup()


def _scale(values: list[float], left: float, width: float) -> Scale:
    """From the most negative to the most positive bar, with room for their numbers."""
    low, high = min(0.0, *values), max(0.0, *values)
    start = left + (NUMBER if low < 0 else 2)
    stop = width - (NUMBER if high > 0 else 2)
    return Scale(low, high, start, stop) if high > low else Scale(0.0, 1.0, start, stop)


def _draw_axis(sheet: Sheet, scale: Scale, bottom: float, middle: float) -> None:
    ticks = scale.ticks(4)
    for value in ticks:
        sheet.line(scale(value), 0, scale(value), bottom, "grid")
        sheet.text(scale(value), bottom + 16, tick_text(value, ticks), "tick middle")
    text = "change of the log-odds per standard deviation"
    sheet.text(middle, bottom + 36, text, "tick middle")


def _draw_row(
    sheet: Sheet,
    feature: Mapping[str, Any],
    scale: Scale,
    top: float,
    short: str,
    labels: Mapping[int, str],
    narrow: bool,
) -> None:
    """One bar, its name beside or above it, and its number at the end."""
    value = feature["standardised_coefficient"]
    title = _title(feature, labels[feature["index"]])
    group = sheet.add("g", "mark", title=title)
    bar_top = top + (21 if narrow else 6)
    base = bar_top + BAR - 3
    if narrow:
        sheet.text(0, top + 15, short, "name halo", within=group)
    else:
        sheet.text(NAMES, base, short, "name end", within=group)
    x, end = sorted((scale(0), scale(value)))
    sheet.add(
        "rect",
        "raises" if value > 0 else "lowers",
        within=group,
        x=x,
        y=bar_top,
        width=max(end - x, 1.0),
        height=BAR,
        rx=2,
    )
    place, anchor = (end + 6, "") if value > 0 else (x - 6, " end")
    sheet.text(place, base, _signed(value), "value" + anchor, within=group)


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


def _spoken(features: list[Mapping[str, Any]], labels: Mapping[int, str]) -> str:
    """What the chart says, in words."""
    first = ", ".join(
        f"{labels[f['index']][:80]} {_signed(f['standardised_coefficient'])}" for f in features[:5]
    )
    more = f", and {len(features) - 5} weaker ones" if len(features) > 5 else ""
    return f"Bars: change of the log-odds per standard deviation. {first}{more}. Table below."
