"""Exports by the ending of a file, each checked against the model before it is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from safdr._files import write_atomically
from safdr.export.model import (
    Columns,
    ExportError,
    FloatArray,
    Model,
    as_array,
    example_rows,
    read_model,
)
from safdr.export.onnx import import_onnx, run_onnx, to_onnx
from safdr.export.python import run_python, to_python
from safdr.export.scorecard import run_scorecard, to_scorecard
from safdr.export.sql import run_sql, to_sql

ENDINGS = (".py", ".sql", ".onnx", ".csv")
MAX_CHECKED = 1000
EPS = float(np.finfo(np.float64).eps)


def check_path(path: str | Path) -> None:
    """Refuse a file that no export can be written to, before anything is computed."""
    path = Path(path)
    if path.suffix.lower() not in ENDINGS:
        raise ExportError(
            f"An export must end in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}; got {str(path)!r}."
        )
    if path.suffix.lower() == ".onnx":
        import_onnx()


def write(content: Mapping[str, Any], path: str | Path, **options: Any) -> None:
    """Write the model of a result to a file; options are those of `make`.

    Parameters
    ----------
    content : dict
        A result, as `Report.to_dict` returns it.
    path : str or Path
        A file that ends in .py, .sql, .onnx or .csv (a scorecard).
    **options : dict
        `points`, `table`, `rows` and `sums` of `make`.
    """
    write_atomically(Path(path), make(content, path, **options))


def make(
    content: Mapping[str, Any],
    path: str | Path,
    *,
    points: Sequence[float] | None = None,
    table: str = "rows",
    rows: Any = None,
    sums: Any = None,
) -> bytes:
    """Return the content of an export, checked on rows.

    Parameters
    ----------
    content : dict
        A result, as `Report.to_dict` returns it.
    path : str or Path
        Its ending decides what is made.
    points : tuple of three floats, default=None
        Points that double the odds, and the points at odds of so many of the first class to one of
        the second. Adds an output `points`; a scorecard has (20, 600, 50) without it.
    table : str, default="rows"
        Name of the table in a query.
    rows : mapping of str to sequence, default=None
        Values of the columns to check the export on; None makes rows from the terms.
    sums : array of shape (n_rows,) or (n_rows, n_classes), default=None
        Linear scores of the fitted model for `rows`; None takes those of the result.

    Returns
    -------
    bytes
        What the file holds.
    """
    check_path(path)
    ending = Path(path).suffix.lower()
    if ending == ".csv" and points is None:
        points = (20.0, 600.0, 50.0)
    model = read_model(content, points)
    columns, wanted = _rows_to_check(model, rows, sums)
    made, found = _make_and_run(model, Path(path), table, columns)
    _compare(model, columns, found, model.numbers(wanted)[:, -found.shape[1] :])
    return made


def _make_and_run(
    model: Model, path: Path, table: str, columns: Columns
) -> tuple[bytes, FloatArray]:
    """Return the content of an export, and its outputs for rows."""
    ending = path.suffix.lower()
    if ending == ".onnx":
        graph = to_onnx(model)
        return graph, run_onnx(model, graph, columns)
    if ending == ".py":
        text = to_python(model, path.stem)
        return text.encode(), run_python(model, text, columns)
    if ending == ".sql":
        text = to_sql(model, table)
        return text.encode(), run_sql(model, text, columns, table)
    text = to_scorecard(model)
    return text.encode(), run_scorecard(text, columns)


def _rows_to_check(model: Model, rows: Any, sums: Any) -> tuple[Columns, FloatArray]:
    if rows is None:
        columns: Columns = example_rows(model)
        return columns, model.sums(columns)
    columns = {name: as_array(rows[name]) for name in model.columns}
    own = model.sums(columns)
    wanted = own if sums is None else np.asarray(sums, dtype=np.float64).reshape(own.shape)
    # A row that lacks a required value has no prediction.
    kept = np.flatnonzero(np.isfinite(own).all(axis=1))
    kept = kept[np.unique(np.linspace(0, len(kept) - 1, MAX_CHECKED).astype(int))]
    return {name: values[kept] for name, values in columns.items()}, wanted[kept]


def _compare(model: Model, columns: Columns, found: FloatArray, wanted: FloatArray) -> None:
    """Refuse numbers that differ by more than rounding."""
    scale = model.points.factor if model.points else 1.0
    rounding = 4 * (len(model.terms) + 2) * EPS * (1 + abs(scale) * (1 + model.size(columns)))
    allowed = rounding[:, None] + 1e-12 * np.abs(wanted)
    error = np.abs(found - wanted)
    if not (error <= allowed).all():
        worst = np.unravel_index(np.argmax(error - allowed), error.shape)
        raise ExportError(
            f"The export differs from the model by {error[worst]:.3g}: {found[worst]:.17g} instead "
            f"of {wanted[worst]:.17g}. Please report this."
        )
