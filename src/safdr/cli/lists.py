"""Several names in one word, and names with numbers: how the command line writes them."""

from __future__ import annotations

import csv
import math
from collections.abc import Collection, Iterable, Sequence

from safdr.cli.errors import UsageError

# Signs of coefficients.
SIGNS = {"+": 1, "+1": 1, "1": 1, "-": -1, "-1": -1}


def split_names(text: str) -> list[str]:
    """Names out of a word; one in double quotes may hold commas."""
    try:
        return [name for row in csv.reader([text], skipinitialspace=True) for name in row]
    except csv.Error as error:
        raise UsageError(f"{text!r} is no list of names: {error}.") from None


def one_by_one(texts: Iterable[str] | None, known: Collection[str]) -> list[str]:
    """Names out of words that are one each, or several, of which at least one is known."""
    found: list[str] = []
    for text in texts or ():
        several = split_names(text) if text not in known and "," in text else [text]
        found += several if any(name in known for name in several) else [text]
    return found


def split_costs(texts: Sequence[str]) -> dict[str, float]:
    """What each name costs, out of words such as ``height=2``; a name may hold "=" too."""
    costs: dict[str, float] = {}
    for text in texts:
        name, _, number = text.rpartition("=")
        name = name.rstrip()
        cost = _number(number)
        if not name or cost is None:
            raise UsageError(f"--cost takes NAME=NUMBER, such as height=2.5; got {text!r}.")
        if name in costs:
            raise UsageError(f"--cost gives {name!r} twice; it can cost one number only.")
        costs[name] = cost
    return costs


def split_signs(texts: Sequence[str]) -> dict[str, int]:
    """The sign that each coefficient must have, out of words such as ``income=-``."""
    signs: dict[str, int] = {}
    for text in texts:
        name, _, sign = text.rpartition("=")
        name = name.rstrip()
        if not name or sign.strip() not in SIGNS:
            raise UsageError(f"--sign takes NAME=+ or NAME=-, such as income=-; got {text!r}.")
        if signs.setdefault(name, SIGNS[sign.strip()]) != SIGNS[sign.strip()]:
            raise UsageError(f"--sign gives {name!r} both signs; its coefficient can have one.")
    return signs


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
