"""The message about missing values: where they are, what they hang on, and the ways on."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from safdr.cli.words import name_text, printable, safe
from safdr._old_table.errors import counted
from safdr._old_table.kinds import Totals
from safdr._old_table.missing import MissingColumn, MissingReport

MOST_LISTED = 20
WIDEST = 120


def print_gaps(message: str, report: MissingReport, notes: Sequence[str] = ()) -> None:
    """Print to standard error."""
    console = Console(stderr=True)
    console.width = min(console.width, WIDEST)
    console.print(Text(f"safdr select: {safe(message, None)}", style="bold"))
    console.print(_table(report))
    read = [paragraph for note in notes for paragraph in (Text(safe(note, None)), None)]
    for paragraph in (*read, *_warning(report), *_ways(report)):
        console.print(Padding(paragraph, (0, 0, 0, 2), expand=False) if paragraph else "")


def _table(report: MissingReport) -> Table:
    """Counts by column, and what they tell about the target."""
    headings = (Text(safe(heading, 40)) for heading in report.target.gap_headings)
    table = Table(
        Column("", no_wrap=True),
        Column("Column", overflow="fold"),
        Column("Missing", justify="right", no_wrap=True),
        *(Column(heading, justify="right", no_wrap=True) for heading in headings),
        box=box.SIMPLE_HEAD,
    )
    for each in report.columns[:MOST_LISTED]:
        table.add_row(*_row(each))
    if len(report.columns) > MOST_LISTED:
        more = counted(len(report.columns) - MOST_LISTED, "more column")
        table.add_row("", f"and {more}", style="dim")
    return table


def _row(each: MissingColumn) -> Iterator[Text]:
    style = "yellow" if each.hint.depends else ""
    yield Text("!" if each.hint.depends else "", style=style)
    yield name_text(each.column, style)
    yield Text(f"{each.n_missing:,}", style=style)
    yield from (Text(safe(cell), style=style) for cell in each.hint.cells)


def _warning(report: MissingReport) -> Iterator[Text | None]:
    """Say what a gap that depends on the target does to a model."""
    if not report.depending:
        return
    worst = max(report.depending, key=lambda each: each.hint.strength)
    yield Text.assemble(
        ("Careful: ", "bold yellow"),
        f"where values are missing depends on the target in "
        f"{counted(len(report.depending), 'column')}, "
        f'marked "!". Whether {safe(worst.column)} is missing {safe(worst.hint.claim, None)}, '
        "without its value. If a value is missing because of the outcome, a new row won't have "
        "that gap yet: leave the column out.",
    )
    yield None


def _ways(report: MissingReport) -> Iterator[Text | None]:
    """The ways on, each with what it would leave."""
    n_left = report.n_columns - len(report.columns)
    yield Text("Ways on:", style="bold")
    yield _way("--missing drop-rows", _rows_left(report, report.complete))
    yield _way("--missing drop-columns", f"leaves {counted(n_left, 'column')} and all rows")
    danger = f"; {report.target.filling_tells}" if report.depending else ""
    yield _way("--missing median", f"keeps all rows and columns and fills the gaps{danger}")
    if report.depending:
        drops = " ".join(f"--drop {shlex.quote(printable(e.column))}" for e in report.depending)
        yield None
        yield Text("Without the columns that depend on the target:", style="bold")
        yield _way(f"{drops} --missing drop-rows", _rows_left(report, report.complete_without))


def _way(options: str, what: str) -> Text:
    return Text.assemble("  ", (options, "cyan"), f"  {what}")


def _rows_left(report: MissingReport, totals: Totals) -> str:
    return f"leaves {safe(report.target.left(totals), None)}"
