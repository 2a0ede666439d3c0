"""How often other rows choose each feature, as bars with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from xml.etree.ElementTree import Element

from safdr._old_report.charts.scale import Scale, tick_text
from safdr._old_report.charts.svg import BOLD, FONT, GAP, Sheet
from safdr._old_report.numbers import counted, percent
from safdr._old_report.text import column_width, fitted
from safdr._old_report.text import width as text_width

ROW, BAR = 26, 14
NAMES = 230
FOOT = 44
# Bars; beyond them only the chosen features.
MOST_BARS = 20


def draw_stability(content: Mapping[str, Any], labels: Mapping[int, str], width: int) -> str:
    """Draw a bar for each feature that was chosen, the most frequent first."""
    found = content["stability"]
    features = [f for i, f in enumerate(found["features"]) if i < MOST_BARS or f["chosen"]]
    own = {f["index"]: labels[f["index"]] for f in features}
    names = column_width(own.values(), NAMES, FONT * BOLD)
    left = names + GAP
    bottom = ROW * len(features) + 4
    sheet = Sheet(width, bottom + FOOT, _spoken(found, features, labels))
    number = 10 + text_width(str(found["n_resamples"]), FONT)
    scale = Scale(0.0, float(found["n_resamples"]), left, width - number)
    _draw_axis(sheet, scale, bottom, found)
    short = fitted(own, names, FONT * BOLD)
    for i, feature in enumerate(features):
        group = sheet.add("g", "mark", title=_title(feature, own[feature["index"]], found))
        top = ROW * i + 6
        bold = " chosen" if feature["chosen"] else ""
        sheet.text(names, top + BAR - 3, short[feature["index"]], f"name end{bold}", within=group)
        _draw_bar(sheet, group, feature, scale, top, found["n_resamples"])
    return sheet.markup()


def _draw_axis(sheet: Sheet, scale: Scale, bottom: float, found: Mapping[str, Any]) -> None:
    ticks = [value for value in scale.ticks(5) if value == round(value)]
    for value in ticks:
        sheet.line(scale(value), 0, scale(value), bottom, "grid")
        sheet.text(scale(value), bottom + 16, tick_text(value, ticks), "tick middle")
    sheet.line(scale(0), 0, scale(0), bottom, "axis")
    what = "half-samples" if found["resample"] == "halves" else "seeds"
    text = f"times chosen in {found['n_resamples']} {what}"
    sheet.text((scale.start + scale.stop) / 2, bottom + 36, text, "tick middle")


def _draw_bar(
    sheet: Sheet, group: Element, feature: Mapping[str, Any], scale: Scale, top: float, n: int
) -> None:
    """One bar, its interval, and its number at the end of the row."""
    style = "often" if feature["chosen"] else "seldom"
    length = max(scale(feature["count"]) - scale.start, 1.0)
    sheet.rect(scale.start, top, length, BAR, style, within=group, rx=2)
    low, high = (scale(n * share) for share in feature["frequency_interval"])
    middle = top + BAR / 2
    for x1, y1, x2, y2 in (
        (low, middle, high, middle),
        (low, middle - 3, low, middle + 3),
        (high, middle - 3, high, middle + 3),
    ):
        sheet.add("line", "whisker", within=group, x1=x1, y1=y1, x2=x2, y2=y2)
    place = scale.stop + 8
    sheet.text(place, top + BAR - 3, str(feature["count"]), "value", within=group)


def _title(feature: Mapping[str, Any], label: str, found: Mapping[str, Any]) -> str:
    low, high = feature["frequency_interval"]
    return (
        f"{label}\n{feature['count']} of {found['n_resamples']} times "
        f"({percent(feature['frequency'])}; 95 % interval {percent(low)} to {percent(high)})"
    )


def _spoken(
    found: Mapping[str, Any], features: list[Mapping[str, Any]], labels: Mapping[int, str]
) -> str:
    """What the chart says, in words."""
    first = ", ".join(f"{labels[f['index']][:80]} {f['count']}" for f in features[:5])
    times = counted(found["n_resamples"], "choice")
    return f"Bars: how often each feature was chosen in {times}. {first}. Table below."
