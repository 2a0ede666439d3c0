"""Numbers as people read them."""

from __future__ import annotations

import math
from collections.abc import Iterable

WORDS = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten")
ABSENT = "–"
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


# Longer whole numbers are written with a power of ten.
LONGEST_WHOLE = 1e9


def significant(value: float | None, digits: int = 3) -> str:
    """Write a number with so many significant digits, or all before the point, and a real minus."""
    if value is None or value == 0:
        return ABSENT if value is None else "0"
    if 10 ** min(digits, 3) <= abs(value) < LONGEST_WHOLE:
        places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
        return decimals(value, places)
    text, _, exponent = f"{value:#.{digits}g}".partition("e")
    power = f" × 10{str(int(exponent)).translate(SUPERSCRIPT)}" if exponent else ""
    return text.removesuffix(".").replace("-", "−") + power


def decimals(value: float | None, places: int = 3) -> str:
    """Write a number with so many decimal places."""
    return ABSENT if value is None else f"{value:,.{places}f}".replace("-", "−")


def even(value: float | None, column: Iterable[float | None], digits: int = 4) -> str:
    """Write a number of a column, all with as many places as the largest of them needs."""
    largest = max((abs(each) for each in column if each is not None), default=0.0)
    if value is None or not 1e-3 <= largest < LONGEST_WHOLE:
        return significant(value, digits)
    return decimals(value, max(0, digits - 1 - math.floor(math.log10(largest))))


def ratio(value: float | None) -> str:
    """Write an odds ratio; one that is nearly 1 says by how little it differs."""
    if value is None or value == 1 or abs(value - 1) >= 5e-4:
        return significant(value, 4)
    return f"1 {'+' if value > 1 else '−'} {significant(abs(value - 1), 2)}"


def signed(value: float | None, places: int = 4) -> str:
    """Write a change with its sign; none has no sign."""
    text = decimals(value, places)
    if value is None or not text.strip("−0."):
        return text.lstrip("−")
    return text if value < 0 else f"+{text}"


def change(value: float | None) -> str:
    """Write a change of something in any unit: in four places, or few digits where it is large."""
    if value is None or abs(value) < 100:
        return signed(value)
    return ("+" if value > 0 else "") + significant(value, 4)


def percent(share: float | None, places: int = 0) -> str:
    """Write a share as a percentage."""
    return ABSENT if share is None else f"{decimals(100 * share, places)} %"


def excess(share: float | None) -> str:
    """Write by how much something is worse, fine enough to tell little from nothing."""
    if share is None or share == 0:
        return ABSENT if share is None else "0 %"
    return "< 0.01 %" if share < 1e-4 else f"+{percent(share, 2 if share < 0.1 else 0)}"


def counted(number: int, noun: str) -> str:
    """Write a number with its noun, in the plural where it is one."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def spelled(number: int) -> str:
    """Write a small number as a word that begins a sentence."""
    return WORDS[number] if number < len(WORDS) else str(number)


def p_value(value: float | None) -> str:
    """Write a p-value; below one in ten thousand nobody asks."""
    return ABSENT if value is None else "< 0.0001" if value < 1e-4 else decimals(value, 4)


def weight(value: float) -> str:
    """Write a number of rows, or the sum of their weights."""
    return f"{value:,.0f}" if value == round(value) else significant(value)


def span(low: float | None, high: float | None, places: int = 1) -> str:
    """Write an interval of shares."""
    if low is None or high is None:
        return ABSENT
    return f"{decimals(100 * low, places)} to {percent(high, places)}"


def reach(low: float | None, high: float | None, digits: int = 3) -> str:
    """Write an interval of numbers of any size."""
    if low is None or high is None:
        return ABSENT
    return f"{significant(low, digits)} to {significant(high, digits)}"
