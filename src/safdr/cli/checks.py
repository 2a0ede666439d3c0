"""Options that can't work are refused before anything is computed."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

from safdr._atomic import Place, place_of
from safdr.cli.errors import UsageError
from safdr.cli.lists import split_costs, split_signs
from safdr.cli.options import ConstraintOptions, ResultOptions, SearchOptions, TableOptions
from safdr.cli.pointing import check_points
from safdr._old_export.errors import ExportError

# Fewer rows say little about a column.
LEAST_SAMPLED = 100
# As stability has it.
LEAST_HALVES, MOST_HALVES = 4, 1_000_000


def check_options(
    file: str | None,
    table: TableOptions,
    search: SearchOptions,
    constraints: ConstraintOptions,
    results: ResultOptions,
) -> None:
    """Refuse values out of range, and files that can't be written."""
    if not 0 <= table.test_size < 1:
        raise UsageError(f"--test-size must be at least 0 and below 1; got {table.test_size:g}.")
    if table.positive is not None and table.task == "regression":
        raise UsageError("--positive names a class, and with --task regression there are none.")
    if table.test_size == 0 and table.split_by is not None:
        raise UsageError(
            "--split-by holds out rows, and --test-size 0 none; leave one of them out."
        )
    if table.sample_rows < LEAST_SAMPLED:
        raise UsageError(
            f"--sample-rows must be at least {LEAST_SAMPLED}; got {table.sample_rows}."
        )
    if table.sample is not None:
        _check_sample(table, table.sample)
    if search.no_validation and search.k is None:
        raise UsageError(
            "--no-validation needs -k: without it validation chooses the number of features."
        )
    for name, value in (("-k", search.k), ("--k-max", search.k_max)):
        if value is not None and value < 1:
            raise UsageError(f"{name} must be at least 1; got {value}.")
    if not 0 <= search.seed < 2**32:
        raise UsageError(f"--seed must be from 0 to {2**32 - 1}; got {search.seed}.")
    _check_stability(search.stability)
    split_costs(constraints.cost or [])
    split_signs(constraints.sign or [])
    _check_files(file, results)


def _check_sample(table: TableOptions, n: int) -> None:
    """Refuse too few rows, and two ways to get along with many."""
    if n < LEAST_SAMPLED:
        raise UsageError(f"--sample must be at least {LEAST_SAMPLED}; got {n}.")
    if table.stream or table.dask is not None:
        option = "--stream" if table.stream else "--dask"
        raise UsageError(
            f"--sample takes few rows into memory, and {option} all of them in passes; give one."
        )


def _check_stability(n: int | None) -> None:
    """Refuse before the search what would be refused after it."""
    if n is not None and (n % 2 or not LEAST_HALVES <= n <= MOST_HALVES):
        raise UsageError(
            f"--stability must be an even number from {LEAST_HALVES} to {MOST_HALVES}, since "
            f"halves of the rows come in pairs; got {n}. Ask for "
            f"{n + 1 if LEAST_HALVES <= n < MOST_HALVES else 50}."
        )


def _check_files(file: str | None, results: ResultOptions) -> None:
    """Refuse files that can't be written."""
    exports = results.export or []
    paths = [path for path in (results.report, results.out, *exports) if path is not None]
    targets = {path: place.path for path in paths if not (place := _place(path)).is_stream}
    for path, target in targets.items():
        _check_target(path, target)
        # What came in by a pipe is no file, and nothing can replace it.
        source = "/dev/stdin" if file == "-" else file
        if source and target.exists() and os.path.exists(source) and target.samefile(source):
            raise UsageError(f"{str(path)!r} is the table itself, which no result may replace.")
        if target.exists() and not results.force:
            raise UsageError(
                f"{str(path)!r} is already there. Replace it with --force, or name another file."
            )
        if [targets.get(each) for each in paths].count(target) > 1:
            raise UsageError(f"{str(path)!r} is named twice; each result needs its own file.")
    if exports:
        _check_exports(exports)
    check_points(results)
    if results.report is not None:
        _check_report()


def _place(path: Path) -> Place:
    """Where a path leads."""
    try:
        return place_of(path)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"{str(path)!r} can't be written: {reason}. Name another file.") from None


def _check_target(path: Path, target: Path) -> None:
    """Refuse what is no file, or in no folder to write to."""
    what = None
    if target.is_dir():
        what = "is a folder; name a file in a folder that exists."
    elif not target.parent.is_dir():
        what = "is in a folder that does not exist; name a file in a folder that exists."
    elif not os.access(target.parent, os.W_OK | os.X_OK):
        what = "is in a folder that you may not write to; name a file in another one."
    if what is not None:
        link = f" (a link to {str(target)!r})" if path.is_symlink() else ""
        raise UsageError(f"{str(path)!r}{link} {what}")


def _check_exports(paths: list[Path]) -> None:
    from safdr._old_export.write import check_ending

    for path in paths:
        try:
            check_ending(path)
        except ExportError as error:
            raise UsageError(str(error)) from None


def _check_report() -> None:
    if find_spec("jinja2") is None:
        raise UsageError("--report needs jinja2. Install it with: pip install 'safdr[report]'")
