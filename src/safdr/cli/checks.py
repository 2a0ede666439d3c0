"""Options that can't work are refused before anything is computed."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from safdr.cli.errors import UsageError
from safdr.cli.lists import split_costs
from safdr.cli.options import ConstraintOptions, ResultOptions, SearchOptions, TableOptions
from safdr.export.errors import ExportError


def check_options(
    file: str | None,
    table: TableOptions,
    search: SearchOptions,
    constraints: ConstraintOptions,
    results: ResultOptions,
) -> None:
    """Refuse values out of range, and files that can't be written.

    Parameters
    ----------
    file : str or None
        The table, which no result may replace.
    table, search, constraints, results
        The options.
    """
    if not 0 <= table.test_size < 1:
        raise UsageError(f"--test-size must be at least 0 and below 1; got {table.test_size:g}.")
    for name, value in (("-k", search.k), ("--k-max", search.k_max)):
        if value is not None and value < 1:
            raise UsageError(f"{name} must be at least 1; got {value}.")
    if search.jobs == 0:
        raise UsageError("--jobs must be at least 1, or -1 for all cores; got 0.")
    if not 0 <= search.seed < 2**32:
        raise UsageError(f"--seed must be from 0 to {2**32 - 1}; got {search.seed}.")
    split_costs(constraints.cost or [])
    _check_files(file, results)


def _check_files(file: str | None, results: ResultOptions) -> None:
    """Refuse files that can't be written."""
    exports = results.export or []
    paths = [path for path in (results.report, results.out, *exports) if path is not None]
    for path in paths:
        if path.is_dir() or not path.absolute().parent.is_dir():
            what = "is a folder" if path.is_dir() else "is in a folder that does not exist"
            raise UsageError(f"{str(path)!r} {what}; name a file in a folder that exists.")
        if file is not None and path.exists() and Path(file).exists() and path.samefile(file):
            raise UsageError(f"{str(path)!r} is the table itself, which no result may replace.")
        if path.exists() and not results.force:
            raise UsageError(
                f"{str(path)!r} is already there. Replace it with --force, or name another file."
            )
        if paths.count(path) > 1:
            raise UsageError(f"{str(path)!r} is named twice; each result needs its own file.")
    if exports:
        _check_exports(exports)
    if results.report is not None:
        _check_report()


def _check_exports(paths: list[Path]) -> None:
    from safdr.export.write import check_ending

    for path in paths:
        try:
            check_ending(path)
        except ExportError as error:
            raise UsageError(str(error)) from None


def _check_report() -> None:
    if find_spec("jinja2") is None:
        raise UsageError("--report needs jinja2. Install it with: pip install 'safdr[report]'")
