"""Score against the number of features, and what the rule asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from safdr._old_report.charts.scale import Scale, padded, size_ticks, tick_text
from safdr._old_report.charts.svg import BOLD, FONT, Sheet
from safdr._old_report.numbers import counted, decimals
from safdr._old_report.tasks import task_of
from safdr._old_report.text import width as text_width

# Two lines above the plot hold the labels of the chosen and the best size, so that no label ever
# lies on a mark.
HEAD = 46
HEIGHT = 340
FOOT = 44
LEFT = 46
RIGHT = 14


def draw_path(content: Mapping[str, Any], labels: Mapping[int, str], width: int) -> str:
    """Draw the mean score of each size, each split as a faint dot, and the rule as a dashed one."""
    path = content["path"]
    sheet = Sheet(width, HEIGHT, _spoken(content))
    sizes = [each["size"] for each in path]
    inset = 10 if len(sizes) > 1 else 0
    x = Scale(sizes[0], sizes[-1], LEFT + inset, width - RIGHT - inset)
    low, high = padded(_drawn(path))
    if content["scores"]["scoring"] == task_of(content).scoring:
        high = min(high, 1.0)  # no area is larger, and no share of the variance
    y = Scale(low, high, HEIGHT - FOOT, HEAD)
    _draw_axes(sheet, x, y, sizes, width)
    _draw_choices(sheet, content, x, y, width)
    _draw_rule(sheet, content, x, y)
    _draw_scores(sheet, path, content["size"]["chosen"], x, y)
    return sheet.markup()


def _drawn(path: list[Mapping[str, Any]]) -> list[float]:
    """All numbers that must lie within the chart."""
    thresholds = [each["threshold"] for each in path if each["threshold"] is not None]
    return [score for each in path for score in (each["mean"], *each["splits"])] + thresholds


def _draw_axes(sheet: Sheet, x: Scale, y: Scale, sizes: list[int], width: float) -> None:
    ticks = y.ticks(5)
    for value in ticks:
        sheet.line(LEFT, y(value), width - RIGHT, y(value), "grid")
        sheet.text(LEFT - 8, y(value) + 4, tick_text(value, ticks), "tick end")
    pitch = (x.stop - x.start) / max(1, len(sizes) - 1)
    for size in size_ticks(sizes, pitch):
        sheet.text(x(size), y.start + 18, str(size), "tick middle")
    sheet.text((LEFT + width - RIGHT) / 2, y.start + 38, "number of features", "tick middle")


def _draw_rule(sheet: Sheet, content: Mapping[str, Any], x: Scale, y: Scale) -> None:
    """The mean score that the rule required."""
    threshold = content["path"][0]["threshold"]
    if threshold is not None:
        ends = (float(LEFT), x.stop + x.start - LEFT)
        sheet.polyline([(end, y(threshold)) for end in ends], "rule")


def _draw_choices(
    sheet: Sheet, content: Mapping[str, Any], x: Scale, y: Scale, width: float
) -> None:
    """Lines from the chosen and the best size up to their labels, each on a line of its own."""
    path, chosen = content["path"], _entry(content["path"], content["size"]["chosen"])
    best = max(path, key=lambda each: each["mean"])
    text, other = f"chosen: {_shown(chosen)}", f"best mean: {_shown(best)}"
    if best is not chosen:
        left = _left_end(other, x(best["size"]), width)
        if left - 4 <= x(chosen["size"]) <= left + text_width(other, FONT):
            # The line of the chosen size would cross the label of the best: one label for both.
            text, other = f"{text}, {other}", ""
        sheet.line(x(best["size"]), 39, x(best["size"]), y(best["mean"]), "leader")
        sheet.text(left, 34, other, "muted")
    sheet.line(x(chosen["size"]), 21, x(chosen["size"]), y(chosen["mean"]), "leader chosen")
    sheet.text(_left_end(text, x(chosen["size"]), width), 16, text, "chosen")


def _shown(each: Mapping[str, Any]) -> str:
    return f"{each['size']} ({decimals(each['mean'])})"


def _left_end(text: str, at: float, width: float) -> float:
    """Where a label begins: at its mark, or further left where it would not fit."""
    return max(0.0, min(at - 3, width - BOLD * text_width(text, FONT)))


def _draw_scores(
    sheet: Sheet, path: list[Mapping[str, Any]], chosen: int, x: Scale, y: Scale
) -> None:
    # One path for all splits: a stroke of no length with round ends is a dot.
    dots = "".join(f"M{x(e['size']):.1f} {y(s):.1f}h0" for e in path for s in e["splits"])
    sheet.add("path", "split", d=dots)
    sheet.polyline([(x(each["size"]), y(each["mean"])) for each in path], "curve")
    # Dots that would touch are smaller.
    radius = min(4.0, 0.45 * (x.stop - x.start) / max(1, len(path) - 1))
    for each in path:
        here = each["size"] == chosen
        sheet.add(
            "circle",
            "point mark" + (" chosen" if here else ""),
            title=_title(each),
            cx=x(each["size"]),
            cy=y(each["mean"]),
            r=radius + 2.5 if here else radius,
        )


def _entry(path: list[Mapping[str, Any]], size: int) -> Mapping[str, Any]:
    return next(each for each in path if each["size"] == size)


def _title(each: Mapping[str, Any]) -> str:
    listed = ", ".join(decimals(score) for score in each["splits"])
    return (
        f"{counted(each['size'], 'feature')}: mean {decimals(each['mean'], 4)}, "
        f"standard deviation {decimals(each['std'], 4)}\nsplits: {listed}"
    )


def _spoken(content: Mapping[str, Any]) -> str:
    """What the chart says, in words."""
    path, chosen = content["path"], content["size"]["chosen"]
    best = max(path, key=lambda each: each["mean"])
    return (
        f"Line chart: mean validation score against the number of features, from "
        f"{path[0]['size']} to {path[-1]['size']}. Chosen: {chosen}, with "
        f"{decimals(_entry(path, chosen)['mean'])}. Best mean: {best['size']}, with "
        f"{decimals(best['mean'])}. Table below."
    )
