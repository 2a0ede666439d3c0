"""The chosen features with their coefficients, as a table on a terminal: one for each task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich import box
from rich.table import Column, Table
from rich.text import Text

from safdr.cli.words import name_text, number, ratio, safe
from safdr.report.folding import grouped, member_label
from safdr.report.numbers import signed, significant
from safdr.report.tasks import MORE_CLASSES, REGRESSION, TWO_CLASSES, task_of

UP, DOWN, DIM = "cyan", "magenta", "dim"
# Wide enough to compare, narrow enough for 80 columns.
BAR_CELLS = 10
# Classes that have a column each; of more, the two that a feature speaks for and against most.
MOST_CLASSES = 6
BAR = "  − effect +"


def coefficients(content: Mapping[str, Any]) -> Table:
    """Chosen features, coefficients, and a bar for each, where there is one."""
    headings, cells, last = TABLES[task_of(content)]
    table = Table(
        Column("Feature", overflow="fold", min_width=12),
        *(Column(Text(text), justify="right", no_wrap=True) for text in headings(content)),
        box=box.SIMPLE_HEAD,
        header_style="bold",
    )
    longest = max((each["strength"] or 0.0 for each in content["features"]), default=0.0) or 1.0
    for group, features in grouped(content):
        if group is not None:
            table.add_row(name_text(group))
        for feature in features:
            table.add_row(_member(feature["name"], group), *cells(content, feature, longest))
    if intercepts := [Text(text, style=DIM) for text in last(content)]:
        table.add_row(Text("(intercept)", style=DIM), *intercepts)
    return table


def _member(name: str, group: str | None) -> Text:
    """A column; of a category that is named above it, the value alone."""
    if group is None:
        return name_text(name)
    return Text.assemble("  ", name_text(member_label(name, group)))


def _bar(share: float) -> Text:
    """A bar to the right of the middle, or to the left where the coefficient is negative."""
    half = BAR_CELLS // 2
    length = max(1, round(abs(share) * half)) if share else 0
    filled, empty = "━" * length, " " * (half - length)
    if share < 0:
        return Text.assemble(empty, (filled, DOWN), ("│", DIM), " " * half)
    return Text.assemble(" " * half, ("│", DIM), (filled, UP), empty)


# ---- One coefficient a feature ------------------------------------------------------------------


def _odds(_: Mapping[str, Any]) -> Sequence[str]:
    return "Coefficient", "Odds ratio", "per sd", BAR


def _odds_cells(_: Any, feature: Mapping[str, Any], longest: float) -> Iterator[str | Text]:
    effect = feature["standardised_coefficient"]
    yield number(feature["coefficient"])
    yield ratio(feature["odds_ratio"])
    yield ratio(feature["odds_ratio_per_deviation"])
    yield _bar((effect or 0.0) / longest)


def _changes(_: Mapping[str, Any]) -> Sequence[str]:
    return "Coefficient", "per sd", BAR


def _change_cells(_: Any, feature: Mapping[str, Any], longest: float) -> Iterator[str | Text]:
    effect = feature["standardised_coefficient"]
    yield number(feature["coefficient"])
    yield number(effect)
    yield _bar((effect or 0.0) / longest)


def _intercept(content: Mapping[str, Any]) -> Iterator[str]:
    yield number(content["intercept"])


# ---- One for each class -------------------------------------------------------------------------


def _classes(content: Mapping[str, Any]) -> Sequence[str]:
    labels = content["target"]["classes"]
    if len(labels) > MOST_CLASSES:
        return "per sd, most for", "most against"
    return [safe(label, 14) for label in labels]


def _class_cells(content: Any, feature: Mapping[str, Any], longest: float) -> Iterator[Text]:
    effects = feature["standardised_coefficients"] or []
    if len(content["target"]["classes"]) <= MOST_CLASSES:
        yield from (_signed(effect, longest) for effect in effects)
    elif effects:
        for extreme in (max, min):
            c = effects.index(extreme(effects))
            label = safe(content["target"]["classes"][c], 14)
            yield Text.assemble(f"{label} ", _signed(effects[c], longest))


def _signed(effect: float, longest: float) -> Text:
    """A number, in colour where it is much."""
    is_much = abs(effect) >= longest / 2
    text = signed(effect, 2) if abs(effect) < 1000 else number(effect)
    return Text(text, style=(UP if effect > 0 else DOWN) if is_much else "")


def _intercepts(content: Mapping[str, Any]) -> Iterator[str]:
    if len(content["target"]["classes"]) <= MOST_CLASSES:
        yield from (significant(each) for each in content["intercepts"] or [])


TABLES = {
    TWO_CLASSES: (_odds, _odds_cells, _intercept),
    MORE_CLASSES: (_classes, _class_cells, _intercepts),
    REGRESSION: (_changes, _change_cells, _intercept),
}
