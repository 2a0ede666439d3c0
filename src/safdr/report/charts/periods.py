"""How the model does over time: what was predicted and observed, and the score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from safdr.report.charts.plane import Plane, percent_text
from safdr.report.charts.scale import padded, tick_text
from safdr.report.charts.svg import Sheet
from safdr.report.numbers import counted, decimals
from safdr.report.tasks import task_of

HEIGHT = 250
SCORES = 190


def draw_periods(content: Mapping[str, Any], labels: Mapping[int, str], width: int) -> str:
    """Draw predicted and observed in each period; and the score where rows were held out."""
    periods = content["risk"]["periods"]
    scored = [each for each in periods if each["score"] is not None]
    sheet = Sheet(width, HEIGHT + SCORES * bool(scored), _spoken(content))
    is_share = task_of(content).name == "classification"
    names = list(dict.fromkeys(each["name"] for each in periods))
    _draw_rates(sheet, periods, names, width, is_share)
    if scored:
        _draw_scores(sheet, scored, names, width, task_of(content).score)
    return sheet.markup()


def _draw_rates(
    sheet: Sheet, periods: Sequence[Mapping[str, Any]], names: list[str], width: int, is_share: bool
) -> None:
    keys = ("observed", "low", "high", "expected")
    values = [each[key] for each in periods for key in keys if each[key] is not None]
    low, high = padded(values)
    if is_share:
        low, high = max(0.0, low), min(1.0, high)
    box = (0.0, 0.0, float(width), float(HEIGHT))
    write = percent_text if is_share else tick_text
    plane = _plane(sheet, box, names, (low, high), "predicted and observed", write)
    inset = _inset(periods)
    for held_out, side in ((False, -inset), (True, inset)):
        some = [each for each in periods if each["held_out"] == held_out]
        points = [
            (names.index(each["name"]) + side, each["expected"])
            for each in some
            if each["expected"] is not None
        ]
        plane.curve(points, "rule")
        for each in some:
            x = names.index(each["name"]) + side
            if each["low"] is not None:
                plane.whisker(x, each["low"], each["high"])
            style = "point mark" if held_out else "point mark learnt"
            plane.dot(x, each["observed"], _title(each), style)


def _draw_scores(
    sheet: Sheet, scored: Sequence[Mapping[str, Any]], names: list[str], width: int, name: str
) -> None:
    found = [(names.index(each["name"]), each["score"], each) for each in scored]
    ends = [score[key] for _, score, _ in found for key in ("value", "low", "high")]
    low, high = padded([end for end in ends if end is not None])
    box = (0.0, float(HEIGHT), float(width), float(HEIGHT + SCORES))
    title = f"{name}, held-out rows"
    plane = _plane(sheet, box, names, (low, min(high, 1.0)), title, tick_text)
    for x, score, each in found:
        if score["low"] is not None:
            plane.whisker(x, score["low"], score["high"])
        plane.dot(x, score["value"], f"{each['name']}: {decimals(score['value'])}")


def _plane(
    sheet: Sheet,
    box: tuple[float, float, float, float],
    names: list[str],
    y: tuple[float, float],
    title: str,
    write: Any,
) -> Plane:
    ends = (-0.5, len(names) - 0.5)
    plane = Plane.on(sheet, box, ends, y, titles=("", title), write=(None, write))
    plane.name_below(names)
    return plane


def _inset(periods: Sequence[Mapping[str, Any]]) -> float:
    """How far apart rows of both kinds stand, where a period has both."""
    held_out, learnt = (
        {e["name"] for e in periods if e["held_out"] is own} for own in (True, False)
    )
    return 0.14 if held_out & learnt else 0.0


def _title(each: Mapping[str, Any]) -> str:
    kind = "held out" if each["held_out"] else "learnt from"
    return f"{each['name']}: {counted(each['n_rows'], 'row')} {kind}"


def _spoken(content: Mapping[str, Any]) -> str:
    periods = content["risk"]["periods"]
    return (
        f"Points: what was observed from {periods[0]['name']} to {periods[-1]['name']}, beside "
        f"what was predicted; below, the {task_of(content).score} of the held-out rows. Table "
        "below."
    )
