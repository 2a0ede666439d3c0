"""What each column of a table is, and why some cannot be features."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from safdr.table import numbers as text_numbers
from safdr.table.dates import are_dates
from safdr.table.errors import ColumnError, unknown_column
from safdr.table.types import is_text, is_usable, replace_missing
from safdr.text import count

if TYPE_CHECKING:
    import pyarrow as pa

Use = Literal["number", "boolean", "category"]

# Fewer rows prove nothing about a column.
MIN_ROWS = 10
# Text with more values than this, in more than half of its rows another one, is no category.
MANY_VALUES, NEARLY_UNIQUE = 20, 0.5
# Distinct whole numbers number the rows if they fill their range; if they are this many, half of
# it, since held-out rows leave gaps.
MANY_ROWS, DENSE = 50, 0.5
IDENTIFIER_NAME = re.compile(
    r"(?i:(^|[_\W])(id|uuid|guid|key|index|no|nr|number)$)|(?i:^(id|uuid)[_\W])|[a-z]I[Dd]$"
)
# Names of identifiers even if values repeat: of customers, not of rows.
GROUP_NAME = re.compile(r"(?i:(^|[_\W])(id|uuid|guid)$)|(?i:^(id|uuid|guid)[_\W])|[a-z]I[Dd]$")


@dataclass(frozen=True)
class Column:
    """A column of a table, and how to read it."""

    name: str
    # None if it cannot be a feature.
    use: Use | None
    why: str = ""
    # Decimal mark of numbers in text.
    mark: str = "."
    # Values that mean missing.
    missing: tuple[str, ...] = ()
    # A number as it is written, if programs would read it differently.
    example: str = ""
    # True if values of a category are numbers.
    has_codes: bool = False

    def read(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return the values as the model reads them: doubles, booleans or text."""
        import pyarrow.compute as pc

        column = replace_missing(column, self.missing)
        in_text = is_text(column.type)
        if self.use == "boolean":
            return pc.equal(pc.utf8_lower(column), "true") if in_text else column
        if self.use == "number" or self.has_codes:
            if in_text:
                return text_numbers.parse_numbers(column, self.mark)
            return column.cast("float64", safe=False)
        return column if in_text else column.cast("string")


def asked_uses(names: Collection[str], **asked: Collection[str] | None) -> dict[str, str]:
    """Return what the user says about columns: "drop", "keep", "categories" or "numbers"."""
    found: dict[str, str] = {}
    for use, columns in asked.items():
        for name in columns or ():
            if name not in names:
                raise unknown_column(name, list(names))
            if found.setdefault(name, use) != use:
                raise ColumnError(
                    f"The column {name!r} is in both {found[name]} and {use}. Use one of them."
                )
    return found


def missing_words(na: Collection[str] | None, name: str, names: Collection[str]) -> tuple[str, ...]:
    """Return the values that mean missing in a column, of VALUE or COLUMN=VALUE."""
    pairs = [(each, *each.partition("=")[::2]) for each in na or ()]
    general = [each for each, column, _ in pairs if column not in names]
    return (*general, *(value for _, column, value in pairs if column == name))


def learn_columns(
    table: pa.Table, asked: Mapping[str, str], na: Collection[str] | None
) -> list[Column]:
    """Decide what each column is."""
    mark, names = text_numbers.preferred_mark(table.columns), table.column_names
    found = []
    for name, values in zip(names, table.columns, strict=True):
        missing, use = missing_words(na, name, names), asked.get(name)
        column = learn_column(name, values, use, missing, mark)
        if column.use is None and use not in (None, "drop"):
            raise ColumnError(f"The column {name!r} cannot be used: {column.why}.")
        found.append(column)
    return found


def learn_column(
    name: str,
    values: pa.ChunkedArray,
    asked: str | None = None,
    missing: tuple[str, ...] = (),
    mark: str = ".",
) -> Column:
    """Decide what a column is."""
    from pyarrow import types

    column = Column(name, None, missing=missing)
    if asked == "drop":
        return replace(column, why="dropped by an option")
    if not is_usable(values.type):
        kind = str(values.type).partition("<")[0]
        return replace(column, why=f"neither numbers nor text ({kind})")
    values = replace_missing(values, missing)
    if values.null_count == len(values):
        return replace(column, why="no values")
    if types.is_temporal(values.type):
        return replace(column, why="dates or times")
    if types.is_boolean(values.type):
        column = replace(column, use="boolean")
    elif is_text(values.type):
        column = _learn_text(column, values, asked, mark)
    elif asked == "categories":
        column = replace(column, use="category", has_codes=True)
    else:
        column = replace(column, use="number")
    why = _why_unusable(column, values, kept=asked is not None)
    return replace(column, use=None, why=why) if why else column


