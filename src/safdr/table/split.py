"""Hold out rows: random ones, the latest ones, or whole groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from safdr.table.dates import sort_keys
from safdr.table.errors import ColumnError, TableError
from safdr.table.types import is_number, value_label
from safdr.text import count

if TYPE_CHECKING:
    import pyarrow as pa

    from safdr.table.target import Target

Rows = NDArray[np.intp]
# With fewer groups no split of the rows keeps groups on both sides.
MIN_GROUPS = 10


def latest(table: pa.Table, column: str, share: float) -> tuple[NDArray[np.bool_], str]:
    """Return about this share of the rows, the latest, and the time from which on they are.

    Rows without a time are not among them.
    """
    values = table.column(column)
    keys = sort_keys(column, values)
    known = np.flatnonzero(~np.isnan(keys))
    times, first, counts = np.unique(keys[known], return_index=True, return_counts=True)
    if len(times) < 2:
        raise ColumnError(
            f"The column {column!r} has {count(len(times), 'value')}; the latest rows need two."
        )
    later = counts[::-1].cumsum()[::-1][1:] / counts.sum()
    cut = 1 + int(np.argmin(np.abs(later - share)))
    return keys >= times[cut], value_label(values[int(known[first[cut]])].as_py())


def split_rows(
    table: pa.Table,
    target: Target,
    *,
    test_size: float = 0.2,
    time: str | None = None,
    groups: NDArray[np.int64] | None = None,
    seed: int = 0,
) -> tuple[Rows, Rows, list[str]]:
    """Return the indices of training and held-out rows, and notes about them."""
    rows = np.arange(table.num_rows)
    if test_size == 0:
        return rows, rows[:0], []
    if time is not None:
        late, start = latest(table, time, test_size)
        train, test = rows[~late], rows[late]
        notes = [f"Held out: the {len(test):,} rows with {time} from {start} on."]
        if groups is not None and (n := len(np.intersect1d(groups[train], groups[test]))):
            notes.append(f"{count(n, 'group')} of rows have both training and held-out rows.")
        return train, test, notes
    train, test = _at_random(rows, target, test_size, groups, seed)
    return np.sort(train), np.sort(test), []


def _at_random(
    rows: Rows, target: Target, test_size: float, groups: NDArray[np.int64] | None, seed: int
) -> Any:
    from sklearn.model_selection import GroupShuffleSplit, train_test_split

    strata = None if target.task == "regression" else target.values
    if strata is not None and len(target.classes) == 2:
        # The same rows, whichever class is the positive one.
        strata = strata == strata[0]
    try:
        if groups is not None:
            split = GroupShuffleSplit(1, test_size=test_size, random_state=seed)
            return next(split.split(rows, groups=groups))
        return train_test_split(rows, test_size=test_size, stratify=strata, random_state=seed)
    except ValueError as error:
        raise TableError(f"--test-size {test_size:g} of {len(rows)} rows: {error}") from None


def row_groups(table: pa.Table, name: str) -> NDArray[np.int64]:
    """Return the number of each row's group; a row without a value is a group alone."""
    import pyarrow.compute as pc

    coded = pc.dictionary_encode(table.column(name)).combine_chunks()
    codes = np.array(coded.indices.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int64)
    alone = codes < 0
    codes[alone] = len(coded.dictionary) + np.arange(alone.sum())
    if (n := len(np.unique(codes))) < MIN_GROUPS:
        raise ColumnError(
            f"The column {name!r} has {count(n, 'group')} of rows; keeping rows together needs "
            f"at least {MIN_GROUPS}."
        )
    return codes


def row_weights(table: pa.Table, name: str) -> NDArray[np.float64]:
    """Return the weights of rows."""
    column = table.column(name)
    if not is_number(column.type):
        raise ColumnError(f"The weight {name!r} must be numbers.")
    weights = np.array(column.cast("float64", safe=False).to_numpy(), dtype=np.float64)
    if not (weights >= 0).all():
        raise ColumnError(f"The weight {name!r} is negative or missing in some rows.")
    return weights
