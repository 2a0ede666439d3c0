"""``safdr compare``: what differs between two results."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from typing import Any

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from safdr import text
from safdr.cli.show import read_report
from safdr.cli.terminal import DIM, DOWN, UP, WARNING, console

Result = Mapping[str, Any]
NONE = "–"


def run(options: argparse.Namespace) -> None:
    """Print features, coefficients, scores and settings of two results."""
    paths = (options.first, options.second)
    first, second = (read_report(path).to_dict() for path in paths)
    screen = console()
    if any(first["target"].get(key) != second["target"].get(key) for key in ("name", "classes")):
        about = "! The targets differ: the results answer different questions."
        screen.print(Text(about, WARNING))
    table = Table(box=None, pad_edge=False, header_style=DIM)
    table.add_column("per sd", overflow="fold")
    names = [path.name for path in paths]
    for name in names if names[0] != names[1] else map(str, paths):
        table.add_column(Text(text.shortened(name)), justify="right")
    table.add_column("")
    for row in (*_features(first, second), *_scores(first, second), *_settings(first, second)):
        table.add_row(*row)
    screen.print(Padding(table, (0, 0, 0, 2), expand=False))


def _features(first: Result, second: Result) -> Iterator[tuple[Text | str, ...]]:
    """Return the coefficients of each feature per standard deviation."""
    one, other = (
        {each["feature"]: each["per_sd"] for each in result["model"].get("terms", [])}
        for result in (first, second)
    )
    for name in dict.fromkeys([*one, *other]):
        pair: Any = one.get(name), other.get(name)
        cells = [NONE if each is None else ", ".join(map(text.signed, each)) for each in pair]
        about = Text("")
        if None in pair:
            about = Text("only here", UP) if pair[0] is None else Text("gone", DOWN)
        elif any(a * b < 0 for a, b in zip(*pair, strict=False)):
            about = Text("sign differs", WARNING)
        yield Text(text.shortened(name)), *cells, about


def _scores(first: Result, second: Result) -> Iterator[tuple[Text | str, ...]]:
    for key, where in (("test", "held out"), ("cv", "cross-validation")):
        pair = [result["score"].get(key) for result in (first, second)]
        cells = [text.fixed(each[0]) if each else NONE for each in pair]
        about = ""
        if key == "test" and all(each and len(each) == 3 for each in pair):
            # Half the width of an interval of 95 % is 1.96 standard errors of one score.
            spread = sum((high - low) ** 2 for _, low, high in pair) ** 0.5 / 2
            differ = abs(pair[0][0] - pair[1][0]) > spread
            about = "differ beyond chance" if differ else "within chance"
        yield Text(f"{text.score_name(first)}, {where}", DIM), *cells, Text(about, DIM)
    for key, where in (("n_train", "training rows"), ("n_test", "held-out rows")):
        yield Text(where, DIM), *(f"{result['data'][key]:,}" for result in (first, second)), ""


def _settings(first: Result, second: Result) -> Iterator[tuple[Text | str, ...]]:
    """Return the settings that differ."""
    one, other = (result.get("settings", {}) for result in (first, second))
    for name in dict.fromkeys([*one, *other]):
        if one.get(name) != other.get(name):
            pair = (text.shortened(each.get(name, NONE)) for each in (one, other))
            yield Text(text.one_line(name), DIM), *map(Text, pair), ""
