"""What was expected against what was observed, by tenths of the rows; and residuals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from safdr._old_report.charts.plane import HEAD, Plane, percent_text
from safdr._old_report.charts.scale import padded, tick_text
from safdr._old_report.charts.svg import Sheet
from safdr._old_report.numbers import counted, percent, significant

HEIGHT = 360


def draw_calibration(content: Mapping[str, Any], labels: Mapping[int, str], width: int) -> str:
    """Draw a point for each tenth, with its interval, and where all would be right."""
    bins = bins_of(content)
    is_share = "least" not in bins[0]
    sheet = Sheet(width, HEIGHT, _spoken(bins, is_share))
    low, high = _range(bins, is_share)
    write = percent_text if is_share else tick_text
    plane = Plane.on(
        sheet,
        (0.0, 0.0, float(width), float(HEIGHT)),
        (low, high),
        (low, high),
        titles=("predicted", "observed"),
        write=(write, write),
    )
    if not is_share:
        _draw_band(plane, bins)
    plane.curve([(low, low), (high, high)], "rule")
    for each in bins:
        if each["low"] is not None:
            plane.whisker(each["expected"], each["low"], each["high"])
    for each in bins:
        plane.dot(each["expected"], each["observed"], _title(each, is_share))
    return sheet.markup()


def bins_of(content: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The tenths of whatever task it is."""
    risk = content["risk"]
    found = risk["calibration"] or risk["classes"] or risk["errors"]
    bins: Sequence[Mapping[str, Any]] = found["bins"]
    return bins


def _range(bins: Sequence[Mapping[str, Any]], is_share: bool) -> tuple[float, float]:
    """The same for both directions; shares begin at 0 and end where they do."""
    ends = [
        value
        for each in bins
        for key in ("expected", "observed", "low", "high", "least", "most")
        if (value := each.get(key)) is not None
    ]
    if not is_share:
        return padded(ends)
    return 0.0, min(1.0, 1.06 * max(ends)) or 1.0


def _draw_band(plane: Plane, bins: Sequence[Mapping[str, Any]]) -> None:
    """Where nine tenths of the rows of each bin lie."""
    there = [(each["expected"], each["most"]) for each in bins]
    back = [(each["expected"], each["least"]) for each in reversed(bins)]
    points = " ".join(f"{plane.x(x):.1f},{plane.y(y):.1f}" for x, y in there + back)
    plane.sheet.add("polygon", "band", points=points)


def _title(each: Mapping[str, Any], is_share: bool) -> str:
    def write(value: float | None) -> str:
        return percent(value, 1) if is_share else significant(value, 4)

    return (
        f"{counted(each['n_rows'], 'row')}: predicted {write(each['expected'])}, observed "
        f"{write(each['observed'])} (95 % interval {write(each['low'])} to {write(each['high'])})"
    )


def _spoken(bins: Sequence[Mapping[str, Any]], is_share: bool) -> str:
    ends = "; ".join(_title(each, is_share) for each in (bins[0], bins[-1]))
    return f"Points: predicted against observed, by tenths of the rows. {ends}. Table below."


def draw_residuals(content: Mapping[str, Any], labels: Mapping[int, str], width: int) -> str:
    """Draw how residuals are spread, as bars."""
    found = content["risk"]["errors"]["histogram"]
    edges, shares = found["edges"], found["shares"]
    height = 220
    sheet = Sheet(width, height, "Bars: how the residuals, observed less predicted, are spread.")
    plane = Plane.on(
        sheet,
        (0.0, -HEAD / 4, float(width), float(height)),
        (edges[0], edges[-1]),
        (0.0, 1.08 * max(shares)),
        titles=("observed less predicted", "share of rows"),
        write=(tick_text, percent_text),
    )
    for share, low, high in zip(shares, edges, edges[1:], strict=False):
        x, top = plane.x(low) + 0.5, plane.y(share)
        title = f"{significant(low)} to {significant(high)}: {percent(share, 1)} of the rows"
        wide = plane.x(high) - x - 0.5
        sheet.rect(x, top, wide, plane.y.start - top, "often mark", title=title)
    if edges[0] < 0 < edges[-1]:
        sheet.line(plane.x(0), plane.y.stop, plane.x(0), plane.y.start, "axis")
    return sheet.markup()