def _learn_text(column: Column, values: pa.ChunkedArray, asked: str | None, mark: str) -> Column:
    """Decide if text is numbers, true and false, or categories."""
    import pyarrow.compute as pc

    category = replace(column, use="category")
    if asked == "categories":
        return replace(category, has_codes=text_numbers.plain_numbers(values, mark) is not None)
    if asked != "numbers" and set(pc.unique(values.drop_null()[:1000]).to_pylist()) <= _TRUTH:
        distinct = set(pc.unique(values.drop_null()).to_pylist())
        return replace(column, use="boolean") if distinct <= _TRUTH else category
    found = text_numbers.number_format(values, mark)
    if asked == "numbers" and found is None:
        raise ColumnError(f"The column {column.name!r} holds text, no numbers.")
    # Whole numbers that a table holds as text are codes.
    are_codes = found is not None and found.example.isdecimal() and not found.other
    if found is None or (asked != "numbers" and (are_codes or not found.is_sure)):
        return category
    return replace(
        column,
        use="number",
        mark=found.mark,
        missing=(*column.missing, *found.other),
        example=found.described(),
    )


_TRUTH = {"true", "false", "True", "False", "TRUE", "FALSE"}


def _why_unusable(column: Column, values: pa.ChunkedArray, *, kept: bool) -> str:
    """Return why a column cannot be a feature; "" if it can."""
    import pyarrow.compute as pc

    read = column.read(values).drop_null()
    if len(read) == 0:
        return "no values"
    if pc.count_distinct(read).as_py() == 1:
        return "one value only"
    if kept or len(read) < MIN_ROWS or column.use == "boolean":
        return ""
    if _are_dates(values):
        return "dates"
    if column.use == "number":
        return _why_identifier(column, read)
    return _why_no_category(column.name, pc.unique(values.drop_null()), len(read))


def _are_dates(values: pa.ChunkedArray) -> bool:
    import pyarrow.compute as pc

    # Most columns are no dates, which few values show.
    first = pc.unique(values.slice(0, 1000).drop_null())
    return are_dates(first) and are_dates(pc.unique(values.drop_null()))


def _why_identifier(column: Column, read: pa.ChunkedArray) -> str:
    import pyarrow.compute as pc

    if not pc.all(pc.equal(pc.floor(read), read)).as_py():
        return ""
    n_values, ends = pc.count_distinct(read).as_py(), pc.min_max(read).as_py()
    if n_values < len(read):
        is_group = n_values > MANY_VALUES and GROUP_NAME.search(column.name)
        return _identifier(n_values) if is_group else ""
    share = DENSE if n_values >= MANY_ROWS else 1.0
    if n_values - 1 >= share * (ends["max"] - ends["min"]) or IDENTIFIER_NAME.search(column.name):
        return "an identifier: another whole number in each row"
    return ""


def _why_no_category(name: str, distinct: Any, n_rows: int) -> str:
    import pyarrow.compute as pc

    n_values = len(distinct)
    if n_values > MANY_VALUES and GROUP_NAME.search(name):
        return _identifier(n_values)
    if n_values <= max(MANY_VALUES, NEARLY_UNIQUE * n_rows):
        return ""
    where = f"{n_values:,} values in {count(n_rows, 'row')}"
    if pc.all(pc.match_substring_regex(distinct, text_numbers.DIGITS)).as_py():
        return f"codes: {where}"
    return f"an identifier or free text: {where}"


def _identifier(n_values: int) -> str:
    return f"an identifier by its name, with {n_values:,} values"


def few_whole_numbers(read: pa.ChunkedArray) -> bool:
    """Return True if numbers may be codes: three to twelve whole ones, each in many rows."""
    import pyarrow.compute as pc

    values = pc.unique(read.drop_null())
    if not 2 < len(values) <= 12 or len(read) < MIN_ROWS * len(values):
        return False
    return bool(pc.all(pc.equal(pc.floor(values), values)).as_py())
