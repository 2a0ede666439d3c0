"""What a column is: a number, a yes or no, text to be coded, or nothing that a model should see."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from safdr._old_table.arrow_types import is_number, is_text
from safdr._old_table.times import TYPED, time_in_numbers, time_in_texts

if TYPE_CHECKING:
    import pyarrow as pa

Kind = Literal["number", "boolean", "text"]

# Fewer rows prove nothing about a column.
MIN_ROWS = 10
# Text with more values than this, most of them seen once, names rows and does not group them.
MANY_VALUES = 20
NEARLY_UNIQUE = 0.5
# Different whole numbers that may be codes: the months of a year.
MOST_CODES = 12
IDENTIFIER_NAME = re.compile(
    r"(?i:(^|[_\W])(id|uuid|guid|key|index|no|nr|number)$)|(?i:^(id|uuid)[_\W])|[a-z]I[Dd]$"
)
# Of these, names that say so even where values come again: of customers, not of rows.
GROUP_NAME = re.compile(r"(?i:(^|[_\W])(id|uuid|guid)$)|(?i:^(id|uuid|guid)[_\W])|[a-z]I[Dd]$")
NUMBER_TEXT = r"^\s*[-+]?[$€£]?\s*[\d.,']*\d[\d.,']*([eE][-+]?\d+)?\s*[%$€£]?\s*$"
# A whole number that would lose its leading zeros as a number: 02139.
CODE_TEXT, WHOLE_TEXT = r"^0\d+$", r"^\d+$"


@dataclass(frozen=True)
class LeftOut:
    """A column that no model gets to see, and why."""

    column: str
    reason: str


def sort_columns(
    table: pa.Table,
    names: Iterable[str],
    keep: Iterable[str] = (),
    categories: Collection[str] = (),
    without_gap: Collection[str] = (),
) -> tuple[dict[str, Kind], list[LeftOut]]:
    """Tell the columns that a model can use from those to leave out.

    Those to keep, and numbers that are `categories`, are not asked whether they name rows. Of a
    sample: `without_gap` are whole numbers that span as many values as there are rows in all.
    """
    kinds: dict[str, Kind] = {}
    left_out = []
    kept = {*keep, *categories}
    for name in names:
        column = table.column(name)
        kind = _kind(column.type)
        reason = _unusable(column, kind)
        if not reason and name not in kept:
            reason = _names_rows(name, column, kind, without_gap)
        if reason or kind is None:
            left_out.append(LeftOut(name, reason or f"holds {column.type}"))
        else:
            kinds[name] = "text" if name in categories and kind == "number" else kind
    return kinds, left_out


def code_example(column: pa.ChunkedArray) -> str | None:
    """One of the codes with leading zeros, such as postcodes, that a text column holds."""
    import pyarrow.compute as pc

    values = pc.unique(column).drop_null()
    if _kind(column.type) != "text":
        return None
    if not pc.all(pc.match_substring_regex(values, WHOLE_TEXT)).as_py():
        return None
    codes = pc.filter(values, pc.match_substring_regex(values, CODE_TEXT))
    return str(codes[0]) if len(codes) else None


def names_groups(name: str, column: pa.ChunkedArray) -> bool:
    """Whether a column, by its name, tells customers or the like, who have several rows."""
    import pyarrow.compute as pc

    n_values = pc.count_distinct(column).as_py()
    return GROUP_NAME.search(name) is not None and MANY_VALUES < n_values < len(column)


def few_codes(column: pa.ChunkedArray) -> bool:
    """Whether a column of numbers holds more than two whole ones, each again and again."""
    import pyarrow.compute as pc

    values = pc.unique(column.drop_null())
    if not 2 < len(values) <= MOST_CODES or len(column) < MIN_ROWS * len(values):
        return False
    return bool(pc.all(pc.equal(pc.floor(values.cast("float64", safe=False)), values)).as_py())


def _kind(kind: Any) -> Kind | None:
    """What a type of Arrow can be used as."""
    from pyarrow import types

    if types.is_boolean(kind):
        return "boolean"
    if is_number(kind):
        return "number"
    return "text" if is_text(kind) else None


def _unusable(column: pa.ChunkedArray, kind: Kind | None) -> str | None:
    """Why no model could use the column."""
    import pyarrow.compute as pc
    from pyarrow import types

    if column.null_count == len(column):
        return "no values"
    if types.is_temporal(column.type):
        return TYPED
    if kind is None:
        return f"neither numbers nor text ({column.type})"
    if pc.count_distinct(column).as_py() == 1:
        return "one value only"
    if kind == "number":
        ends = pc.min_max(column.cast("float64", safe=False)).as_py()
        if ends["min"] == ends["max"]:
            return "one value only in double precision, which models compute in"
    return None


def _names_rows(
    name: str, column: pa.ChunkedArray, kind: Kind | None, without_gap: Collection[str]
) -> str | None:
    """Why the column names rows instead of describing them."""
    import pyarrow.compute as pc
    from pyarrow import types

    valid = column.drop_null()
    if len(valid) < MIN_ROWS:
        return None
    if kind == "text":
        return _text_names_rows(name, valid)
    if not types.is_integer(column.type):
        return None
    if (time := time_in_numbers(valid)) is not None:
        return time
    n_values = pc.count_distinct(valid).as_py()
    if n_values < len(valid):
        is_group = n_values > MANY_VALUES and GROUP_NAME.search(name)
        return f"an identifier, by its name: {n_values:,} whole numbers" if is_group else None
    if name in without_gap or IDENTIFIER_NAME.search(name) or _counts_rows(valid):
        return "an identifier: a whole number of its own in every row"
    return None


def _text_names_rows(name: str, valid: pa.ChunkedArray) -> str | None:
    import pyarrow.compute as pc

    values = pc.unique(valid)
    if (time := time_in_texts(values)) is not None:
        return time
    if len(values) <= max(MANY_VALUES, NEARLY_UNIQUE * len(valid)):
        return None
    if (code := code_example(valid)) is not None:
        return f"codes with leading zeros, such as {code!r}: {len(values):,} in {len(valid):,} rows"
    numeric = pc.match_substring_regex(values, NUMBER_TEXT)
    if pc.sum(numeric).as_py() > len(values) / 2:
        example = values.filter(numeric)[0].as_py()
        return f"numbers written as text, such as {example!r}: read them with --number {name}"
    return f"an identifier or free text: {len(values):,} values in {len(valid):,} rows"


def _counts_rows(valid: pa.ChunkedArray) -> bool:
    """Whether different whole numbers run without a gap, or in order down the table."""
    import numpy as np

    numbers = valid.to_numpy().astype(np.float64)
    steps = np.diff(numbers)
    without_gap = numbers.max() - numbers.min() == len(numbers) - 1
    return bool(without_gap or (steps > 0).all() or (steps < 0).all())
