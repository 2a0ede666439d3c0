"""Exports by the ending of a file, each checked against the model before anyone gets it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from safdr._old_export.card import to_card
from safdr._old_export.errors import ExportError, WrongFormulaError
from safdr._old_export.formula import Formula
from safdr._old_export.onnx import require_onnx, run_onnx, to_onnx
from safdr._old_export.outputs import output_of
from safdr._old_export.python import run_python, to_python
from safdr._old_export.sql import run_sql, to_sql
from safdr._old_table.recipe import Coding, FloatArray

if TYPE_CHECKING:
    import pyarrow as pa

ENDINGS = (".csv", ".onnx", ".py", ".sql")
# Sums in another order, and with other products, differ by one of these for each term and side, of
# the sizes of all terms together: 1.7e9 seconds and an intercept that takes them off cancel.
ROUNDING = float(np.finfo(np.float64).eps)
# Rows to check on: spread over the table.
MAX_CHECKED = 1000


def check_ending(path: Path) -> None:
    """Refuse a file that can't be made, before anything is computed."""
    if path.suffix.lower() not in ENDINGS:
        raise ExportError(
            f"An export must end in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}; got {str(path)!r}."
        )
    if path.suffix.lower() == ".onnx":
        require_onnx()


def export(
    path: Path,
    formula: Formula,
    table: pa.Table,
    sums: FloatArray,
    codings: Sequence[Coding] = (),
) -> bytes:
    """Make the content of an export, and check it against the sums that the model gives."""
    check_ending(path)
    rows = np.unique(np.linspace(0, table.num_rows - 1, MAX_CHECKED).astype(int))
    read = _columns_read(formula, table.take(rows))
    try:
        if path.suffix.lower() == ".csv":
            content = to_card(formula, codings, read).encode()
            given = output_of(formula).wanted(formula.sums(read))
        else:
            content, given = _made_and_run(path, formula, read, table.column_names)
    except ExportError:
        raise
    except Exception as error:
        # Whatever it is, the caller has a result that must not get lost with it.
        raise WrongFormulaError(
            f"Making or running it failed ({type(error).__name__}: {error}). Please report this."
        ) from error
    _compare(given, sums.reshape(table.num_rows, -1)[rows], formula, read)
    return content


def _made_and_run(
    path: Path, formula: Formula, read: pa.Table, names: Sequence[str]
) -> tuple[bytes, FloatArray]:
    """The content, and what it gives itself, in numbers."""
    ending = path.suffix.lower()
    if ending == ".py":
        content = to_python(formula, path.stem).encode()
        given = run_python(content.decode(), read)
    elif ending == ".sql":
        content = to_sql(formula, set(names)).encode()
        read = _with_other_names(read, names, output_of(formula).added_by_queries)
        given = run_sql(content.decode(), read, formula.table)
    else:
        content = to_onnx(formula)
        given = run_onnx(content, read)
    numbers = [output_of(formula).numbers(row) for row in given]
    return content, np.array(numbers, dtype=np.float64)


def _columns_read(formula: Formula, table: pa.Table) -> pa.Table:
    """What the formula reads; numbers of all kinds as doubles, which everything understands."""
    read = table.select(list(formula.columns))
    for i, feature in enumerate(formula.columns.values()):
        if feature.is_of_numbers:
            read = read.set_column(i, feature.column, read.column(i).cast("float64", safe=False))
    return read


def _with_other_names(read: pa.Table, names: Sequence[str], added: Sequence[str]) -> pa.Table:
    """Empty columns besides, for those whose names decide what the query calls its own."""
    import pyarrow

    taken = {name.casefold() for name in read.column_names}
    own = tuple(name.casefold() for name in added)
    for name in names:
        if name.casefold().startswith(own) and name.casefold() not in taken:
            taken.add(name.casefold())
            read = read.append_column(name, pyarrow.nulls(read.num_rows, "string"))
    return read


def _compare(given: FloatArray, wanted: FloatArray, formula: Formula, read: pa.Table) -> None:
    """Refuse numbers that are not those of the model."""
    output = output_of(formula)
    rounding = 2 * (len(formula.terms) + 1) * ROUNDING * formula.magnitude(read)
    allowed = output.allowed(wanted, rounding)
    error = np.abs(given - output.wanted(wanted))
    if np.isnan(error).any():
        raise WrongFormulaError("It gives no number for rows of the table. Please report this.")
    if not (error <= allowed).all():
        worst = np.unravel_index(np.argmax(error / allowed), error.shape)
        raise WrongFormulaError(
            f"It differs from the model by up to {error[worst]:.3g}, more than "
            f"{allowed[worst]:.3g}. Please report this."
        )
