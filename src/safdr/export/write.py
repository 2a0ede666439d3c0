"""Exports by the ending of a file, each checked against the model before anyone gets it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from safdr.export.errors import ExportError, WrongFormulaError
from safdr.export.formula import Formula
from safdr.export.onnx import require_onnx, run_onnx, to_onnx
from safdr.export.python import run_python, to_python
from safdr.export.sql import ADDED, run_sql, to_sql
from safdr.table.recipe import FloatArray

if TYPE_CHECKING:
    import pyarrow as pa

ENDINGS = (".onnx", ".py", ".sql")
# Of log-odds (of large ones relatively) and probabilities: the order of summation may differ.
TOLERANCE = 1e-9
# Rows to check on: spread over the table.
MAX_CHECKED = 1000


def check_ending(path: Path) -> None:
    """Refuse a file that can't be made, before anything is computed.

    Parameters
    ----------
    path : Path
        Where an export is to go.
    """
    if path.suffix.lower() not in ENDINGS:
        raise ExportError(
            f"An export must end in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}; got {str(path)!r}."
        )
    if path.suffix.lower() == ".onnx":
        require_onnx()


def export(path: Path, formula: Formula, table: pa.Table, log_odds: FloatArray) -> bytes:
    """Make the content of an export, and check it.

    Parameters
    ----------
    path : Path
        Its ending says what to make; nothing is written.
    formula : Formula
        The model.
    table : pyarrow.Table
        Rows with all columns.
    log_odds : ndarray of shape (n_rows,)
        What the model itself gives for them.

    Returns
    -------
    bytes

    Raises
    ------
    WrongFormulaError
        If the content does not give the numbers of the model, to 1e-9.
    """
    check_ending(path)
    rows = np.unique(np.linspace(0, table.num_rows - 1, MAX_CHECKED).astype(int))
    read = _columns_read(formula, table.take(rows))
    ending = path.suffix.lower()
    if ending == ".py":
        code = to_python(formula, path.stem)
        content, given = code.encode(), run_python(code, read)
    elif ending == ".sql":
        query = to_sql(formula, set(table.column_names))
        content = query.encode()
        given = run_sql(query, _with_other_names(read, table.column_names), formula.table)
    else:
        content = to_onnx(formula)
        given = run_onnx(content, read)
    _compare(path, given, log_odds[rows])
    return content


def _columns_read(formula: Formula, table: pa.Table) -> pa.Table:
    """What the formula reads; numbers of all kinds as doubles, which everything understands."""
    read = table.select(list(formula.columns))
    for i, feature in enumerate(formula.columns.values()):
        if feature.kind == "number":
            read = read.set_column(i, feature.column, read.column(i).cast("float64", safe=False))
    return read


def _with_other_names(read: pa.Table, names: Sequence[str]) -> pa.Table:
    """Empty columns besides, for those whose names decide what the query calls its own."""
    import pyarrow

    for name in names:
        if name.casefold().startswith(ADDED) and name not in read.column_names:
            read = read.append_column(name, pyarrow.nulls(read.num_rows, "string"))
    return read


def _compare(path: Path, given: FloatArray, wanted: FloatArray) -> None:
    scale = np.maximum(1.0, np.abs(wanted))
    errors = [np.abs(given[:, 0] - wanted) / scale, np.abs(given[:, 1] - expit(wanted))]
    error = np.concatenate(errors)
    if not (error <= TOLERANCE).all():
        raise WrongFormulaError(
            f"The formula for {str(path)!r} differs from the model by up to "
            f"{np.nanmax(error):.3g}, more than {TOLERANCE:g}; it is not written. Please report "
            "this."
        )
