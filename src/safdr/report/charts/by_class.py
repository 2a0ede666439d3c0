"""The chosen features by class: how much one standard deviation of each moves the score of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from safdr.report.charts.svg import FONT, GAP, NARROW_BELOW, Sheet
from safdr.report.numbers import signed, significant
from safdr.report.tasks import task_of
from safdr.report.text import column_width, fit, fitted

# The commonest; the table has them all.
MOST_CLASSES = 24
NAMES = 230
# A number with its sign, and more where there is room.
CELL, WIDEST_CELL = 66.0, 110.0
HEAD = 22
BETWEEN = 18
# So strong that the number on it can still be read.
STRONGEST = 0.5


def draw_coefficients_by_class(
    content: Mapping[str, Any], labels: Mapping[int, str], width: int
) -> str:
    """Draw a row of cells for each feature, the strongest first; many classes in several blocks."""
    features, shown = content["features"], shown_classes(content)
    narrow = width < NARROW_BELOW
    own = {f["index"]: labels[f["index"]] for f in features}
    names = width if narrow else column_width(own.values(), NAMES, FONT)
    row, left = (42, 0.0) if narrow else (24, names + GAP)
    blocks = _blocks(shown, int((width - left) // CELL))
    block_height = HEAD + row * len(features) + BETWEEN
    sheet = Sheet(width, block_height * len(blocks) - BETWEEN + 4, _spoken(content, labels))
    column = min(WIDEST_CELL, (width - left) / len(blocks[0]))
    short = fitted(own, names, FONT)
    largest = max(abs(f["standardised_coefficients"][c]) for f in features for c in shown) or 1.0
    for number, block in enumerate(blocks):
        top = block_height * number
        for place, c in enumerate(block):
            label = str(content["target"]["classes"][c])
            x = left + (place + 0.5) * column
            text = fit(label, column - 6, FONT)
            sheet.text(x, top + 14, text, "tick middle", title=label)
        for i, feature in enumerate(features):
            y = top + HEAD + row * i
            if narrow:
                sheet.text(0, y + 14, short[feature["index"]], "name halo")
            else:
                sheet.text(names, y + 16, short[feature["index"]], "name end")
            for place, c in enumerate(block):
                x, y_cell = left + place * column, y + (19 if narrow else 1)
                _draw_cell(sheet, content, feature, labels, c, (x, y_cell, column), largest)
    return sheet.markup()


def shown_classes(content: Mapping[str, Any]) -> list[int]:
    """Places of the commonest classes."""
    counts = list(content["target"]["counts"].values())
    commonest = sorted(range(len(counts)), key=lambda c: -counts[c])[:MOST_CLASSES]
    return sorted(commonest)


def _blocks(classes: Sequence[int], most: int) -> list[Sequence[int]]:
    """As few blocks as there is room for, of nearly equal length."""
    n_blocks = -(-len(classes) // most)
    length = -(-len(classes) // n_blocks)
    return [classes[i : i + length] for i in range(0, len(classes), length)]


def _draw_cell(
    sheet: Sheet,
    content: Mapping[str, Any],
    feature: Mapping[str, Any],
    labels: Mapping[int, str],
    c: int,
    place: tuple[float, float, float],
    largest: float,
) -> None:
    """One number, on a ground as strong as it is large."""
    x, y, column = place
    value = feature["standardised_coefficients"][c]
    title = (
        f"{labels[feature['index']]}, {content['target']['classes'][c]}\n{_number(value)} per "
        f"standard deviation ({significant(feature['standard_deviation'])})\n"
        f"{significant(feature['coefficients'][c], 4)} per unit"
    )
    group = sheet.add("g", "mark", title=title)
    style = "raises" if value > 0 else "lowers"
    strength = f"{STRONGEST * abs(value) / largest:.3f}"
    sheet.rect(x + 1, y, column - 2, 20, style, within=group, rx=2, fill_opacity=strength)
    sheet.text(x + column / 2, y + 15, _number(value), "value middle", within=group)


def _number(value: float) -> str:
    return signed(value, 2) if abs(value) < 1000 else significant(value, 2)


def _spoken(content: Mapping[str, Any], labels: Mapping[int, str]) -> str:
    """What the chart says, in words."""
    classes = content["target"]["classes"]
    said = []
    for feature in content["features"][:3]:
        values = feature["standardised_coefficients"]
        c = max(range(len(values)), key=lambda i: abs(values[i]))
        said.append(f"{labels[feature['index']][:80]} {_number(values[c])} for {classes[c]}")
    first = ", ".join(said)
    return f"Cells: {task_of(content).effect}. Strongest: {first}. Table below."
