"""Which features come in at which size: a ribbon for each, the stronger the more splits agree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from safdr._old_report.charts.scale import size_ticks
from safdr._old_report.charts.svg import BOLD, FONT, GAP, Sheet
from safdr._old_report.numbers import counted
from safdr._old_report.text import column_width, features_in, fit, fitted
from safdr._old_report.text import width as text_width

# More rows say no more; the table has them all.
MOST_ROWS = 40
NAMES, ROW = 230, 22
HEAD = 26
FOOT = 42
RIGHT = 6
WIDEST_COLUMN = 44.0
# The faintest ribbon must still be seen.
FAINTEST = 0.18


def draw_selection(content: Mapping[str, Any], labels: Mapping[int, str], width: int) -> str:
    """Draw a row for each feature, in the order in which they come in."""
    selection = content["selection"]
    sizes, shown = selection["sizes"], selection["indices"][:MOST_ROWS]
    names = column_width((labels[i] for i in shown), NAMES, BOLD * FONT)
    column = min(WIDEST_COLUMN, (width - names - GAP - RIGHT) / len(sizes))
    left, bottom = names + GAP, HEAD + ROW * len(shown)
    sheet = Sheet(width, bottom + FOOT, _spoken(content, labels, len(shown)))
    short = fitted({i: labels[i] for i in shown}, names, BOLD * FONT)
    kept = set(features_in((feature["index"] for feature in content["features"]), content))
    for number, (index, shares) in enumerate(zip(shown, selection["share"], strict=False)):
        top = HEAD + ROW * number
        style = "name end kept" if index in kept else "name end muted"
        sheet.text(names, top + ROW - 6, short[index], style, title=labels[index])
        sheet.line(left, top + ROW / 2, left + column * len(sizes), top + ROW / 2, "grid")
        _draw_ribbon(sheet, labels[index], sizes, shares, (left, top + 2, column, ROW - 4))
    for size in size_ticks(sizes, column):
        at = left + (sizes.index(size) + 0.5) * column
        sheet.text(at, bottom + 18, str(size), "tick middle")
    _draw_chosen_column(sheet, content, left, column, bottom, width)
    _draw_axis_title(sheet, left + column * len(sizes) / 2, bottom + 37, width)
    return sheet.markup()


def _draw_axis_title(sheet: Sheet, middle: float, baseline: float, width: float) -> None:
    """In the middle of the columns, or at the right edge where that would cut it."""
    text = "number of features"
    half = text_width(text, FONT) / 2
    sheet.text(min(middle, width - half), baseline, text, "tick middle")


def _draw_chosen_column(
    sheet: Sheet,
    content: Mapping[str, Any],
    left: float,
    column: float,
    bottom: float,
    width: float,
) -> None:
    chosen = content["size"]["chosen"]
    x = left + content["selection"]["sizes"].index(chosen) * column
    sheet.rect(x - 1, HEAD - 3, column + 1, bottom - HEAD + 6, "column")
    text = f"chosen: {chosen}"
    fits = x + text_width(text, FONT) <= width
    place, anchor = (x, "") if fits else (x + column, " end")
    sheet.text(place, HEAD - 10, text, "chosen" + anchor)


def _draw_ribbon(
    sheet: Sheet,
    label: str,
    sizes: list[int],
    shares: list[float],
    box: tuple[float, float, float, float],
) -> None:
    """Neighbouring sizes with the same share are one piece: a page of cells would be too heavy."""
    left, top, column, height = box
    for first, last, share in _runs(shares):
        sheet.rect(
            left + first * column,
            top,
            (last - first + 1) * column - 1,
            height,
            "ribbon mark",
            title=_title(label, sizes[first], sizes[last], share),
            fill_opacity=f"{FAINTEST + (1 - FAINTEST) * share:.2f}",
        )


def _title(label: str, first: int, last: int, share: float) -> str:
    span = f"{first}" if first == last else f"{first} to {last}"
    noun = "feature" if last == 1 else "features"
    return f"{fit(label, 40, 1)}\nwith {span} {noun}: in {share:.0%} of the splits"


def _runs(shares: list[float]) -> Iterator[tuple[int, int, float]]:
    """First and last position of each run of one share above zero."""
    for share, run in groupby(range(len(shares)), key=lambda i: shares[i]):
        positions = list(run)
        if share > 0:
            yield positions[0], positions[-1], share


def _spoken(content: Mapping[str, Any], labels: Mapping[int, str], n_rows: int) -> str:
    """What the chart says, in words."""
    first = ", ".join(labels[i][:80] for i in content["selection"]["indices"][:3])
    return (
        f"Heat map: in how many splits each of {counted(n_rows, 'feature')} was chosen at each "
        f"size. First to come in: {first}. Table below."
    )
