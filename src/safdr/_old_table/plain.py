"""Columns of all the types of Arrow become those few that can be computed with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from safdr._old_table.columns import LeftOut

if TYPE_CHECKING:
    import pyarrow as pa


def plain(table: pa.Table) -> tuple[pa.Table, list[LeftOut]]:
    """The table in plain types, and the columns that have none, such as lists.

    Categories become their values; not-a-number and infinity become missing values.
    """
    import pyarrow

    columns, names, unreadable = [], [], []
    for name, column in zip(table.column_names, table.columns, strict=True):
        decoded = _decoded(column)
        if decoded is None:
            # The whole type would spell out all the fields of a struct.
            kind = str(column.type).partition("<")[0]
            unreadable.append(LeftOut(name, f"neither numbers nor text ({kind})"))
        else:
            names.append(name)
            columns.append(_only_finite(decoded))
    return pyarrow.Table.from_arrays(columns, names=names), unreadable


def _decoded(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """The column as a type that all of Arrow's functions take; None if there is none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    wanted = _plain_type(column.type)
    if wanted is None or wanted == column.type:
        return None if wanted is None else column
    try:
        if pa.types.is_run_end_encoded(column.type):
            column = pc.run_end_decode(column)
        return column.cast(wanted)
    except pa.ArrowNotImplementedError:
        # A way to write values within another one, such as a dictionary of views.
        return None


def _plain_type(kind: Any) -> Any:
    """What to make of a type; None if nothing can be made of it."""
    import pyarrow as pa
    from pyarrow import types

    if isinstance(kind, pa.BaseExtensionType):
        is_bool8 = kind.extension_name == "arrow.bool8"
        return pa.bool_() if is_bool8 else _plain_type(kind.storage_type)
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return _plain_type(kind.value_type)
    if types.is_float16(kind):
        return pa.float32()
    if types.is_decimal(kind) and kind.bit_width < 128:
        return pa.decimal128(kind.precision, kind.scale)
    if types.is_string_view(kind):
        return pa.large_string()
    if types.is_binary_view(kind):
        return pa.large_binary()
    if types.is_null(kind):
        return pa.string()
    return kind if _is_plain(kind) else None


def _is_plain(kind: Any) -> bool:
    """Whether values of the type can be counted and compared, which intervals of time can't."""
    from pyarrow import types

    return not types.is_interval(kind) and any(
        test(kind)
        for test in (
            *(types.is_boolean, types.is_integer, types.is_floating, types.is_decimal),
            *(types.is_string, types.is_large_string, types.is_temporal),
            *(types.is_binary, types.is_large_binary, types.is_fixed_size_binary),
        )
    )


def _only_finite(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """One way to be missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(column.type):
        finite = pc.is_finite(column)
        if not pc.all(finite, min_count=0).as_py():
            column = pc.if_else(finite, column, pa.scalar(None, column.type))
    return column
