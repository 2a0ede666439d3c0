"""The splits that a `cv` gives, as row numbers; an error says what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import check_cv

from safdr._engine.arrays import IntArray
from safdr.errors import ParameterError

WANTED = "must give pairs (training rows, test rows), each as row numbers or as a mask"


def splits_of(
    cv: Any, X: Any, y: NDArray[Any], *, classifier: bool, **params: Any
) -> list[tuple[IntArray, IntArray]]:
    """Row numbers of the training and the test rows of each split."""
    if isinstance(cv, np.ndarray) and cv.ndim == 0:
        raise ParameterError("cv", f"{WANTED}, or be an int; got {{cv!r}}.", cv=cv)
    given = cv
    if not isinstance(cv, Iterable) or hasattr(cv, "split"):
        given = check_cv(cv, y, classifier=classifier).split(X, y, **params)
    splits = [
        (_row_numbers(train, len(y)), _row_numbers(test, len(y))) for train, test in _pairs(given)
    ]
    if not splits:
        raise ParameterError(
            "cv", "must give at least one split of the rows; cv={given!r} gave none.", given=cv
        )
    return splits


def _pairs(splits: Any) -> Iterator[tuple[Any, Any]]:
    """Each split, if it is a pair."""
    for split in splits:
        if not isinstance(split, tuple | list) or len(split) != 2:
            raise ParameterError("cv", f"{WANTED}; got {{split!r}}.", split=split)
        yield split[0], split[1]


def _row_numbers(given: Any, n_rows: int) -> IntArray:
    """Row numbers out of what stands for them."""
    rows = np.asarray(given)
    if rows.size == 0 and rows.ndim == 1:
        raise ParameterError("cv", f"{WANTED}, none of them empty; got {{given!r}}.", given=given)
    if rows.ndim != 1 or rows.dtype.kind not in "iub":
        raise ParameterError("cv", f"{WANTED}; got {{given!r}}.", given=given)
    try:
        return np.arange(n_rows)[rows]
    except IndexError as error:
        raise ParameterError(
            "cv", f"{WANTED} of the {n_rows} rows of X; but {{error}}.", error=str(error)
        ) from None
