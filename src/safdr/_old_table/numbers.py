"""Numbers that are written as text: 20,000, 94.0%, € 5, 1.234,56 EUR."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from safdr._old_table.columns import CODE_TEXT, MANY_VALUES, WHOLE_TEXT

if TYPE_CHECKING:
    import pyarrow as pa

MARKS = (".", ",")
CURRENCIES = "$€£¥₹"
# As ISO 4217 has them, those that are traded most.
CODES = (
    *("USD", "EUR", "JPY", "GBP", "CNY", "AUD", "CAD", "CHF", "HKD", "SGD", "SEK", "KRW", "NOK"),
    *("NZD", "INR", "MXN", "TWD", "ZAR", "BRL", "DKK", "PLN", "THB", "ILS", "CZK", "TRY", "HUF"),
)
UNITS = (*CURRENCIES, "%", *CODES)
SPACES = " \t\u00a0\u202f"
# Between groups of three digits, besides the mark that is not the decimal one.
BETWEEN = f"'\u2019{SPACES}"
# Texts that say of a number that it is missing, in small letters.
MISSING_WORDS = {
    *("", "-", "--", ".", "?", "*", "#n/a", "#na", "n/a", "n.a.", "na", "nan", "nd", "nil"),
    *("none", "null", "missing", "unknown", "unk", "undefined", "unspecified", "not available"),
    *("not applicable", "not known", "no data", "tbd", "inf", "-inf", "infinity", "-infinity"),
}
# Of the rows: beside other words, and beside words for missing values.
NEARLY_ALL = 0.95
MOST = 0.5

# Leading zeros; digits and nothing else; different units; other words.
Doubt = Literal["codes", "digits", "units", "words"]


def number_pattern(mark: str) -> str:
    """A number with a decimal mark, groups of three digits and a unit; for Python and for RE2."""
    space, other = f"[{SPACES}]*", re.escape("," if mark == "." else ".")
    point, sign = re.escape(mark), "[-+\u2212]"
    currency = f"([{CURRENCIES}]|{'|'.join(CODES)})"
    whole = rf"([1-9][0-9]{{0,2}}([{other}{BETWEEN}][0-9]{{3}})+|[0-9]+)"
    number = rf"({whole}({point}[0-9]*)?|{point}[0-9]+)([eE][-+]?[0-9]+)?"
    before = f"({sign}?{space}{currency}?|{currency}{space}{sign})"
    return f"{space}{before}{space}{number}{space}(%|{currency})?{space}"


def unwanted_pattern(mark: str) -> str:
    """What a number is without: units, groups and spaces; an E in a unit is no exponent."""
    return f"{'|'.join(CODES)}|[^0-9eE+{mark}-]"


def as_numbers(column: pa.ChunkedArray, mark: str) -> pa.ChunkedArray:
    """The numbers of a text column as doubles; missing where there is none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    text = pc.if_else(_matches(column, mark), column, pa.scalar(None, column.type))
    text = pc.replace_substring(text, "\u2212", "-")
    text = pc.replace_substring_regex(text, unwanted_pattern(mark), "")
    text = pc.replace_substring(text, mark, ".")
    numbers = pc.replace_substring_regex(text, r"^\+", "").cast("float64")
    return pc.if_else(pc.is_finite(numbers), numbers, pa.scalar(None, "float64"))


@dataclass(frozen=True)
class Written:
    """Texts of a column, of which some are numbers."""

    mark: str
    # Share of the rows that are numbers.
    share: float
    # One that shows how numbers are written, and whether any has more than digits.
    example: str
    is_plain: bool
    # Texts that are no numbers, the commonest first.
    odd: tuple[str, ...]
    # Why the column is none of numbers, as far as anybody can tell; None if it is.
    doubt: Doubt | None


def how_written(column: pa.ChunkedArray, mark: str, *, has_gap_words: bool) -> Written | None:
    """Tell how numbers are written in a text column; None where there are none.

    The mark is that of the file, for texts that could be read either way. Digits alone, in files
    that have types, are text on purpose, unless words for missing values explain the type.
    """
    import pyarrow.compute as pc

    counted = pc.value_counts(column.drop_null())
    values, counts = counted.field("values"), counted.field("counts").to_numpy()
    found = {each: np.asarray(_matches(values, each), dtype=bool) for each in MARKS}
    mark = max(MARKS, key=lambda each: (counts[found[each]].sum(), each == mark))
    is_number = found[mark]
    if not is_number.any():
        return None
    numbers = values.filter(is_number)
    order = np.argsort(-counts[~is_number], kind="stable")
    odd = tuple(values.filter(~is_number).take(order).to_pylist())
    share = float(counts[is_number].sum() / counts.sum())
    digits = np.asarray(pc.match_substring_regex(numbers, WHOLE_TEXT), dtype=bool)
    doubt: Doubt | None = None
    if pc.any(pc.match_substring_regex(numbers, CODE_TEXT)).as_py():
        doubt = "codes"
    elif digits.all() and not odd and not has_gap_words:
        doubt = "digits"
    elif not _one_unit(numbers):
        doubt = "units"
    elif not _explained(odd, share, len(numbers)):
        doubt = "words"
    example = numbers[int(np.argmin(digits))].as_py()
    return Written(mark, share, example, bool(digits.all()), odd, doubt)


def _matches(texts: Any, mark: str) -> Any:
    import pyarrow.compute as pc

    return pc.match_substring_regex(texts, f"^(?:{number_pattern(mark)})$")


def _explained(odd: Sequence[str], share: float, n_numbers: int) -> bool:
    """Whether the other texts are words for missing values, or too few to be categories."""
    if all(word.strip().lower() in MISSING_WORDS for word in odd):
        return share >= MOST
    return share >= NEARLY_ALL and n_numbers > MANY_VALUES


def _one_unit(numbers: Any) -> bool:
    """Whether numbers can be compared: no dollars among euros, no shares among percentages."""
    import pyarrow.compute as pc

    with_unit = {unit: pc.sum(pc.match_substring(numbers, unit)).as_py() for unit in UNITS}
    used = [unit for unit, n in with_unit.items() if n]
    return len(used) <= 1 and with_unit["%"] in (0, len(numbers))
