"""Coefficients on rows that did not choose the features, with intervals, beside the model's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from safdr._old_report.charts.scale import Scale, tick_text
from safdr._old_report.charts.svg import FONT, GAP, Sheet
from safdr._old_report.numbers import significant
from safdr._old_report.tasks import task_of
from safdr._old_report.text import column_width, fitted

ROW, EDGE = 26, 16
NAMES = 230
FOOT = 44
# Beyond them in the table only.
MOST_ESTIMATES = 25


def draw_estimates(content: Mapping[str, Any], labels: Mapping[int, str], width: int) -> str:
    """Draw a line for each feature: the interval, the estimate, and what the model has."""
    shown = estimates(content)[:MOST_ESTIMATES]
    own = {each["index"]: labels[each["index"]] for each in shown}
    names = column_width(own.values(), NAMES, FONT)
    left = names + GAP + EDGE
    bottom = ROW * len(shown) + 4
    effect = task_of(content).effect
    sheet = Sheet(width, bottom + FOOT, f"Intervals: {effect}, on the held-out rows. Table below.")
    ends = [each[key] for each in shown for key in ("low", "high", "model")]
    scale = Scale(min(0.0, *ends), max(0.0, *ends), left, width - EDGE)
    ticks = scale.ticks(4)
    for value in ticks:
        sheet.line(scale(value), 0, scale(value), bottom, "grid")
        sheet.text(scale(value), bottom + 16, tick_text(value, ticks), "tick middle")
    sheet.text((left + width - EDGE) / 2, bottom + 36, effect, "tick middle")
    sheet.line(scale(0), 0, scale(0), bottom, "axis")
    short = fitted(own, names, FONT)
    for i, each in enumerate(shown):
        group = sheet.add("g", "mark", title=_title(each, own[each["index"]]))
        y = ROW * i + 13
        sheet.text(names, y + 4, short[each["index"]], "name end", within=group)
        low, high = scale(each["low"]), scale(each["high"])
        sheet.add("line", "whisker", within=group, x1=low, x2=high, y1=y, y2=y)
        at = scale(each["estimate"])
        sheet.add("circle", "point", within=group, cx=at, cy=y, r=4.5)
        x = scale(each["model"])
        sheet.add("line", "tally", within=group, x1=x, x2=x, y1=y - 7, y2=y + 7)
    return sheet.markup()


def estimates(content: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Those of the features that have one, per standard deviation of the training rows."""
    return [
        {"index": each["index"], **each["standardised"]}
        for each in content["risk"]["coefficients"]["features"]
        if each["estimate"] is not None
    ]


def _title(each: Mapping[str, Any], label: str) -> str:
    return (
        f"{label}\n{significant(each['estimate'])} on the held-out rows, from "
        f"{significant(each['low'])} to {significant(each['high'])}\n"
        f"{significant(each['model'])} in the model"
    )
