"""Rows in a few parts, each with a name: segments of any values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

# Rows of a table that people read.
MOST_SEGMENTS = 12
# Numbers of more values become as many bands of about equal numbers of rows.
N_BANDS = 5
OTHER, MISSING = "(other)", "(missing)"

Slices = tuple[list[str], NDArray[np.int64]]


def segments_of(values: Any) -> Slices:
    """Names of segments, and the place of each row's among them.

    Numbers of many values become bands; of other values the commonest keep their names.
    """
    given, known = _known(values)
    numbers = _as_numbers(given[known])
    if numbers is not None and len(np.unique(numbers)) > MOST_SEGMENTS:
        return _named(_bands(numbers, N_BANDS), known)
    texts = _in_order(given[known], numbers)
    labels, codes, counts = texts
    if len(labels) > MOST_SEGMENTS:
        kept = np.sort(np.argsort(-counts, kind="stable")[: MOST_SEGMENTS - 1])
        place = np.full(len(labels), len(kept))
        place[kept] = np.arange(len(kept))
        labels, codes = [*(labels[i] for i in kept), OTHER], place[codes]
    return _named((labels, codes), known)


def _known(values: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """As an array, and which of them are not missing."""
    given = np.asarray(values)
    if given.dtype.kind == "f":
        return given, ~np.isnan(given)
    if given.dtype.kind == "M":
        return given, ~np.isnat(given)
    if given.dtype.kind == "O":
        return given, np.array([not _is_missing(each) for each in given], bool)
    return given, np.ones(len(given), dtype=bool)


def _is_missing(value: Any) -> bool:
    """None; NaN and the like, which are not equal to themselves; what can't be compared at all."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # as pandas' NA
        return True


def _as_numbers(values: NDArray[Any]) -> NDArray[np.float64] | None:
    return values.astype(np.float64) if values.dtype.kind in "iuf" else None


def _in_order(
    values: NDArray[Any], numbers: NDArray[np.float64] | None
) -> tuple[list[str], NDArray[np.int64], NDArray[np.int64]]:
    """Distinct values as texts, in order; the place of each; how often they occur."""
    keys = np.array([str(each) for each in values], dtype=object) if numbers is None else numbers
    found, codes, counts = np.unique(keys, return_inverse=True, return_counts=True)
    return [_number_text(each) if numbers is not None else each for each in found], codes, counts


def _number_text(number: float) -> str:
    """All digits of a whole number, such as a date or a key; six of others."""
    whole = number.is_integer() and abs(number) < 1e15
    return str(int(number)) if whole else f"{number:.6g}"


def _bands(numbers: NDArray[np.float64], n: int) -> tuple[list[str], NDArray[np.int64]]:
    """Bands of about equal numbers of rows; ties stay together."""
    from safdr._old_measures.calibration import bins_of

    codes = bins_of(numbers, np.ones(len(numbers)), n)
    parts = [numbers[codes == i] for i in range(codes.max() + 1)]
    ends = ((_number_text(part.min()), _number_text(part.max())) for part in parts)
    return [f"{low} to {high}" for low, high in ends], codes


def _named(found: tuple[list[str], NDArray[np.int64]], known: NDArray[np.bool_]) -> Slices:
    """With rows whose value is missing in a part of their own."""
    labels, codes = found
    if known.all():
        return labels, codes
    place = np.full(len(known), len(labels))
    place[known] = codes
    return [*labels, MISSING], place
