"""The model as a table of points, as credit scoring has them."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from safdr.export.model import Columns, FloatArray, Model

HEAD = ["column", "value", "coefficient", "points", "points_per_unit", "low", "high"]
BASE, MISSING = "(base)", "(missing)"


def to_scorecard(model: Model, _: str) -> bytes:
    """Write the points as CSV; a row's points are the sum of its lines."""
    # A number has `points_per_unit`, counted between `low` and `high`; a category has
    # `points`, which are 0 for its reference value.
    assert model.points is not None
    offset, factor = model.points
    text = io.StringIO(newline="")
    write = csv.writer(text, lineterminator="\n").writerow
    write(HEAD)
    base = model.intercepts[0]
    write([BASE, "", repr(base), repr(offset - factor * base), "", "", ""])
    references = dict(model.references)
    for term in model.terms:
        (coefficient,) = term.coefficients
        per_unit = -factor * coefficient
        if term.column in references:
            write([term.column, references.pop(term.column), "0.0", "0.0", "", "", ""])
        if term.equals is None:
            ends = ("" if math.isinf(end) else repr(end) for end in (term.low, term.high))
            write([term.column, "", repr(coefficient), "", repr(per_unit), *ends])
        else:
            points = repr(per_unit * term.clip(1))
            write([term.column, _label(term.equals), repr(coefficient), points, "", "", ""])
        if term.fill or (term.fill is not None and term.equals is None):
            # The sum has no negative zero.
            write([term.column, MISSING, "", repr(per_unit * term.fill + 0.0), "", "", ""])
    return text.getvalue().encode()


def run_scorecard(_: Model, content: bytes, columns: Columns, __: str) -> FloatArray:
    """Return the points of rows, by adding the lines of the table."""
    base, *lines = csv.DictReader(io.StringIO(content.decode(), newline=""))
    total = np.full((len(next(iter(columns.values()))), 1), float(base["points"]))
    for line in lines:
        total[:, 0] += [_points(line, value) for value in columns[line["column"]]]
    return total


def _label(value: Any) -> str:
    """Write a code such as 2.0 as 2."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _points(line: Mapping[str, str], value: Any) -> float:
    text = MISSING if value is None or value == "" else _label(value)
    if line["points_per_unit"] and text != MISSING:
        low, high = float(line["low"] or "-inf"), float(line["high"] or "inf")
        return float(line["points_per_unit"]) * min(max(float(value), low), high)
    return float(line["points"]) if line["value"] == text else 0.0
