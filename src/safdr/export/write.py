"""Exports by the ending of a file, each checked against the model before it is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from safdr.export.model import (
    Columns,
    ExportError,
    FloatArray,
    Model,
    as_array,
    example_rows,
    read_model,
)
from safdr.export.onnx import run_onnx, to_onnx
from safdr.export.python import run_python, to_python
from safdr.export.scorecard import run_scorecard, to_scorecard
from safdr.export.sql import run_sql, to_sql

# How an export is made, and how it is run on rows.
FORMATS: dict[str, tuple[Callable[..., bytes], Callable[..., FloatArray]]] = {
    ".py": (to_python, run_python),
    ".sql": (to_sql, run_sql),
    ".onnx": (to_onnx, run_onnx),
    ".csv": (to_scorecard, run_scorecard),
}
MAX_CHECKED = 1000
# Allowed difference, relative to the sizes of the parts of a score.
TOLERANCE = 1e-12


def make(
    content: Mapping[str, Any],
    path: str | Path,
    *,
    points: Sequence[float] | None = None,
    table: str = "rows",
    rows: Any = None,
    sums: Any = None,
) -> bytes:
    """Return the content of an export, checked on rows."""
    ending = Path(path).suffix.lower()
    if ending not in FORMATS:
        *others, last = FORMATS
        raise ExportError(
            f"An export must end in {', '.join(others)} or {last}, a saved report also in .html or "
            f".json; got {str(path)!r}."
        )
    if ending == ".csv" and points is None:
        points = (20.0, 600.0, 50.0)
    model = read_model(content, points)
    columns, wanted = _rows_to_check(model, rows, sums)
    to_format, run = FORMATS[ending]
    made = to_format(model, table)
    _compare(model, columns, run(model, made, columns, table), wanted)
    return made


def _rows_to_check(model: Model, rows: Any, sums: Any) -> tuple[Columns, FloatArray]:
    """Return rows and their linear scores."""
    if rows is None:
        examples: Columns = example_rows(model)
        return examples, model.sums(examples)
    columns = {name: as_array(rows[name]) for name in model.columns}
    computed = model.sums(columns)
    given = computed if sums is None else np.reshape(sums, computed.shape)
    # A row that lacks a required value has no prediction.
    kept = np.flatnonzero(np.isfinite(computed).all(axis=1))
    kept = kept[np.unique(np.linspace(0, len(kept) - 1, MAX_CHECKED).astype(int))]
    return {name: values[kept] for name, values in columns.items()}, given[kept]


def _compare(model: Model, columns: Columns, outputs: FloatArray, sums: FloatArray) -> None:
    """Refuse outputs that differ from those of the scores by more than rounding."""
    wanted = model.numbers(sums)[:, -outputs.shape[1] :]
    scale = max(1.0, *map(abs, model.points or (0.0,)))
    allowed = TOLERANCE * scale * (1 + model.size(columns))[:, None]
    error = np.abs(outputs - wanted)
    if not (error <= allowed).all():
        worst = np.unravel_index(np.argmax(error - allowed), error.shape)
        raise ExportError(
            f"The export differs from the model by {error[worst]:.3g}: {outputs[worst]:.17g} "
            f"instead of {wanted[worst]:.17g}. Please report this."
        )
