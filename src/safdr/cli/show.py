"""``safdr show``: print a result, or write it in other forms."""

from __future__ import annotations

import argparse
from pathlib import Path

from safdr import Report
from safdr.cli.errors import UsageError
from safdr.cli.output import check_outputs, print_result, write_outputs


def run(options: argparse.Namespace) -> None:
    """Print a result, or write it in other forms."""
    check_outputs(options, [str(options.result)])
    report = read_report(options.result)
    files = write_outputs(options, report)
    if not options.output:
        print_result(options, report, files)


def read_report(path: Path) -> Report:
    """Read a result that was written as JSON."""
    try:
        return Report.load(path)
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise UsageError(
            f"{str(path)!r} is not a result of safdr select -o FILE.json: {error}"
        ) from None
