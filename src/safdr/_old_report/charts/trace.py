"""How the annealing went: the criterion rises and settles while fewer swaps are accepted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from safdr._old_report.charts.scale import Scale, padded, tick_text
from safdr._old_report.charts.svg import Sheet
from safdr._old_report.numbers import percent, significant

LEFT = 46
RIGHT = 14
HEAD = 24
UPPER = 170
BETWEEN = 44
LOWER = 64
FOOT = 44


def draw_trace(content: Mapping[str, Any], labels: Mapping[int, str], width: int) -> str:
    """Draw mean and spread of the criterion over the replicas, and below the swaps accepted."""
    trace = content["trace"]
    steps = list(range(len(trace["beta"])))
    sheet = Sheet(width, HEAD + UPPER + BETWEEN + LOWER + FOOT, _spoken(trace))
    x = Scale(0, steps[-1], LEFT, width - RIGHT)
    # Where the criterion has no finite mean there is nothing to draw.
    known = [i for i in steps if None not in (trace["mean"][i], trace["std"][i])]
    low = [trace["mean"][i] - trace["std"][i] for i in known]
    high = [trace["mean"][i] + trace["std"][i] for i in known]
    upper = Scale(*padded([*low, *high]), HEAD + UPPER, HEAD)
    lower = Scale(0.0, 1.0, HEAD + UPPER + BETWEEN + LOWER, HEAD + UPPER + BETWEEN)
    _draw_grid(sheet, upper, width)
    _draw_shares(sheet, lower, width, trace["n_families"] is not None)
    band = [(x(i), upper(v)) for i, v in zip(known, high, strict=True)]
    band += [(x(i), upper(v)) for i, v in zip(known[::-1], low[::-1], strict=True)]
    sheet.add("polygon", "band", points=" ".join(f"{a:.1f},{b:.1f}" for a, b in band))
    sheet.polyline([(x(i), upper(trace["mean"][i])) for i in known], "curve")
    accepted = [(x(i), lower(v)) for i, v in enumerate(trace["acceptance"]) if v is not None]
    sheet.polyline(accepted, "curve second")
    if trace["n_families"] is not None:
        left = [n / trace["n_families"][0] for n in trace["n_families"]]
        sheet.polyline([(x(i), lower(v)) for i, v in enumerate(left)], "rule")
    _draw_time(sheet, x, trace, lower.start, width)
    _draw_hover(sheet, x, trace, lower.start)
    return sheet.markup()


def _draw_grid(sheet: Sheet, y: Scale, width: float) -> None:
    sheet.text(0, HEAD - 10, "criterion: mean of the replicas ± 1 standard deviation", "first")
    ticks = y.ticks(4)
    for value in ticks:
        sheet.line(LEFT, y(value), width - RIGHT, y(value), "grid")
        sheet.text(LEFT - 8, y(value) + 4, tick_text(value, ticks), "tick end")


def _draw_shares(sheet: Sheet, y: Scale, width: float, families: bool) -> None:
    text = "swaps accepted; dashed: families left" if families else "swaps accepted"
    sheet.text(0, y.stop - 14, text, "second")
    for share in (0.0, 0.5, 1.0):
        sheet.line(LEFT, y(share), width - RIGHT, y(share), "grid")
        sheet.text(LEFT - 8, y(share) + 4, percent(share), "tick end")


def _draw_time(
    sheet: Sheet, x: Scale, trace: Mapping[str, Any], bottom: float, width: float
) -> None:
    for step in x.ticks(8):
        if step == int(step):
            sheet.text(x(step), bottom + 18, str(int(step)), "tick middle")
    text = "temperature step: hot and random at the left, cold at the right"
    sheet.text((LEFT + width - RIGHT) / 2, bottom + 38, text, "tick middle")


def _draw_hover(sheet: Sheet, x: Scale, trace: Mapping[str, Any], bottom: float) -> None:
    """Invisible columns that tell their numbers when pointed at."""
    pitch = x(1) - x(0)
    for i, beta in enumerate(trace["beta"]):
        title = (
            f"step {i}, inverse temperature {significant(beta)}\n"
            f"criterion {significant(trace['mean'][i], 4)} ± {significant(trace['std'][i])}\n"
            f"swaps accepted: {percent(trace['acceptance'][i])}"
        )
        if trace["n_families"] is not None:
            title += f"\nfamilies left: {trace['n_families'][i]}"
        sheet.rect(x(i) - pitch / 2, HEAD, pitch, bottom - HEAD, "hover", title=title)


def _spoken(trace: Mapping[str, Any]) -> str:
    """What the chart says, in words."""
    end = "It settled." if trace["converged"] else "It had not settled when the steps ran out."
    return (
        f"Line chart: over {len(trace['beta']) - 1} temperature steps the mean criterion of the "
        f"replicas went from {significant(trace['mean'][0])} to {significant(trace['mean'][-1])}. "
        f"{end} Table below."
    )
