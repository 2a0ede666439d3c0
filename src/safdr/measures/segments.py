"""Segments of rows by the values of a column."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from safdr.measures.calibration import assign_bins
from safdr.measures.intervals import FloatArray

MAX_SEGMENTS = 12
# Numbers of more values become as many bands of about equal numbers of rows.
N_BANDS = 5
OTHER, MISSING = "(other)", "(missing)"
MISSING_WORDS = ("nan", "NaT", "<NA>")

Segments = tuple[list[str], NDArray[np.int64]]


def segments_of(values: Any) -> Segments:
    """Return names of at most 14 segments, and the segment of each row."""
    # Numbers with many values become bands. Of other values the most frequent keep their
    # names.
    values = np.asarray(values)
    known = _are_known(values)
    given = np.array(values[known].tolist())
    numeric = given.dtype.kind in "iuf"
    if numeric and len(np.unique(given)) > MAX_SEGMENTS:
        labels, codes = _bands(given.astype(np.float64))
    else:
        keys = given if numeric else np.array([str(each) for each in given], dtype=object)
        distinct, codes, counts = np.unique(keys, return_inverse=True, return_counts=True)
        labels = [_written(each) if numeric else each for each in distinct]
        if len(labels) > MAX_SEGMENTS:
            labels, codes = _most_frequent(labels, codes, counts)
    if known.all():
        return labels, codes
    place = np.full(len(known), len(labels))
    place[known] = codes
    return [*labels, MISSING], place


def _are_known(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return a mask of the known values."""
    if values.dtype.kind != "O":
        return np.asarray(values == values)
    # NaN, and the missing values of pandas, as text.
    return np.array([each is not None and str(each) not in MISSING_WORDS for each in values])


def _bands(numbers: FloatArray) -> Segments:
    codes = assign_bins(numbers, n_bins=N_BANDS)
    parts = [numbers[codes == i] for i in range(codes.max() + 1)]
    return [f"{_written(part.min())} to {_written(part.max())}" for part in parts], codes


def _most_frequent(
    labels: list[str], codes: NDArray[np.int64], counts: NDArray[np.int64]
) -> Segments:
    kept = np.sort(np.argsort(-counts, kind="stable")[: MAX_SEGMENTS - 1])
    place = np.full(len(labels), len(kept))
    place[kept] = np.arange(len(kept))
    return [*(labels[i] for i in kept), OTHER], place[codes]


def _written(number: Any) -> str:
    """Write all digits of a whole number, such as a key; six of others."""
    whole = float(number).is_integer() and abs(number) < 1e15
    return str(int(number)) if whole else f"{number:.6g}"
