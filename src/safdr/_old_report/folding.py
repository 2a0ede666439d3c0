"""Models of many columns: a large group, such as the values of a category, is one row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

# Columns of a group that are shown each.
MOST_OPEN = 4

Feature = Mapping[str, Any]


def grouped(content: Mapping[str, Any]) -> list[tuple[str | None, list[Feature]]]:
    """The chosen columns, those of a group together, with its name."""
    groups = groupby(content["features"], key=lambda each: each["group"])
    return [(group, list(features)) for group, features in groups]


def is_folded(group: str | None, features: list[Feature]) -> bool:
    """Whether a group is one row until it is opened."""
    return group is not None and len(features) > MOST_OPEN


def effect_rows(content: Mapping[str, Any]) -> Iterator[tuple[Feature | None, Feature]]:
    """Rows to draw, the strongest first: a column and its numbers, or no column but a group's."""
    together = {each["name"]: each for each in content["group_effects"]}
    for group, features in grouped(content):
        if group is not None and is_folded(group, features):
            yield None, together[group]
        else:
            yield from ((feature, feature) for feature in features)


def member_label(label: str, group: str | None) -> str:
    """What to call a column below the name of its category: its value alone."""
    return label.removeprefix(f"{group} ") if label.startswith(f"{group} = ") else label


def dominated(values: list[float]) -> float | None:
    """Where to cut the bars of a few values that would leave nothing to see of the others.

    The few are at most a third of all, each at least three times as large as the largest other; the
    cut leaves a fifth of the room to them.
    """
    ordered = sorted(map(abs, values), reverse=True)
    for i in range(1, len(ordered) // 3 + 1):
        if ordered[i] > 0 and ordered[i - 1] > 3 * ordered[i]:
            return 1.25 * ordered[i]
    return None
