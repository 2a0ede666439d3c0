"""Types of Arrow, reduced to those that can be computed with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa


def is_number(kind: Any) -> bool:
    """Return True for whole and floating numbers."""
    from pyarrow import types

    return bool(types.is_integer(kind) or types.is_floating(kind))


def is_text(kind: Any) -> bool:
    """Return True for text."""
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind))


def is_usable(kind: Any) -> bool:
    """Return True for numbers, text, booleans, dates and times."""
    from pyarrow import types

    temporal = types.is_temporal(kind) and not types.is_interval(kind)
    return bool(is_number(kind) or is_text(kind) or types.is_boolean(kind) or temporal)


def decode_table(table: pa.Table) -> pa.Table:
    """Return a table whose columns have plain types; lists and the like stay as they are."""
    import pyarrow as pa

    return pa.table([_decode(each) for each in table.columns], table.column_names)


def _decode(column: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow as pa

    wanted = _plain_type(column.type)
    column = column if column.type == wanted else column.cast(wanted)
    return finite(column) if pa.types.is_floating(wanted) else column


def _plain_type(kind: Any) -> Any:
    import pyarrow as pa
    from pyarrow import types

    if isinstance(kind, pa.BaseExtensionType):
        return _plain_type(kind.storage_type)
    if types.is_dictionary(kind):
        return _plain_type(kind.value_type)
    if types.is_float16(kind) or types.is_decimal(kind):
        return pa.float64()
    if types.is_string_view(kind):
        return pa.large_string()
    return pa.string() if types.is_null(kind) else kind


def finite(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Replace infinite numbers and NaN by missing values."""
    import pyarrow as pa
    import pyarrow.compute as pc

    is_finite = pc.is_finite(column)
    if pc.all(is_finite).as_py() is not False:
        return column
    return pc.if_else(is_finite, column, pa.scalar(None, column.type))


def replace_missing(column: pa.ChunkedArray, missing: Sequence[str]) -> pa.ChunkedArray:
    """Replace values that mean missing by missing values."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not missing or not (is_text(column.type) or is_number(column.type)):
        return column
    if is_number(column.type):
        column = column.cast("float64", safe=False)
        missing = [each for each in missing if is_plain_number(each)]
    values = pa.array(missing).cast(column.type) if missing else pa.array([], column.type)
    return pc.if_else(pc.is_in(column, value_set=values), pa.scalar(None, column.type), column)


def is_plain_number(text: str) -> bool:
    """Return True if programs read the text as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def value_label(value: Any) -> str:
    """Return a value as people write it: 1 for 1.0."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
