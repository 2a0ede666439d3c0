"""The other good subsets: what each has in place of the chosen one, and how much worse it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from xml.etree.ElementTree import Element

from safdr.report.charts.scale import Scale
from safdr.report.charts.svg import FONT, GAP, NARROW_BELOW, Sheet
from safdr.report.numbers import counted, excess
from safdr.report.tasks import task_of
from safdr.report.text import column_width, features_in, fit
from safdr.report.text import width as text_width

BAR = 12
NAMES = 400
NUMBER = 66


def draw_alternatives(content: Mapping[str, Any], labels: Mapping[int, str], width: int) -> str:
    """Draw a bar for each subset, the chosen one first."""
    subsets = content["alternatives"]
    narrow = width < NARROW_BELOW
    room = width if narrow else NAMES
    differences = [difference(differing(each, content), labels, room) for each in subsets]
    names = column_width((short for short, _ in differences), room, FONT)
    row, left = (40, 0.0) if narrow else (24, names + GAP)
    loss = task_of(content).loss_words
    sheet = Sheet(width, row * len(subsets) + 4, _spoken(subsets, loss))
    largest = max(each["excess"] or 0.0 for each in subsets)
    scale = Scale(0.0, largest or 1.0, left, width - NUMBER)
    sheet.line(left + 0.5, 0, left + 0.5, row * len(subsets), "axis")
    for i, (each, (short, full)) in enumerate(zip(subsets, differences, strict=True)):
        title = f"{full}\n{excess(each['excess'])}, {counted(each['replicas'], 'replica')}"
        group = sheet.add("g", "mark", title=title)
        top = row * i + (20 if narrow else 6)
        if narrow:
            sheet.text(0, top - 5, short, "name halo", within=group)
        else:
            sheet.text(names, top + BAR - 2, short, "name end", within=group)
        _draw_bar(sheet, group, each["excess"], scale, top)
    return sheet.markup()


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
    if not gained:
        return "the chosen features", "the chosen features"
    new, old = ([labels[i] for i in side] for side in (gained, lost))
    full = f"{', '.join(new)}\ninstead of\n{', '.join(old)}"
    if len(gained) > 1 or len(lost) != 1:
        return _some_of(new, room), full
    each_room = (room - text_width(" for ", FONT)) / 2
    spare = max(0.0, each_room - min(text_width(new[0], FONT), text_width(old[0], FONT)))
    return " for ".join(fit(side[0], each_room + spare, FONT) for side in (new, old)), full


def _some_of(names: list[str], room: float) -> str:
    """As many whole names as there is room for."""
    head = f"{counted(len(names), 'other')}: "
    for shown in range(len(names), 0, -1):
        text = head + ", ".join(names[:shown]) + (", …" if shown < len(names) else "")
        if text_width(text, FONT) <= room:
            return text
    return head + fit(names[0], room - text_width(head + ", …", FONT), FONT) + ", …"


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
