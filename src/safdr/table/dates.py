"""Dates in the types and texts that tables have: what they are, and which is later."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from safdr.table.errors import ColumnError

if TYPE_CHECKING:
    import pyarrow as pa

YEAR, MONTH, DAY = "(?:19|20)[0-9]{2}", "0?[1-9]|1[0-2]", "0?[1-9]|[12][0-9]|3[01]"
# Hours, minutes and seconds order the rows of a day; an offset of the time zone is ignored.
CLOCK = r"(?:[T ](?P<t>[0-9:.]*).*)?\s*$"
# 2024-01-31, 2024-01, 31.01.2024 or 1/31/24, 2024-Q1, 202401, 20240131.
DAYS = rf"^\s*(?P<y>[0-9]{{4}})[-/.](?P<m>{MONTH})[-/.](?P<d>{DAY}){CLOCK}"
SHORT = rf"^\s*(?P<m>[0-9]{{1,2}})[-/.](?P<d>[0-9]{{1,2}})[-/.](?P<y>[0-9]{{4}}|[0-9]{{2}}){CLOCK}"
MONTHS = rf"^\s*(?P<y>{YEAR})[-/](?P<m>{MONTH})(?P<d>)(?P<t>)\s*$"
QUARTERS = rf"^\s*(?P<y>{YEAR})[- ]?[QW](?P<m>[0-9]{{1,2}})(?P<d>)(?P<t>)\s*$"
DIGITS = rf"^\s*(?P<y>{YEAR})(?P<m>0[1-9]|1[0-2])"
MONTH_DIGITS = rf"{DIGITS}(?P<d>)(?P<t>)\s*$"
DAY_DIGITS = rf"{DIGITS}(?P<d>0[1-9]|[12][0-9]|3[01])(?P<t>)\s*$"
PATTERNS = {
    **{DAYS: "dates", SHORT: "dates", MONTHS: "months", QUARTERS: "quarters or weeks"},
    **{MONTH_DIGITS: "months", DAY_DIGITS: "dates"},
}
TYPED = "dates or times"


def kind_of_dates(values: Any) -> str | None:
    """Return what texts or whole numbers are, if all of them are dates, months or quarters."""
    if len(values) == 0:
        return None
    pattern = _pattern(values)
    return None if pattern is None else PATTERNS[pattern]


def sort_keys(name: str, column: pa.ChunkedArray) -> NDArray[np.float64]:
    """Return numbers that are larger where the date is later, as written; NaN where missing."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types

    kind = column.type
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return np.array(column.cast("float64", safe=False).to_numpy(), dtype=float)
    if types.is_temporal(kind):
        size = pa.int64() if kind.bit_width == 64 else pa.int32()
        return np.array(column.cast(size).cast("float64", safe=False).to_numpy(), dtype=float)
    values = pc.unique(column.drop_null())
    pattern = None if types.is_boolean(kind) or not len(values) else _pattern(values)
    if pattern is None:
        example = f", such as {values[0].as_py()!r}" if len(values) else ""
        raise ColumnError(
            f"The column {name!r} cannot be put in order of time{example}. Use dates, months such "
            "as 2024-07, or numbers."
        )
    parts = pc.extract_regex(column, pattern)
    year, month, day = (_number(parts, each) for each in "ymd")
    if pattern == SHORT and _has_day_first(name, values):
        month, day = day, month
    # Years of two digits, as in POSIX: 69 is 1969, 68 is 2068.
    century = pc.if_else(pc.less(year, 69), 2000, pc.if_else(pc.less(year, 100), 1900, 0))
    days = pc.add(pc.multiply(pc.add(pc.multiply(pc.add(year, century), 100), month), 100), day)
    keys = np.array(days.cast("float64").to_numpy(), dtype=float)
    return keys + _share_of_day(pc.struct_field(parts, "t"))


def _share_of_day(times: Any) -> NDArray[np.float64]:
    """Return times of day such as 13:45:10.5 as a share of the day."""
    import pyarrow.compute as pc

    found = pc.extract_regex(times, r"^(?P<h>[0-9]{1,2}):(?P<m>[0-9]{2})(?::(?P<s>[0-9.]+))?")
    total = np.zeros(len(times))
    for part, seconds in (("h", 3600), ("m", 60), ("s", 1)):
        text = pc.struct_field(found, part)
        text = pc.if_else(pc.equal(text, ""), "0", text)
        total += seconds * np.array(pc.fill_null(text, "0").cast("float64").to_numpy())
    return total / 86_400


def _pattern(values: Any) -> str | None:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_integer(values.type):
        values = values.cast("string")
    elif not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        return None
    return next((p for p in PATTERNS if pc.all(pc.match_substring_regex(values, p)).as_py()), None)


def _has_day_first(name: str, values: Any) -> bool:
    """Return True if the day stands before the month; with dots it always does."""
    import pyarrow.compute as pc

    parts = pc.extract_regex(values, SHORT)
    first, second = (pc.max(_number(parts, each)).as_py() for each in "md")
    if first > 12 or pc.any(pc.match_substring(values, ".")).as_py():
        return True
    if second > 12:
        return False
    raise ColumnError(
        f"Day and month cannot be distinguished in the column {name!r}, as in "
        f"{values[0].as_py()!r}. Write dates as 2024-01-31."
    )


def _number(parts: Any, name: str) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    text = pc.struct_field(parts, name)
    return pc.if_else(pc.equal(text, ""), pa.scalar("1", text.type), text).cast("int64")
