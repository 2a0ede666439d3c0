"""Numbers written as text: 20,000, 94.0%, € 5, 1.234,56 EUR."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from safdr.table.types import finite, is_plain_number, is_text, value_label

if TYPE_CHECKING:
    import pyarrow as pa

DECIMAL_MARKS = (".", ",")
CURRENCIES = "$€£¥₹"
# The most traded currencies of ISO 4217.
CODES = (
    *("USD", "EUR", "JPY", "GBP", "CNY", "AUD", "CAD", "CHF", "HKD", "SGD", "SEK", "KRW", "NOK"),
    *("NZD", "INR", "MXN", "TWD", "ZAR", "BRL", "DKK", "PLN", "THB", "ILS", "CZK", "TRY", "HUF"),
)
UNITS = (*CURRENCIES, "%", *CODES)
SPACES = " \t\u00a0\u202f"
# Beside the other decimal mark, these separate groups of three digits.
GROUP_MARKS = f"'\u2019{SPACES}"
# Text that means missing in a column of numbers, in lower case.
MISSING_WORDS = {
    *("", "-", "--", ".", "?", "*", "#n/a", "#na", "n/a", "n.a.", "na", "nan", "nd", "nil"),
    *("none", "null", "missing", "unknown", "unk", "undefined", "unspecified", "not available"),
    *("not applicable", "not known", "no data", "tbd", "inf", "-inf", "infinity", "-infinity"),
}
# A column is of numbers if this share of its rows is: beside any words, beside words for missing.
MIN_SHARE, MIN_SHARE_BESIDE_MISSING = 0.95, 0.5
# Words beside more different numbers than this are not categories.
MANY_VALUES = 20
# A code with leading zeros, such as the postcode 02139.
CODE, DIGITS = r"^0[0-9]+$", r"^[0-9]+$"


@dataclass(frozen=True)
class NumberFormat:
    """How numbers are written in a text column."""

    mark: str
    example: str
    # Other text, the most frequent first.
    other: tuple[str, ...]
    # True if the column is numbers beyond doubt.
    is_sure: bool

    def described(self) -> str:
        """Return a number as it is written, and as it is read if that is not obvious."""
        import pyarrow as pa

        if is_plain_number(self.example):
            return ""
        number = parse_numbers(pa.chunked_array([[self.example]]), self.mark)[0].as_py()
        return f"{self.example} → {value_label(number)}"


def number_pattern(mark: str) -> str:
    """Return the pattern of a number with a decimal mark, groups of digits and a unit."""
    space, other = f"[{SPACES}]*", re.escape("," if mark == "." else ".")
    point, sign = re.escape(mark), "[-+\u2212]"
    currency = f"([{CURRENCIES}]|{'|'.join(CODES)})"
    whole = rf"([1-9][0-9]{{0,2}}([{other}{GROUP_MARKS}][0-9]{{3}})+|[0-9]+)"
    number = rf"({whole}({point}[0-9]*)?|{point}[0-9]+)([eE][-+]?[0-9]+)?"
    before = f"({sign}?{space}{currency}?|{currency}{space}{sign})"
    return f"^{space}{before}{space}{number}{space}(%|{currency})?{space}$"


def parse_numbers(column: pa.ChunkedArray, mark: str) -> pa.ChunkedArray:
    """Return the numbers of a text column; other text becomes missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if mark == ".":
        try:
            return finite(column.cast("float64"))
        except pa.ArrowInvalid:
            pass
    is_number = pc.match_substring_regex(column, number_pattern(mark))
    text = pc.if_else(is_number, column, pa.scalar(None, column.type))
    text = pc.replace_substring(text, "\u2212", "-")
    # Without units, groups and spaces; the E of a unit is not an exponent.
    text = pc.replace_substring_regex(text, f"{'|'.join(CODES)}|[^0-9eE+{mark}-]", "")
    text = pc.replace_substring(text, mark, ".")
    return finite(pc.replace_substring_regex(text, r"^\+", "").cast("float64"))


def plain_numbers(column: pa.ChunkedArray, mark: str = ".") -> pa.ChunkedArray | None:
    """Return text as numbers if programs write them so, without leading zeros; else None."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if mark == "," and pc.any(pc.match_substring(column, ".")).as_py():
        return None
    if pc.any(_matches(column.filter(pc.starts_with(column, "0")), CODE)).as_py():
        return None
    try:
        numbers = column.cast("float64")
    except pa.ArrowInvalid:
        return None
    is_whole = pc.and_(pc.equal(pc.floor(numbers), numbers), pc.less(pc.abs(numbers), 2**53))
    return numbers.cast("int64") if pc.all(is_whole).as_py() else numbers


def number_format(column: pa.ChunkedArray, mark: str) -> NumberFormat | None:
    """Return how numbers are written in a column; None if there are none.

    `mark` decides if text such as 1,234 could be read either way.
    """
    import pyarrow.compute as pc

    counted = pc.value_counts(column.drop_null())
    values, counts = counted.field("values"), counted.field("counts").to_numpy()
    matches = {each: _matches(values, number_pattern(each)) for each in DECIMAL_MARKS}
    mark = max(DECIMAL_MARKS, key=lambda each: (counts[matches[each]].sum(), each == mark))
    is_number = matches[mark]
    if not is_number.any():
        return None
    numbers = values.filter(is_number)
    order = np.argsort(-counts[~is_number], kind="stable")
    other = tuple(values.filter(~is_number).take(order).to_pylist())
    share = float(counts[is_number].sum() / counts.sum())
    example = numbers[int(np.argmin(_matches(numbers, DIGITS)))].as_py()
    is_sure = not _matches(numbers, CODE).any() and _has_one_unit(numbers)
    is_sure = is_sure and _are_explained(other, share, len(numbers))
    return NumberFormat(mark, example, other, is_sure)


def preferred_mark(columns: Sequence[pa.ChunkedArray]) -> str:
    """Return the decimal mark of a table: a comma if it alone explains some of the text."""
    import pyarrow.compute as pc

    # Numbers with decimals were read with a point.
    wins = {"": 0, ".": sum(str(each.type) == "double" for each in columns), ",": 0}
    for column in (each for each in columns if is_text(each.type)):
        values = pc.unique(column.slice(0, 10_000).drop_null())[:1000]
        point, comma = (int(_matches(values, number_pattern(m)).sum()) for m in DECIMAL_MARKS)
        wins["." if point > comma else "," if comma > point else ""] += 1
    return "," if wins[","] and not wins["."] else "."


def _matches(texts: Any, pattern: str) -> Any:
    import pyarrow.compute as pc

    return np.asarray(pc.match_substring_regex(texts, pattern), dtype=bool)


def _are_explained(other: Sequence[str], share: float, n_numbers: int) -> bool:
    """Return True if other text means missing, or is too rare for categories."""
    if all(word.strip().lower() in MISSING_WORDS for word in other):
        return share >= MIN_SHARE_BESIDE_MISSING
    return share >= MIN_SHARE and n_numbers > MANY_VALUES


def _has_one_unit(numbers: Any) -> bool:
    """Return True if numbers can be compared: not dollars and euros, not 5 and 5 %."""
    import pyarrow.compute as pc

    with_unit = {unit: pc.sum(pc.match_substring(numbers, unit)).as_py() for unit in UNITS}
    used = [unit for unit, n in with_unit.items() if n]
    return len(used) <= 1 and with_unit["%"] in (0, len(numbers))
