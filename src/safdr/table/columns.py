"""What each column of a table is, and why some cannot be features."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from safdr.table import numbers as text_numbers
from safdr.table.dates import TYPED, kind_of_dates
from safdr.table.errors import ColumnError, counted, unknown_column

if TYPE_CHECKING:
    import pyarrow as pa

Use = Literal["number", "boolean", "category"]

# Metadata of tables whose columns are all text because their file has no types, as in CSV.
UNTYPED = {b"safdr": b"untyped"}
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
    mark: str | None = None
    # Values that mean missing.
    missing: tuple[str, ...] = ()
    # A number as it is written, if programs would read it differently.
    example: str = ""
    # True if values of a category are numbers.
    has_codes: bool = False

    def read(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return the values as the model reads them: doubles, booleans or text."""
        import pyarrow.compute as pc

        decoded = plain(column)
        if decoded is None:
            raise ColumnError(f"The column {self.name!r} holds {column.type}.")
        column = without(decoded, self.missing)
        if self.use == "boolean":
            return pc.equal(pc.utf8_lower(column), "true") if is_text(column.type) else column
        if self.use == "number" or self.has_codes:
            if is_text(column.type):
                return text_numbers.parse_numbers(column, self.mark or ".")
            return column.cast("int8" if str(column.type) == "bool" else column.type).cast(
                "float64", safe=False
            )
        return column if is_text(column.type) else column.cast("string")


@dataclass(frozen=True, kw_only=True)
class Wishes:
    """What the user says about columns."""

    drop: Collection[str] = ()
    keep: Collection[str] = ()
    categories: Collection[str] = ()
    numbers: Collection[str] = ()
    # Values that mean missing: VALUE, or COLUMN=VALUE.
    na: Collection[str] = ()

    def check(self, names: Sequence[str]) -> None:
        """Refuse columns that do not exist or have contradictory wishes."""
        used = [*self.keep, *self.categories, *self.numbers]
        for name in (*used, *self.drop):
            if name not in names:
                raise unknown_column(name, names)
            if name in used and name in self.drop:
                raise ColumnError(f"The column {name!r} is both used and dropped.")
            if name in self.numbers and name in self.categories:
                raise ColumnError(f"The column {name!r} cannot be both numbers and categories.")

    def missing(self, name: str, names: Collection[str]) -> tuple[str, ...]:
        """Return the values that mean missing in a column."""
        pairs = [(each, *each.partition("=")[::2]) for each in self.na]
        general = [each for each, column, _ in pairs if column not in names]
        return (*general, *(value for _, column, value in pairs if column == name))


def learn_columns(table: pa.Table, wishes: Wishes) -> list[Column]:
    """Decide what each column is."""
    names = table.column_names
    wishes.check(names)
    untyped = (table.schema.metadata or {}).items() >= UNTYPED.items()
    texts = [column for column in table.columns if is_text(column.type)]
    mark = text_numbers.preferred_mark([each.slice(0, 10_000) for each in texts])
    columns = []
    for name, values in zip(names, table.columns, strict=True):
        if name in wishes.drop:
            columns.append(Column(name, None, "dropped on request"))
            continue
        found = learn_column(name, values, wishes, names, mark, untyped=untyped)
        if found.use is None and name in (*wishes.keep, *wishes.numbers, *wishes.categories):
            raise ColumnError(f"The column {name!r} cannot be used: {found.why}.")
        columns.append(found)
    return columns


def learn_column(
    name: str,
    values: pa.ChunkedArray,
    wishes: Wishes,
    names: Collection[str] = (),
    mark: str = ".",
    *,
    untyped: bool = False,
) -> Column:
    """Decide what a column is."""
    from pyarrow import types

    column = Column(name, None, missing=wishes.missing(name, names))
    decoded = plain(values)
    if decoded is None:
        return replace(column, why=f"neither numbers nor text ({_type_name(values.type)})")
    decoded = without(decoded, column.missing)
    if decoded.null_count == len(decoded):
        return replace(column, why="no values")
    if types.is_temporal(decoded.type):
        return replace(column, why=TYPED)
    if types.is_boolean(decoded.type):
        column = replace(column, use="boolean")
    elif is_number(decoded.type):
        is_category = name in wishes.categories
        column = replace(column, use="category" if is_category else "number", has_codes=is_category)
    else:
        column = _learn_text(column, decoded, wishes, mark, untyped=untyped)
    if column.use is None:
        return column
    kept = name in {*wishes.keep, *wishes.numbers, *wishes.categories}
    why = _why_unusable(column, decoded, kept=kept)
    return replace(column, use=None, why=why) if why else column


