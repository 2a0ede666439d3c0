"""Days and months in the types and texts that tables have: what they are, and which is later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from safdr._old_table.errors import ColumnUseError

if TYPE_CHECKING:
    import pyarrow as pa

YEAR, MONTH, DAY = "(?:19|20)[0-9]{2}", "0?[1-9]|1[0-2]", "0?[1-9]|[12][0-9]|3[01]"
CLOCK = r"(?:[T ].*)?\s*$"
# 2024-01-31, 2024-01, 31.01.2024 or 1/31/24, 2024-Q1, 202401; days with or without a time of day.
DAYS = rf"^\s*(?P<y>[0-9]{{4}})[-/.](?P<m>{MONTH})[-/.](?P<d>{DAY}){CLOCK}"
MONTHS = rf"^\s*(?P<y>{YEAR})[-/](?P<m>{MONTH})(?P<d>)\s*$"
SHORT = rf"^\s*(?P<m>[0-9]{{1,2}})[-/.](?P<d>[0-9]{{1,2}})[-/.](?P<y>[0-9]{{4}}|[0-9]{{2}}){CLOCK}"
PARTS = rf"^\s*(?P<y>{YEAR})[- ]?[QW](?P<m>[0-9]{{1,2}})(?P<d>)\s*$"
DIGITS = rf"^\s*(?P<y>{YEAR})(?P<m>0[1-9]|1[0-2])"
MONTH_DIGITS, DAY_DIGITS = rf"{DIGITS}(?P<d>)\s*$", rf"{DIGITS}(?P<d>0[1-9]|[12][0-9]|3[01])\s*$"
# What a column of texts that are all of one kind is.
WRITTEN = {
    **{DAYS: "dates", SHORT: "dates", MONTHS: "months", PARTS: "parts of years"},
    **{MONTH_DIGITS: "months", DAY_DIGITS: "dates"},
}
# 20240131 and 202401 as numbers.
FIRST_DAY, LAST_DAY = 19000101, 21001231
AS_NUMBERS = "{}, written as numbers"
TYPED = "dates or times"
REASONS = {TYPED, *WRITTEN.values(), *map(AS_NUMBERS.format, ("dates", "months"))}


def time_in_texts(values: Any) -> str | None:
    """What texts are, if all of them are times."""
    pattern = _pattern(values)
    return None if pattern is None else WRITTEN[pattern]


def time_in_numbers(valid: pa.ChunkedArray) -> str | None:
    """What whole numbers are, if all of them are days or months of the calendar."""
    numbers = valid.to_numpy()
    found = _calendar(numbers)
    if found is None or (found == "months" and numbers.min() == numbers.max()):
        return None
    return AS_NUMBERS.format(found)


def _calendar(numbers: NDArray[Any]) -> str | None:
    """Days such as 20240131, or months such as 202401."""
    least, most = numbers.min(), numbers.max()
    if least >= FIRST_DAY and most <= LAST_DAY:
        month, day = numbers // 100 % 100, numbers % 100
        if np.all((month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)):
            return "dates"
    elif least >= FIRST_DAY // 100 and most <= LAST_DAY // 100:
        month = numbers % 100
        if np.all((month >= 1) & (month <= 12)):
            return "months"
    return None


@dataclass(frozen=True)
class Order:
    """How values of a column are put in order of time."""

    column: str
    # How texts are written, and whether 1/2/2024 is the first of February; None: by the values.
    pattern: str | None = None
    day_first: bool = False

    @classmethod
    def of(cls, name: str, column: pa.ChunkedArray) -> Order:
        """That of a column, if it has one."""
        import pyarrow.compute as pc
        from pyarrow import types

        kind, values = column.type, pc.unique(column.drop_null())
        if types.is_temporal(kind) or types.is_integer(kind) or types.is_floating(kind):
            return cls(name)
        pattern = _pattern(values) if len(values) and not types.is_boolean(kind) else None
        if pattern is None:
            such = f", such as {values[0].as_py()!r}" if len(values) else ""
            raise ColumnUseError(
                f"The column {name!r} can't be put in order of time{such}. Dates, months such as "
                "2024-07, and numbers can."
            )
        return cls(name, pattern, pattern == SHORT and _has_day_first(name, values))

    def keys(self, table: pa.Table) -> pa.ChunkedArray:
        """Numbers that are larger where the time is later; missing where it is."""
        import pyarrow as pa
        import pyarrow.compute as pc

        column = table.column(self.column)
        if self.pattern is None:
            if pa.types.is_temporal(column.type):
                size = column.type.bit_width
                column = column.cast(pa.int64() if size == 64 else pa.int32()).cast("int64")
            return column.cast("float64", safe=False)
        parts = pc.extract_regex(column, self.pattern)
        year, month, day = (_number(parts, each) for each in "ymd")
        if self.day_first:
            month, day = day, month
        # Of two digits, as POSIX has them: 69 is 1969, and 68 is 2068.
        century = pc.if_else(pc.less(year, 69), 2000, pc.if_else(pc.less(year, 100), 1900, 0))
        months = pc.add(pc.multiply(pc.add(year, century), 100), month)
        return pc.add(pc.multiply(months, 100), day).cast("float64")


def _pattern(values: Any) -> str | None:
    """The way in which all texts are written."""
    return next((pattern for pattern in WRITTEN if are_written(values, pattern)), None)


def are_written(values: Any, pattern: str) -> bool:
    """Whether all texts are written so."""
    import pyarrow.compute as pc

    return bool(pc.all(pc.match_substring_regex(values, pattern)).as_py())


def _has_day_first(name: str, values: Any) -> bool:
    """Whether a day, which may be more than 12, comes first: always where dots are."""
    import pyarrow.compute as pc

    parts = pc.extract_regex(values, SHORT)
    first, second = (pc.max(_number(parts, each)).as_py() for each in "md")
    if first > 12 or pc.any(pc.match_substring(values, ".")).as_py():
        return True
    if second > 12:
        return False
    raise ColumnUseError(
        f"In the column {name!r} nobody can tell days from months, as in {values[0].as_py()!r}. "
        "Write dates as 2024-01-31."
    )


def _number(parts: Any, name: str) -> Any:
    """A part of a date; months begin with their first day."""
    import pyarrow as pa
    import pyarrow.compute as pc

    text = pc.struct_field(parts, name)
    return pc.if_else(pc.equal(text, ""), pa.scalar("1", text.type), text).cast("int64")
