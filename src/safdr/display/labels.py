"""Names of features and classes as text to draw. They come with the data: nobody vouches for them.

Matplotlib must be installed to use this module.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safdr.display.style import size_in_points

# Longer names are cut to this before they are measured; no picture has room for more.
MAX_CHARACTERS = 200

# Share of the width of the axes that the names of rows may take.
NAME_SHARE = 0.4

# Text a little smaller than a row does not touch its neighbours.
TEXT_SHARE = 0.75
MIN_TEXT_SIZE = 4.0


def plain(name: object) -> str:
    """Write a name on one line, with � for what the font lacks, and no mathematics."""
    return _escape(_one_line(name))


def fitted(name: object, width: float, size: float) -> str:
    """Write a name as `plain` does, shortened in the middle until it fits."""
    return _escape(_fit(_one_line(name), width, size))


def fitted_distinct(
    names: Iterable[Any], numbers: Iterable[int], width: float, size: float
) -> list[str]:
    """Write names as `fitted` does; those that end up the same also get their numbers."""
    lines = [_one_line(name) for name in names]
    labels = [_fit(line, width, size) for line in lines]
    times = Counter(labels)
    for i, number in enumerate(numbers):
        if times[labels[i]] > 1:
            tail = f" #{number}"
            labels[i] = _fit(lines[i], width - _width(tail, size), size) + tail
    return [_escape(label) for label in labels]


def _one_line(name: object) -> str:
    """Printable characters that the font has; white space and control characters as blanks."""
    known = _characters(_font_files())
    blanked = "".join(char if char.isprintable() else " " for char in str(name))
    line = " ".join(blanked.split())
    return "".join(char if ord(char) in known else "\N{REPLACEMENT CHARACTER}" for char in line)


def _escape(text: str) -> str:
    """Keep matplotlib from reading what is between two $ as a formula."""
    return text.replace("$", r"\$")


def _fit(text: str, width: float, size: float) -> str:
    """Shorten a text in the middle until it is no wider than `width` points."""
    short = _shorten(text, MAX_CHARACTERS)
    while len(short) > 1 and (measured := _width(short, size)) > width:
        room = max(0, int(len(short) * width / measured))  # none, where a number takes it all
        short = _shorten(text, min(len(short) - 1, room + 1))
    return short


def _shorten(text: str, length: int) -> str:
    """Cut the middle out: the two ends are what tells long names apart."""
    if len(text) <= length:
        return text
    head = length // 2
    tail = length - 1 - head
    return f"{text[:head].rstrip()}…{text[len(text) - tail :].lstrip()}"


def _width(text: str, size: float) -> float:
    """Width of a text in points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=size)
    return float(text_to_path.get_text_width_height_descent(text, font, ismath=False)[0])


def _font_files() -> tuple[str, ...]:
    """Files of the fonts that matplotlib would try, in its order."""
    from matplotlib import rcParams
    from matplotlib.font_manager import FontProperties, findfont

    generic: Any = {key: value for key, value in rcParams.items() if key.startswith("font.")}
    files = []
    for family in FontProperties().get_family():
        for name in generic.get(f"font.{family}", [family]):
            try:
                files.append(findfont(FontProperties(family=[name]), fallback_to_default=False))
            except ValueError:
                continue
    return tuple(files) or (findfont(FontProperties()),)


@lru_cache(maxsize=8)
def _characters(files: tuple[str, ...]) -> frozenset[int]:
    """Characters that any of the fonts has."""
    from matplotlib.font_manager import get_font

    return frozenset(char for file in files for char in get_font(file).get_charmap())


def label_rows(
    ax: Any,
    names: Sequence[Any] | NDArray[Any],
    numbers: Sequence[int] | NDArray[Any] | None,
    share: float = NAME_SHARE,
    side: Any = None,
) -> None:
    """Write the names as large as the rows allow, and only every so many where they are tiny.

    Names without numbers may be the same. `side` is a secondary axis of `ax` to write them at.
    """
    from matplotlib.font_manager import FontProperties

    width, height = size_in_points(ax)
    pitch = height / len(names)
    size = float(
        np.clip(TEXT_SHARE * pitch, MIN_TEXT_SIZE, FontProperties(size="small").get_size())
    )
    stride = int(np.ceil(MIN_TEXT_SIZE / (TEXT_SHARE * pitch))) if pitch > 0 else len(names)
    if numbers is None:
        labels = [fitted(name, share * width, size) for name in names[::stride]]
    else:
        labels = fitted_distinct(names[::stride], numbers[::stride], share * width, size)
    (side or ax).set_yticks(np.arange(0, len(names), stride), labels=labels, fontsize=size)