def _learn_text(
    column: Column, values: pa.ChunkedArray, wishes: Wishes, mark: str, *, untyped: bool
) -> Column:
    """Decide if text is numbers, true and false, or categories."""
    import pyarrow.compute as pc

    category = replace(column, use="category")
    if column.name in wishes.categories:
        has_codes = _plain_numbers(values, mark)
        return replace(category, has_codes=has_codes, mark="." if has_codes else None)
    asked = column.name in wishes.numbers
    if not asked and set(pc.unique(values.drop_null()[:1000]).to_pylist()) <= _TRUTH:
        distinct = set(pc.unique(values.drop_null()).to_pylist())
        return replace(column, use="boolean") if distinct <= _TRUTH else category
    if untyped and _plain_numbers(values, mark):
        return replace(column, use="number", mark=".")
    found = text_numbers.number_format(values, mark)
    if found is None and asked:
        raise ColumnError(f"The column {column.name!r} holds text, no numbers.")
    if found is None or (found.doubt and not asked):
        return category
    if not asked and not untyped and found.example.isdecimal() and not found.other:
        # Digits that a typed file holds as text are codes.
        return category
    number = text_numbers.parse_numbers(_one(found.example), found.mark)[0].as_py()
    written = is_plain_number(found.example)
    return replace(
        column,
        use="number",
        mark=found.mark,
        missing=(*column.missing, *found.other),
        example="" if written else f"{found.example} → {value_label(number)}",
    )


_TRUTH = {"true", "false", "True", "False", "TRUE", "FALSE"}


def _one(text: str) -> Any:
    import pyarrow as pa

    return pa.chunked_array([[text]])


def is_plain_number(text: str) -> bool:
    """Return True if programs read the text as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _plain_numbers(values: pa.ChunkedArray, mark: str) -> bool:
    """Return True if all text is numbers as programs write them, without leading zeros."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if mark == "," and pc.any(pc.match_substring(values, ".")).as_py():
        return False
    try:
        values.cast("float64")
    except pa.ArrowInvalid:
        return False
    return not pc.any(pc.match_substring_regex(values, text_numbers.CODE)).as_py()


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
    if (dates := _kind_of_dates(values)) is not None:
        return dates
    if column.use == "number":
        return _why_identifier(column, read)
    return _why_no_category(column.name, pc.unique(values.drop_null()), len(read))


def _kind_of_dates(values: pa.ChunkedArray) -> str | None:
    import pyarrow.compute as pc
    from pyarrow import types

    if is_number(values.type) and not types.is_integer(values.type):
        return None
    # Most columns are no dates, which few values show.
    if kind_of_dates(pc.unique(values.slice(0, 1000).drop_null())) is None:
        return None
    return kind_of_dates(pc.unique(values.drop_null()))


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
    where = f"{n_values:,} values in {counted(n_rows, 'row')}"
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


# ---- Types of Arrow ------------------------------------------------------------------------------


def is_number(kind: Any) -> bool:
    """Return True for whole, floating and decimal numbers."""
    from pyarrow import types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def is_text(kind: Any) -> bool:
    """Return True for text."""
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind))


def plain(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Return a column in a type that can be computed with; None if there is none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    wanted = _plain_type(column.type)
    if wanted is None:
        return None
    try:
        if pa.types.is_run_end_encoded(column.type):
            column = pc.run_end_decode(column)
        column = column if column.type == wanted else column.cast(wanted)
    except pa.ArrowNotImplementedError:
        return None
    return text_numbers.finite(column) if pa.types.is_floating(wanted) else column


def _plain_type(kind: Any) -> Any:
    import pyarrow as pa
    from pyarrow import types

    if isinstance(kind, pa.BaseExtensionType):
        is_bool = kind.extension_name == "arrow.bool8"
        return pa.bool_() if is_bool else _plain_type(kind.storage_type)
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return _plain_type(kind.value_type)
    if types.is_float16(kind) or types.is_decimal(kind):
        return pa.float64()
    if types.is_string_view(kind):
        return pa.large_string()
    if types.is_null(kind):
        return pa.string()
    usable = types.is_boolean(kind) or is_number(kind) or is_text(kind)
    return kind if usable or (types.is_temporal(kind) and not types.is_interval(kind)) else None


def without(column: pa.ChunkedArray, missing: Sequence[str]) -> pa.ChunkedArray:
    """Replace values that mean missing by missing values."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not missing:
        return column
    if is_text(column.type):
        values = pa.array(missing, column.type)
    elif is_number(column.type):
        numbers = [float(each) for each in missing if is_plain_number(each)]
        column, values = column.cast("float64", safe=False), pa.array(numbers, pa.float64())
    else:
        return column
    gone = pc.is_in(column, value_set=values)
    return pc.if_else(gone, pa.scalar(None, column.type), column)


def value_label(value: Any) -> str:
    """Return a value as people write it: 1 for 1.0."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _type_name(kind: Any) -> str:
    return str(kind).partition("<")[0]
