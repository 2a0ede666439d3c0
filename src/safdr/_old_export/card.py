"""The scorecard as a table: what to add up by hand, in a CSV file."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from safdr._old_export.errors import WrongFormulaError
from safdr._old_export.formula import Formula, Term
from safdr._old_export.points import Points
from safdr._old_table.recipe import Coding, FloatArray
from safdr._old_table.target import label_text

if TYPE_CHECKING:
    import pyarrow as pa

HEAD = (
    *("feature", "value", "points", "points_per_unit", "counted_from"),
    *("least", "largest", "points_at_least", "points_at_largest"),
)
BASE = "(base points)"


def to_card(formula: Formula, codings: Sequence[Coding], table: pa.Table) -> str:
    """Write down the points of each feature; what they add up to is checked on a table."""
    assert formula.points is not None
    rows = [*card_rows(formula, codings)]
    _check(formula, rows, table)
    return to_csv(rows)


def to_csv(rows: Iterable[dict[str, Any]]) -> str:
    """The rows of a card as text."""
    text = io.StringIO()
    writer = csv.DictWriter(text, HEAD, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def card_rows(formula: Formula, codings: Sequence[Coding] = ()) -> Iterator[dict[str, Any]]:
    """A row for each number, and for each value of a category; the base points first."""
    points = formula.points
    assert points is not None
    yield {"feature": BASE, "points": _whole(points.base, points)}
    references = {coding.column: label_text(coding.reference) for coding in codings}
    for term, per_unit, typical in zip(formula.terms, points.per_unit, points.typical, strict=True):
        feature = term.feature
        if feature.kind == "number":
            yield _number_row(term, per_unit, typical, points)
            continue
        if feature.column in references:
            # What all others are compared with.
            value = references.pop(feature.column)
            yield {"feature": feature.column, "value": value, "points": 0}
        value = "true" if feature.level is None else label_text(feature.level)
        yield {"feature": feature.column, "value": value, "points": _whole(per_unit, points)}


def _whole(exact: float, points: Points) -> float:
    return int(np.floor(exact + 0.5)) if points.scale.whole else exact


def _number_row(term: Term, per_unit: float, typical: float, points: Points) -> dict[str, Any]:
    row = {
        "feature": term.feature.column,
        "points_per_unit": per_unit,
        "counted_from": typical,
    }
    if term.is_clipped:
        row |= {"least": term.low, "largest": term.high}
        for name, end in (("least", term.low), ("largest", term.high)):
            row[f"points_at_{name}"] = _whole(per_unit * (end - typical), points)
    return row


def _check(formula: Formula, rows: list[dict[str, Any]], table: pa.Table) -> None:
    """Add the card up, row by row, as people would, and hold it against the model's log-odds."""
    assert formula.points is not None
    scale = formula.points.scale
    total = np.zeros(table.num_rows)
    for row in rows:
        total += _of_row(row, formula, table)
    exact = scale.of_log_odds(formula.sums(table)[:, 0])
    size = np.abs(exact) + abs(formula.points.base)
    size += abs(scale.factor) * formula.magnitude(table)[:, 0]
    allowed = 1e-9 * size + (0.5 * (1 + len(formula.terms)) if scale.whole else 0.0)
    if not (np.abs(total - exact) <= allowed).all():
        raise WrongFormulaError("The points don't add up to the model's. Please report this.")


def _of_row(row: dict[str, Any], formula: Formula, table: pa.Table) -> FloatArray:
    """Points that one line of the card gives to each row of a table."""
    if row["feature"] == BASE and "value" not in row and "counted_from" not in row:
        return np.full(table.num_rows, row["points"])
    own = np.zeros(table.num_rows)
    for term in formula.terms:
        if term.feature.column != row["feature"]:
            continue
        values = term.values(table)
        if "points_per_unit" in row:
            exact = row["points_per_unit"] * (values - row["counted_from"])
            whole = formula.points is not None and formula.points.scale.whole
            return np.floor(exact + 0.5) if whole else exact
        level = "true" if term.feature.level is None else label_text(term.feature.level)
        if level == row["value"]:
            own += row["points"] * values
    return own
