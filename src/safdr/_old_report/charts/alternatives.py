"""The other good subsets: what each has in place of the chosen one, and how much worse it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from xml.etree.ElementTree import Element

from safdr._old_report.charts.scale import Scale, tick_text
from safdr._old_report.charts.svg import FONT, GAP, Sheet
from safdr._old_report.numbers import counted, decimals, excess
from safdr._old_report.tasks import task_of
from safdr._old_report.text import column_width, features_in, fit
from safdr._old_report.text import width as text_width

ROW, BAR = 24, 12
NAMES = 400
NUMBER = 66
FOOT = 40
# Room for the held-out score.
SCORE = 92
# The scale reaches this much at least: what is less is no difference that anyone would look at.
LEAST = 0.01


def draw_alternatives(content: Mapping[str, Any], labels: Mapping[int, str], width: int) -> str:
    """Draw a bar for each subset, the chosen one first, and its held-out score beside it."""
    subsets = content["alternatives"]
    task = task_of(content)
    scored = SCORE if subsets[0]["held_out"] is not None else 0
    differences = [difference(differing(each, content), labels, NAMES) for each in subsets]
    names = column_width((short for short, _ in differences), NAMES, FONT)
    left = names + GAP
    head = 20 if scored else 0
    bottom = head + ROW * len(subsets) + 2
    sheet = Sheet(width, bottom + FOOT, _spoken(subsets, task.loss_words))
    largest = max(each["excess"] or 0.0 for each in subsets)
    scale = Scale(0.0, max(largest, LEAST), left, width - NUMBER - scored)
    _draw_axis(sheet, scale, (head, bottom), (left + scale.stop) / 2, task.loss_words)
    if scored:
        sheet.text(width, 13, f"{task.score_in_short}, held out", "tick end")
    for i, (each, (short, full)) in enumerate(zip(subsets, differences, strict=True)):
        title = f"{full}\n{excess(each['excess'])}, {counted(each['replicas'], 'replica')}"
        group = sheet.add("g", "mark", title=title)
        top = head + ROW * i + 6
        sheet.text(names, top + BAR - 2, short, "name end", within=group)
        _draw_bar(sheet, group, each["excess"], scale, top)
        if scored:
            score = decimals(each["held_out"], 4)
            sheet.text(width, top + BAR - 2, score, "value end", within=group)
    return sheet.markup()


def _draw_axis(
    sheet: Sheet, scale: Scale, ends: tuple[float, float], middle: float, loss: str
) -> None:
    """Marks from nothing on."""
    top, bottom = ends
    ticks = scale.ticks(4)
    for value in ticks:
        sheet.line(scale(value), top, scale(value), bottom, "axis" if value == 0 else "grid")
        text = f"{tick_text(100 * value, [100 * each for each in ticks])} %"
        sheet.text(scale(value), bottom + 15, text, "tick middle")
    caption = f"more {loss} than the chosen set"
    middle = max(middle, text_width(caption, FONT) / 2)
    sheet.text(middle, bottom + 33, caption, "tick middle")


def differing(each: Mapping[str, Any], content: Mapping[str, Any]) -> tuple[list[int], list[int]]:
    """Give the features that a subset has besides the chosen one, and those that it lacks."""
    own, chosen = (
        features_in(subset["indices"], content) for subset in (each, content["alternatives"][0])
    )
    return [i for i in own if i not in set(chosen)], [i for i in chosen if i not in set(own)]


def difference(
    difference: tuple[list[int], list[int]], labels: Mapping[int, str], room: float
) -> tuple[str, str]:
    """Write a difference in a line, shortened fairly between the two sides, and in full."""
    gained, lost = difference
    if not gained and not lost:
        return "the chosen features", "the chosen features"
    new, old = ([labels[i] for i in side] for side in (gained, lost))
    full = f"{', '.join(new) or 'nothing'}\ninstead of\n{', '.join(old) or 'nothing'}"
    if not new or not old:
        some = _some_of(new or old, room - text_width("without ", FONT))
        return f"{'with' if new else 'without'} {some}", full
    room -= text_width(" for ", FONT)
    # A side that takes less than half leaves the rest to the other.
    sides = [text_width(", ".join(names), FONT) for names in (new, old)]
    share = [max(room / 2, room - other) for other in reversed(sides)]
    pair = (_some_of(names, own) for names, own in zip((new, old), share, strict=True))
    return " for ".join(pair), full


def _some_of(names: list[str], room: float) -> str:
    """As many whole names as there is room for, and how many more there are."""
    for shown in range(len(names), 0, -1):
        more = f" +{len(names) - shown}" if shown < len(names) else ""
        text = ", ".join(names[:shown]) + more
        if text_width(text, FONT) <= room:
            return text
    more = f" +{len(names) - 1}" if len(names) > 1 else ""
    return fit(names[0], room - text_width(more, FONT), FONT) + more


def _draw_bar(sheet: Sheet, group: Element, share: float | None, scale: Scale, top: float) -> None:
    """One bar, with its number at the end; nothing is still two pixels, to be seen."""
    length = 0.0 if share is None else max(scale(share) - scale.start, 2.0)
    if share is not None:
        sheet.rect(scale.start, top, length, BAR, "worse", within=group, rx=2)
    sheet.text(scale.start + length + 6, top + BAR - 2, excess(share), "value", within=group)


def _spoken(subsets: list[Mapping[str, Any]], loss: str) -> str:
    """What the chart says, in words."""
    return (
        f"Bars: {loss} of {len(subsets)} subsets relative to the chosen one, from "
        f"{excess(subsets[1]['excess'])} to {excess(subsets[-1]['excess'])}. Table below."
    )
