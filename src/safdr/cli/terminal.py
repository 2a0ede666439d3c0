"""A result on the terminal. The numbers are those of the dictionary, the sentences of `text`."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from safdr import text

if TYPE_CHECKING:
    from safdr.table.missing import MissingColumn, MissingReport

MAX_WIDTH, MAX_LISTED, BAR = 110, 20, 12
UP, DOWN, DIM, WARNING = "cyan", "magenta", "dim", "yellow"


def console() -> Console:
    """Return a console of readable width."""
    found = Console(highlight=False, emoji=False)
    found.width = min(found.width, MAX_WIDTH)
    return found


def print_report(result: Mapping[str, Any], files: Sequence[str] = ()) -> None:
    """Print the answer: headline, scores, model, warnings, how firm it is."""
    screen = console()
    colour = WARNING if any(each["serious"] for each in result["warnings"]) else "green"
    screen.print(Text(text.headline(result), f"bold {colour}"))
    for part in (_scores(result), coefficients(result), _warnings(result), _facts(result)):
        if part.row_count:
            screen.print()
            screen.print(Padding(part, (0, 0, 0, 2), expand=False))
    ends = [text.seconds(result["seconds"])] if "seconds" in result else []
    ends += [f"Wrote {', '.join(map(text.one_line, files))}"] if files else []
    if ends:
        screen.print()
        screen.print(Text(". ".join(ends) + ".", DIM))


def _grid(style: str = "") -> Table:
    return Table.grid(Column(style=style, no_wrap=True), Column(), padding=(0, 2))


def _scores(result: Mapping[str, Any]) -> Table:
    grid = _grid("bold")
    for name, value, rows in text.scores(result):
        grid.add_row(Text(f"{name} {value}"), Text(rows))
    return grid


def _warnings(result: Mapping[str, Any]) -> Table:
    grid = _grid(f"bold {WARNING}")
    for each in result["warnings"]:
        grid.add_row("!!" if each["serious"] else "!", Text(text.one_line(text.warning(each))))
    return grid


def _facts(result: Mapping[str, Any]) -> Table:
    grid = _grid("bold")
    for label, sentences in (
        ("Model", [text.references(result)]),
        ("Size", [text.size(result)]),
        ("Optimal", [text.proof(result), text.near(result)]),
        ("Stability", [text.stability(result).removeprefix("Stability "), text.often(result)]),
        ("Swaps", [text.swaps(result)]),
        ("Columns", list(_columns(result))),
        ("Note", list(result["notes"])),
    ):
        if found := [each for each in sentences if each]:
            grid.add_row(label, Text("\n".join(map(text.one_line, found))))
    return grid


# ---- The model -----------------------------------------------------------------------------------


def coefficients(result: Mapping[str, Any]) -> Table:
    """Return the terms with their coefficients; of one score also with bars."""
    model = result["model"]
    terms, intercepts = model.get("terms", []), model.get("intercepts", [])
    table = Table(box=None, pad_edge=False, header_style=DIM)
    one_score = len(intercepts) == 1
    about = text.effect_name(result) if one_score else ""
    table.add_column(Text(about), overflow="fold")
    if not terms:
        return table
    for heading in ["coefficient", "per sd"] if one_score else result["target"]["classes"]:
        table.add_column(Text(text.shortened(heading, 12)), justify="right", no_wrap=True)
    if one_score:
        table.add_column("", no_wrap=True)
    strongest = max(abs(each) for term in terms for each in term["per_sd"]) or 1.0
    for each in terms:
        effect = _effect(each["per_sd"][0], strongest) if one_score else ()
        name = Text(text.shortened(each["feature"]))
        table.add_row(name, *map(text.number, each["coefficients"]), *effect)
    numbers = (Text(text.number(intercept), DIM) for intercept in intercepts)
    table.add_row(Text("(intercept)", DIM), *numbers)
    return table


def _effect(value: float, strongest: float) -> tuple[str, Text]:
    bar = "█" * max(1, round(BAR * abs(value) / strongest))
    return text.signed(value), Text(bar, UP if value >= 0 else DOWN)


# ---- The columns ---------------------------------------------------------------------------------


def _columns(result: Mapping[str, Any]) -> Iterator[str]:
    """Say which columns are not used, and which are not read as they are written."""
    columns = result["data"].get("columns", [])
    by_reason: dict[str, list[str]] = {}
    for each in columns:
        # The target has its place in the headline.
        if not each["used"] and each["name"] != result["target"].get("name"):
            by_reason.setdefault(each.get("why", ""), []).append(each["name"])
    for why, names in by_reason.items():
        yield f"Not used: {text.joined(names)} ({why})."
    if read := [each for each in columns if "example" in each]:
        shown = [f"{each['name']} ({each['example']})" for each in read]
        yield f"Numbers in text: {text.joined(shown)}."
    if codes := [each["name"] for each in columns if each.get("few_values")]:
        yield f"Few whole numbers: {text.joined(codes)}. If these are codes, use --categories."
    if filled := text.filled(result):
        yield filled


# ---- Missing values ------------------------------------------------------------------------------


def missing_text(report: MissingReport) -> str:
    """Return where values are missing, whether the target decides it, and what to do."""
    n, rows = len(report.columns), f"of {report.n_rows:,} rows"
    lines = [
        f"{text.count(report.n_missing, 'value')} missing in {n} of "
        f"{text.count(report.n_columns, 'column')}:",
        *(_missing_line(each) for each in report.columns[:MAX_LISTED]),
    ]
    lines += [f"  and {n - MAX_LISTED} more columns"] if n > MAX_LISTED else []
    if report.depending:
        lines.append(
            "! The target decides where values are missing. Find out why: new rows may not have "
            "these gaps."
        )
    lines += [
        "Use one of:",
        f"  --missing drop-rows     keeps {report.n_complete_rows:,} {rows}",
        f"  --missing drop-columns  keeps {text.count(report.n_columns - n, 'column')}",
        "  --missing median        fills in medians (categories: the most frequent value)",
    ]
    if report.depending:
        names = (shlex.quote(text.one_line(each.column)) for each in report.depending)
        drops = " ".join(f"--drop {name}" for name in names)
        kept = f"keeps {report.n_complete_rows_without:,} {rows}"
        lines.append(f"  {drops} --missing drop-rows  {kept}")
    return "\n".join(lines)


def _missing_line(each: MissingColumn) -> str:
    # Shares of classes, or mean targets of a regression.
    write = text.number if "elsewhere" in each.by_target else partial(text.percent, places=1)
    parts = [f"{text.shortened(k, 20)}: {write(v)}" for k, v in [*each.by_target.items()][:6]]
    mark = "!" if each.depends_on_target else " "
    shown = f"{mark} {text.shortened(each.column):<24} {each.n_missing:>8,}   {', '.join(parts)}"
    return shown.rstrip()
