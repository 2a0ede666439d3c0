"""What ``safdr compare`` does: read two results, compare, print."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from safdr.cli.answer import WARNING, WIDEST
from safdr.cli.coefficients import DIM, DOWN, UP
from safdr.cli.errors import UsageError
from safdr.cli.words import name_text, number, safe
from safdr.report.comparison import ResultFileError, compare, read_result, words
from safdr.report.numbers import counted, percent

# Settings that differ, with their values; others by name. The JSON has all.
MOST_SETTINGS = 8
EFFECTS = "of one standard deviation of a feature, in its own rows"
AGAIN = "; again: share of half-samples that chose it too"
COLOURS = {"first": DOWN, "second": UP, "sign": f"bold {WARNING}"}


def run(first: Path, second: Path, *, as_json: bool, quiet: bool) -> None:
    """Compare two result files and print what differs."""
    try:
        results = [read_result(path) for path in (first, second)]
    except ResultFileError as error:
        raise UsageError(str(error)) from None
    content = compare(results[0], results[1], _names(first, second))
    if as_json:
        # In ASCII: a name in a file may be half a character, which no output can hold.
        print(json.dumps(content, indent=2, allow_nan=False))
    elif not quiet:
        print_comparison(content)


def _names(first: Path, second: Path) -> tuple[str, str]:
    """The files, by as much of their paths as tells them apart."""
    if first.name != second.name:
        return first.name, second.name
    return str(first), str(second)


def print_comparison(content: Mapping[str, Any]) -> None:
    """Print what the two have in common, and in what they differ."""
    console = Console()
    console.width = min(console.width, WIDEST)
    console.print()
    console.print(Padding(Text(words.headline(content), style="bold green"), (0, 0, 0, 2)))
    for each in content["remarks"]:
        console.print()
        console.print(Padding(_remark(each), (0, 0, 0, 2), expand=False))
    console.print(Padding(_features(content), (0, 0, 0, 1), expand=False))
    console.print(Padding(_facts(content), (0, 0, 0, 2), expand=False))


def _features(content: Mapping[str, Any]) -> Table:
    """Effects of the features of both, and what changed."""
    again = any(share is not None for each in content["features"] for share in each["frequencies"])
    headings = ["First", "again", "Second", "again"] if again else ["First", "Second"]
    table = Table(
        Column("Feature", overflow="fold", min_width=12),
        *(Column(text, justify="right", no_wrap=True) for text in headings),
        Column("Change", overflow="fold", min_width=8),
        box=box.SIMPLE_HEAD,
        header_style="bold",
    )
    for each in content["features"]:
        style = COLOURS.get(each["change"] or each["where"], "")
        numbers = []
        for effect, share in zip(each["effects"], each["frequencies"], strict=True):
            numbers.append(Text(number(effect)))
            numbers += [Text(percent(share), style=DIM)] if again else []
        table.add_row(name_text(each["name"]), *numbers, Text(words.change(each), style=style))
    return table


def _facts(content: Mapping[str, Any]) -> Table:
    grid = Table.grid(Column(style="bold", no_wrap=True), Column(), padding=(0, 2))
    for label, run in zip(("First", "Second"), content["runs"], strict=True):
        rows = f"{run['rows']['train']:,} rows, {run['rows']['test'] or 0:,} held out"
        what = f"{run['size']} of {run['n_features']} features of {safe(run['target'])}, {rows}"
        grid.add_row(label, Text.assemble(name_text(run["file"]), (f"  {what}", DIM)))
    score = words.score_in_short(content)
    verdicts = words.held_out_verdict(content), words.validation_verdict(content)
    for i, verdict in enumerate(filter(None, verdicts)):
        grid.add_row("" if i else score, Text(verdict))
    if stability := words.stability_verdict(content):
        grid.add_row("Stability", Text(stability))
    differing = content["settings"]
    for i, each in enumerate(differing[:MOST_SETTINGS]):
        pair = " → ".join(safe(value) for value in words.setting_pair(each["values"]))
        grid.add_row("" if i else "Asked", Text.assemble((f"{safe(each['name'])}  ", DIM), pair))
    if rest := [safe(each["name"]) for each in differing[MOST_SETTINGS:]]:
        text = f"and {counted(len(rest), 'more setting')}: {', '.join(rest)}"
        grid.add_row("", Text(text, style=DIM))
    again = any(share is not None for each in content["features"] for share in each["frequencies"])
    grid.add_row("Effects", Text(EFFECTS + (AGAIN if again else ""), style=DIM))
    return grid


def _remark(remark: Mapping[str, Any]) -> Table:
    label = "Careful" if remark["serious"] else "Note"
    grid = Table.grid(Column(style=f"bold {WARNING}", no_wrap=True), Column(), padding=(0, 2))
    grid.add_row(label, Text(safe(remark["text"], None)))
    return grid
