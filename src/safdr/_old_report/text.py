"""Untrusted names as one line of text, and how much room a text takes without a font to measure."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

# They join emoji and shape Persian and Indic letters; all other invisible characters are dropped,
# above all those that turn the direction of the text around them.
JOINERS = "\u200c\u200d"
NAMELESS = "(no name)"

# Widths in units of the font size, those of DejaVu Sans, the broadest of the common sans-serif
# fonts: a label that comes out a little short is better than one that runs into its neighbour.
NARROW = frozenset("iIjlftr.,:;'|!()[]{}/\\-` ")
BROAD = frozenset("mwMW@%<>=+#~^&")


def one_line(name: object) -> str:
    """Write a name on one line, without control characters; never empty."""
    kept = (char if char.isprintable() or char in JOINERS else " " for char in str(name))
    return " ".join("".join(kept).split()) or NAMELESS


def quoted(label: Any) -> Any:
    """Give a label, in quotes where it begins or ends with a space, which one line would lose."""
    return f'"{label}"' if isinstance(label, str) and label != label.strip() else label


def labels_of(content: Mapping[str, Any]) -> dict[int, str]:
    """From the index of a column to its label; equal names get their column number."""
    names = dict(_features_of(content))
    near = (content["near_ties"] or {}).get("sets", [])
    proven = [content["proof"]] if content["proof"] and content["proof"]["reason"] is None else []
    for part in (*content["groups"], *content["alternatives"], *near, *proven):
        names.update(zip(part["indices"], part["features"], strict=True))
    names.update((feature["index"], feature["name"]) for feature in content["features"])
    lines = {index: one_line(name) for index, name in names.items()}
    return _told_apart(lines, lines)


def _features_of(content: Mapping[str, Any]) -> Iterator[tuple[int, str]]:
    """Features that charts name; of a group, whose name is no column's, the columns come later."""
    selection = content["selection"]
    yield from zip(selection["indices"], selection["features"], strict=True)
    for each in (content["stability"] or {}).get("features", []):
        yield each["index"], each["name"]
    for each in (content["what_if"] or {}).get("features", []):
        yield each["index"], each["name"]
    for each in content["substitutes"] or []:
        yield each["chosen_index"], each["chosen"]
        if each["replacement_index"] is not None:
            yield each["replacement_index"], each["replacement"]


def feature_labels_of(content: Mapping[str, Any]) -> dict[int, str]:
    """Give each feature that the report mentions one line: a group of columns has one."""
    grouped = {j for group in content["groups"] for j in group["indices"]}
    lines = {j: label for j, label in labels_of(content).items() if j not in grouped}
    lines |= {group["indices"][0]: one_line(group["name"]) for group in content["groups"]}
    return _told_apart(lines, lines)


def features_in(indices: Iterable[int], content: Mapping[str, Any]) -> list[int]:
    """Give the features that some columns belong to, each once."""
    first = {j: group["indices"][0] for group in content["groups"] for j in group["indices"]}
    return list(dict.fromkeys(first.get(j, j) for j in indices))


def fitted(labels: Mapping[int, str], room: float, size: float) -> dict[int, str]:
    """Shorten labels until they fit; those that end up the same get their column number."""
    short = {index: fit(label, room, size) for index, label in labels.items()}
    tail = width(f" #{max(labels, default=0)}", size)
    shorter = {index: fit(label, room - tail, size) for index, label in labels.items()}
    return _told_apart(short, shorter)


def fit(text: str, room: float, size: float) -> str:
    """Cut the middle out of a text until it fits: the two ends are what tells names apart."""
    kept = min(len(text), int(room / size / 0.2))
    short = text if kept == len(text) else _without_middle(text, kept)
    while kept > 1 and (measured := width(short, size)) > room:
        kept = min(kept - 1, int(kept * room / measured) + 1)
        short = _without_middle(text, kept)
    return short


def column_width(texts: Iterable[str], most: float, size: float) -> float:
    """Give the width of a column that holds some texts, but no more than there is room for."""
    return min(most, max(width(text, size) for text in texts))


def width(text: str, size: float) -> float:
    """Estimate the width of a text."""
    return size * sum(_width_of(char) for char in text)


def _width_of(char: str) -> float:
    if unicodedata.combining(char) or char in JOINERS:
        return 0.0
    if unicodedata.east_asian_width(char) in "WF":
        return 1.3  # emoji are broader than their font size
    if char in NARROW:
        return 0.42
    if char in BROAD:
        return 1.0
    return 0.74 if char.isupper() or ord(char) > 0x2FF else 0.63


def _without_middle(text: str, kept: int) -> str:
    head = (kept + 1) // 2
    tail = text[len(text) - (kept - head) :].lstrip() if kept > head else ""
    return f"{text[:head].rstrip()}…{tail}"


def _told_apart(lines: dict[int, str], stems: dict[int, str]) -> dict[int, str]:
    """The lines; where several are the same, their stems with the column number."""
    times = Counter(lines.values())
    return {
        index: f"{stems[index]} #{index}" if times[line] > 1 else line
        for index, line in lines.items()
    }


def tidied(value: Any) -> Any:
    """Give content with every text in it on one line; keys stay."""
    if isinstance(value, Mapping):
        return {key: tidied(each) for key, each in value.items()}
    if isinstance(value, list):
        return [tidied(each) for each in value]
    return one_line(value) if isinstance(value, str) else value
