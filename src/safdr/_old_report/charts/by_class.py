"""The chosen features by class: how much one standard deviation of each moves the score of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from safdr._old_report.charts.svg import FONT, GAP, Sheet
from safdr._old_report.folding import dominated, effect_rows
from safdr._old_report.numbers import counted, decimals, signed, significant
from safdr._old_report.tasks import task_of
from safdr._old_report.text import column_width, fit, fitted, one_line

Numbers = Mapping[str, Any]

# The commonest; the table has them all.
MOST_CLASSES = 24
NAMES = 230
ROW = 24
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
    rows, shown = [_Row.of(*row, labels) for row in effect_rows(content)], shown_classes(content)
    own = {i: each.label for i, each in enumerate(rows)}
    names = column_width(own.values(), NAMES, FONT)
    left = names + GAP
    blocks = _blocks(shown, int((width - left) // CELL))
    block_height = HEAD + ROW * len(rows) + BETWEEN
    sheet = Sheet(width, block_height * len(blocks) - BETWEEN + 4, _spoken(content, rows))
    column = min(WIDEST_CELL, (width - left) / len(blocks[0]))
    short = fitted(own, names, FONT)
    values = [each.values[c] for each in rows for c in shown]
    strongest = dominated(values) or max(map(abs, values)) or 1.0
    for number, block in enumerate(blocks):
        top = block_height * number
        for place, c in enumerate(block):
            label = str(content["target"]["classes"][c])
            x = left + (place + 0.5) * column
            text = fit(label, column - 6, FONT)
            sheet.text(x, top + 14, text, "tick middle", title=label)
        for i, each in enumerate(rows):
            y = top + HEAD + ROW * i
            sheet.text(names, y + 16, short[i], "name end")
            for place, c in enumerate(block):
                x = left + place * column
                title = each.title(c, str(content["target"]["classes"][c]))
                _draw_cell(sheet, each, c, title, (x, y + 1, column), strongest)
    return sheet.markup()


@dataclass(frozen=True)
class _Row:
    """A column, or a large group, whose numbers have no sign."""

    label: str
    values: Sequence[float]
    feature: Numbers | None

    @classmethod
    def of(
        cls,
        feature: Mapping[str, Any] | None,
        numbers: Mapping[str, Any],
        labels: Mapping[int, str],
    ) -> _Row:
        if feature is not None:
            return cls(labels[feature["index"]], feature["standardised_coefficients"], feature)
        columns = counted(numbers["n_columns"], "column")
        return cls(f"{one_line(numbers['name'])} ({columns})", numbers["effects"], None)

    def number(self, c: int) -> str:
        value = self.values[c]
        if abs(value) >= 1000:
            return significant(value, 2)
        return decimals(value, 2) if self.feature is None else signed(value, 2)

    def title(self, c: int, class_name: str) -> str:
        head = f"{self.label}, {class_name}\n{self.number(c)}"
        if self.feature is None:
            return f"{head}: the standard deviation of what its columns add up to"
        return (
            f"{head} per standard deviation ({significant(self.feature['standard_deviation'])})\n"
            f"{significant(self.feature['coefficients'][c], 4)} per unit"
        )


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
    row: _Row,
    c: int,
    title: str,
    place: tuple[float, float, float],
    strongest: float,
) -> None:
    """One number, on a ground as strong as it is large."""
    x, y, column = place
    value = row.values[c]
    group = sheet.add("g", "mark", title=title)
    style = "spread" if row.feature is None else "raises" if value > 0 else "lowers"
    strength = f"{STRONGEST * min(1.0, abs(value) / strongest):.3f}"
    sheet.rect(x + 1, y, column - 2, 20, style, within=group, rx=2, fill_opacity=strength)
    sheet.text(x + column / 2, y + 15, row.number(c), "value middle", within=group)


def _spoken(content: Mapping[str, Any], rows: Sequence[_Row]) -> str:
    """What the chart says, in words."""
    classes = content["target"]["classes"]
    said = []
    for row in rows[:3]:
        c, _ = max(enumerate(row.values), key=lambda pair: abs(pair[1]))
        said.append(f"{row.label[:80]} {row.number(c)} for {classes[c]}")
    first = ", ".join(said)
    return f"Cells: {task_of(content).effect}. Strongest: {first}. Table below."
