"""Columns of X that can't be searched: which they are, and what to do with each kind."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import date, time, timedelta
from typing import Any

import narwhals as nw
import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_array

from safdr.errors import Columns

DATES, DURATIONS = "of dates or times", "of durations"
TEXT, MISSING = "that are not numbers", "with missing values (NaN)"

ADVICE = {
    DATES: "Make numbers of them that may matter, such as days since an event, or the hour; or "
    "drop them. To score on later rows than those learnt from, sort the rows by time and pass "
    "cv=TimeSeriesSplit() to a selector with cross-validation.",
    DURATIONS: "Make numbers of them: .dt.total_seconds() gives seconds.",
    TEXT: "Encode them (for example with sklearn.preprocessing.OneHotEncoder) or drop them; text "
    "that means numbers becomes such by .astype(float).",
    MISSING: "Drop these rows or columns, or fill the gaps in a pipeline: "
    "make_pipeline(SimpleImputer(), selector).",
}


def check_kinds(X: Any) -> None:
    """Name the columns of a data frame that are not numbers."""
    if isinstance(X, np.ndarray) and X.dtype.kind in "mM" and X.ndim == 2:
        # NumPy would make numbers of them, of whatever unit.
        raise _refusal({DATES if X.dtype.kind == "M" else DURATIONS: [*range(X.shape[1])]}, None)
    try:
        frame = nw.from_native(X, pass_through=True)
    except nw.exceptions.DuplicateError:
        raise ValueError(
            "X has columns of the same name, so that the chosen ones could not be told apart. "
            "Rename them, or pass the values without names."
        ) from None
    if isinstance(frame, nw.LazyFrame):
        raise ValueError("X is a lazy frame; call .collect() and pass the result.")
    if not isinstance(frame, nw.DataFrame):
        return
    found = defaultdict(list)
    for j, dtype in enumerate(frame.schema.values()):
        if not (dtype.is_numeric() or dtype in (nw.Boolean, nw.Object, nw.Unknown)):
            found[_kind_of_type(dtype)].append(j)
    if found:
        raise _refusal(found, frame.columns)


def better_told(X: Any, error: Exception) -> Exception:
    """What scikit-learn says of X, with the columns and what to do with them, where it is that."""
    text = str(error)
    if "Complex data" in text:
        return ValueError("X must hold real numbers. Complex data not supported.")
    if "Input X contains" in text:
        return _not_finite(X)
    if isinstance(error, TypeError) or "could not convert" in text:
        return _not_numbers(X) or error
    return error


def _not_finite(X: Any) -> ValueError:
    """Where values are missing, or infinite."""
    rows: Any = check_array(X, accept_sparse="csr", dtype=np.float64, ensure_all_finite=False)
    values = rows.data if issparse(rows) else rows
    gaps = np.isnan(values)
    gaps = gaps if gaps.any() else np.isinf(values)
    missing = bool(np.isnan(values[gaps]).any())
    if issparse(rows):
        entries = rows.tocoo()
        at, columns = entries.row[gaps], entries.col[gaps]
    else:
        at, columns = np.nonzero(gaps)
    where, times = np.unique(columns, return_counts=True)
    empty = where[times == rows.shape[0]]
    told = (
        f"X contains {'NaN (missing values)' if missing else 'infinite values'} in {len(where)} of "
        f"its {rows.shape[1]} columns and {len(np.unique(at))} of its {rows.shape[0]} rows: "
        f"{Columns(where, _labels(X))}. "
    )
    if not missing:
        return ValueError(
            f"{told}A division by zero is the usual reason: put a number in their place."
        )
    if len(empty):
        told += f"Drop what is all empty: {Columns(empty, _labels(X))}. "
    return ValueError(told.rstrip() if len(empty) == len(where) else told + ADVICE[MISSING])


def _not_numbers(X: Any) -> ValueError | None:
    """Where values are something else than numbers; None where no column is to blame."""
    try:
        check_kinds(X)
        found, example = defaultdict(list), ""
        for j, values in enumerate(_columns(X)):
            odd = next((value for value in values if not _is_number(value)), None)
            kind = _kind_of_value(odd)
            if kind is not None:
                found[kind].append(j)
                example = example or f" The first such value is {odd!r}."
    except ValueError as error:
        return error
    return ValueError(f"{_refusal(found, _labels(X))}{example}") if found else None


def _refusal(found: dict[str, list[int]], labels: Any) -> ValueError:
    """Columns by kind, and what to do with each."""
    told = (
        f"X has {len(columns)} column(s) {kind}: {Columns(columns, labels)}. {ADVICE[kind]}"
        for kind, columns in found.items()
    )
    return ValueError(" ".join(told))


def _kind_of_type(dtype: Any) -> str:
    """What a column of a frame holds that is not numbers."""
    if dtype == nw.Duration:
        return DURATIONS
    return DATES if dtype.is_temporal() else TEXT


def _kind_of_value(value: Any) -> str | None:
    """The same by one of the values; None where there is no advice."""
    if isinstance(value, str | bytes):
        return TEXT
    if isinstance(value, timedelta | np.timedelta64):
        return DURATIONS
    # A Period of pandas is none of these, but can become one.
    if isinstance(value, date | time | np.datetime64) or hasattr(value, "to_timestamp"):
        return DATES
    return MISSING if type(value).__name__ == "NAType" else None


def _is_number(value: Any) -> bool:
    """Whether NumPy can make a number of it; None becomes NaN."""
    try:
        return value is None or float(value) is not None
    except (TypeError, ValueError):
        return False


def _columns(X: Any) -> Iterable[Any]:
    """Values of each column."""
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return (frame[name].to_list() for name in frame.columns)
    values = np.asarray(X, dtype=object)
    return values.T if values.ndim == 2 else ()


def _labels(X: Any) -> list[str] | None:
    """Names of the columns, if they have any."""
    frame = nw.from_native(X, pass_through=True)
    return list(map(str, frame.columns)) if isinstance(frame, nw.DataFrame) else None
