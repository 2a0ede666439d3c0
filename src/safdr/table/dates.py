"""Dates in the types and texts that tables have: what they are, and which is later."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from safdr.table.errors import ColumnError
from safdr.table.types import is_number, is_text

if TYPE_CHECKING:
    import pyarrow as pa

YEAR, MONTH, DAY = "(?:19|20)[0-9]{2}", "0[1-9]|1[0-2]", "0[1-9]|[12][0-9]|3[01]"
# Sorted as text: 2024-01-31T10:00, 2024-01, 2024-Q1, 202401 and 20240131.
SORTED = (
    rf"^\s*([0-9]{{4}}[-/.]({MONTH})[-/.]({DAY})([T ][0-9]{{2}}.*)?"
    rf"|{YEAR}[-/]?({MONTH})|{YEAR}({MONTH})({DAY})|{YEAR}[- ]?(Q[1-4]|W[0-9]{{2}}))\s*$"
)
# 31.01.2024 or 1/31/24.
SHORT = r"^\s*([0-9]{1,2})[-/.]([0-9]{1,2})[-/.]([0-9]{4}|[0-9]{2})([T ].*)?\s*$"


def are_dates(values: Any) -> bool:
    """Return True if all texts or whole numbers are dates, months or quarters."""
    return len(values) > 0 and _pattern(values) is not None


def sort_keys(name: str, column: pa.ChunkedArray) -> NDArray[np.float64]:
    """Return numbers that are larger where the date is later, as written; NaN where missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_temporal(kind):
        column = column.cast(pa.int64() if kind.bit_width == 64 else pa.int32())
    if is_number(column.type):
        return np.array(column.cast("float64", safe=False).to_numpy(), dtype=float)
    values = pc.unique(column.drop_null())
    pattern, texts = _pattern(values), values.to_pylist()
    if pattern is None:
        raise ColumnError(
            f"The column {name!r} cannot be put in order of time, such as {texts[:1]}. Use dates, "
            "months such as 2024-07, or numbers."
        )
    key = None if pattern == SORTED else _short_key(name, texts)
    rank = {text: i for i, text in enumerate(sorted(texts, key=key))}
    return np.array([rank.get(text, np.nan) for text in column.to_pylist()], dtype=float)


def _pattern(values: Any) -> str | None:
    """Return the pattern that all values match."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_integer(values.type):
        values = values.cast("string")
    patterns = (SORTED, SHORT) if is_text(values.type) else ()
    return next((p for p in patterns if pc.all(pc.match_substring_regex(values, p)).as_py()), None)


def _short_key(name: str, texts: list[str]) -> Callable[[str], Any]:
    """Return the sort key of dates whose year comes last; the day is before the month or after."""
    parts = {text: re.findall(SHORT, text)[0] for text in texts}
    first, second = (max(int(each[i]) for each in parts.values()) for i in (0, 1))
    day_first = first > 12 or "." in texts[0]
    if not day_first and second <= 12:
        raise ColumnError(
            f"Day and month cannot be distinguished in the column {name!r}, as in {texts[0]!r}. "
            "Write dates as 2024-01-31."
        )

    def key(text: str) -> Any:
        one, two, year, clock = parts[text]
        month, day = (two, one) if day_first else (one, two)
        # Years of two digits, as in POSIX: 69 is 1969, 68 is 2068.
        century = 0 if len(year) == 4 else 2000 if int(year) < 69 else 1900
        return century + int(year), int(month), int(day), clock.strip().rjust(8)

    return key
