"""Files of a result: checked before the search, written together after it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safdr._files import write_all_atomically
from safdr.cli.errors import UsageError
from safdr.cli.terminal import print_report

if TYPE_CHECKING:
    from safdr import Report

ENDINGS = (".json", ".html", ".py", ".sql", ".onnx", ".csv")
STANDARD_OUTPUT = "-"
NEEDED = {".html": ("jinja2", "matplotlib"), ".onnx": ("onnx",)}


def check_outputs(options: argparse.Namespace, inputs: Sequence[str | None]) -> None:
    """Refuse files that cannot be written."""
    files = [Path(name) for name in options.output if name != STANDARD_OUTPUT]
    places = [file.resolve() for file in files]
    for file, place in zip(files, places, strict=True):
        _check_ending(str(file))
        if places.count(place) > 1:
            raise UsageError(f"-o {file} is given twice.")
        if place.is_dir() or not place.parent.is_dir():
            raise UsageError(f"-o {file}: use a file in a folder that exists.")
        if place.is_file() and any(_is_same(place, each) for each in inputs):
            raise UsageError(f"-o {file} is an input; use another file.")
        if place.is_file() and not options.force:
            raise UsageError(f"-o {file} exists. Replace it with --force, or use another file.")


def _check_ending(name: str) -> None:
    ending = Path(name).suffix.lower()
    if ending not in ENDINGS:
        raise UsageError(f"-o {name}: the ending must be one of {', '.join(ENDINGS)}.")
    for needed in NEEDED.get(ending, ()):
        if find_spec(needed) is None:
            raise UsageError(f"-o {name} needs {needed}: pip install {needed}.")


def _is_same(target: Path, name: str | None) -> bool:
    source = Path("/dev/stdin" if name == "-" else name or "")
    return source.exists() and target.samefile(source)


def write_outputs(
    options: argparse.Namespace, report: Report, rows: Any = None, sums: Any = None
) -> list[str]:
    """Write all files, or none; return their names."""
    source = report["data"].get("file", "rows")
    table = "rows" if source == STANDARD_OUTPUT else Path(source).name.split(".")[0] or "rows"
    how = {"points": options.points, "table": table, "rows": rows, "sums": sums}
    files = [name for name in options.output if name != STANDARD_OUTPUT]
    write_all_atomically({Path(name): report.render(name, **how) for name in files})
    if STANDARD_OUTPUT in options.output:
        sys.stdout.write(report.to_json())
    return files


def print_result(options: argparse.Namespace, report: Report, files: Sequence[str]) -> None:
    """Print the answer, unless it is JSON or quiet."""
    if options.quiet or STANDARD_OUTPUT in options.output:
        return
    print_report(report.to_dict(), files)
