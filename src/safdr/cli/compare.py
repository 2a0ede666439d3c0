"""``safdr compare``: what differs between two results."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from safdr import text
from safdr.cli.show import read_report
from safdr.cli.terminal import DIM, DOWN, UP, console

Result = Mapping[str, Any]
COLOURS = {"first": DOWN, "second": UP, "both": ""}


def run(options: argparse.Namespace) -> None:
    """Compare two result files."""
    first, second = (read_report(path).to_dict() for path in (options.first, options.second))
    found = compare(first, second)
    if options.json:
        print(json.dumps(found, indent=1, allow_nan=False))
    else:
        _print(found, options.first, options.second)


def compare(first: Result, second: Result) -> dict[str, Any]:
    """Return features, scores and settings of two results."""
    terms = [_effects(each) for each in (first, second)]
    places = {(True, True): "both", (True, False): "first", (False, True): "second"}
    features = [
        {
            "name": name,
            "in": places[name in terms[0], name in terms[1]],
            "effects": [each.get(name) for each in terms],
        }
        for name in dict.fromkeys([*terms[0], *terms[1]])
    ]
    return {
        "same_target": _target(first) == _target(second),
        "features": features,
        "score": text.score_name(first),
        "scores": [each["score"] for each in (first, second)],
        "rows": [[each["data"]["n_train"], each["data"]["n_test"]] for each in (first, second)],
        "settings": _differing(first.get("settings", {}), second.get("settings", {})),
        "differ": _differ(first["score"].get("test"), second["score"].get("test")),
    }


def _target(result: Result) -> Any:
    target = result["target"]
    return target.get("name"), target["task"], target.get("classes")


def _effects(result: Result) -> dict[str, list[float]]:
    """Return the coefficients of each feature per standard deviation."""
    terms = result["model"].get("terms", [])
    return {
        each["feature"]: [b * each.get("sd", 1.0) for b in each["coefficients"]] for each in terms
    }


def _differing(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, list[Any]]:
    names = dict.fromkeys([*first, *second])
    pairs = {name: [first.get(name), second.get(name)] for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def _differ(first: list[float] | None, second: list[float] | None) -> bool | None:
    """Return whether held-out scores differ beyond chance; None if it is unknown."""
    if not (first and second and len(first) == len(second) == 3):
        return None
    # Half the width of an interval of 95 % is 1.96 standard errors of one score.
    spread = ((first[2] - first[1]) ** 2 + (second[2] - second[1]) ** 2) ** 0.5 / 2
    return abs(first[0] - second[0]) > spread


def _print(found: Mapping[str, Any], first: Path, second: Path) -> None:
    screen = console()
    kept = sum(each["in"] == "both" for each in found["features"])
    counts = [sum(each["effects"][i] is not None for each in found["features"]) for i in (0, 1)]
    headline = f"{kept} features in both, of {counts[0]} and {counts[1]}"
    screen.print(Text(headline, "bold green"))
    if not found["same_target"]:
        screen.print(
            Text("! The targets differ: the results answer different questions.", "yellow")
        )
    names = (first.name, second.name) if first.name != second.name else (str(first), str(second))
    table = Table(box=None, pad_edge=False, header_style=DIM)
    table.add_column("per sd", overflow="fold")
    for name in names:
        table.add_column(Text(text.shortened(name)), justify="right")
    table.add_column("")
    for each in found["features"]:
        cells = [_effect(effects) for effects in each["effects"]]
        table.add_row(Text(text.shortened(each["name"])), *cells, _change(each))
    _add_scores(table, found)
    screen.print(Padding(table, (1, 0, 0, 2), expand=False))
    for name, (one, other) in found["settings"].items():
        values = [text.shortened("–" if each is None else each) for each in (one, other)]
        screen.print(Text(f"  {text.one_line(name)}: {values[0]} → {values[1]}", DIM))


def _effect(effects: list[float] | None) -> str:
    return "–" if effects is None else ", ".join(map(text.signed, effects))


def _change(each: Mapping[str, Any]) -> Text:
    if each["in"] != "both":
        return Text("only here" if each["in"] == "second" else "gone", COLOURS[each["in"]])
    pairs = zip(*each["effects"], strict=False)
    return Text("sign differs" if any(a * b < 0 for a, b in pairs) else "", "yellow")


def _add_scores(table: Table, found: Mapping[str, Any]) -> None:
    one, other = found["scores"]
    for key, where in (("test", "held out"), ("cv", "cross-validation")):
        values = [text.fixed(each[key][0]) if key in each else "–" for each in (one, other)]
        verdict = {True: "differ beyond chance", False: "within chance", None: ""}
        about = verdict[found["differ"]] if key == "test" else ""
        if values != ["–", "–"]:
            table.add_row(Text(f"{found['score']}, {where}", DIM), *values, Text(about, DIM))
    rows = [f"{n:,} + {n_test:,}" for n, n_test in found["rows"]]
    table.add_row(Text("rows: training + held out", DIM), *rows, "")
