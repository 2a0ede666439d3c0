"""What rows weigh, and which of them belong together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from safdr._old_table.arrow_types import is_number, type_words
from safdr._old_table.errors import ColumnUseError, counted

if TYPE_CHECKING:
    import pyarrow as pa


def row_weights(table: pa.Table, name: str | None) -> NDArray[np.float64] | None:
    """Weights of rows, each of them known and not negative; None where no column says so."""
    if name is None:
        return None
    column = table.column(name)
    if not is_number(column.type):
        raise ColumnUseError(
            f"The column {name!r} holds {type_words(column.type)}, and weights are numbers."
        )
    if column.null_count:
        raise ColumnUseError(
            f"The weight {name!r} is missing in {counted(column.null_count, 'row')}. Fill it in; a "
            "weight of 0 leaves a row out."
        )
    weights = np.array(column.cast("float64", safe=False).to_numpy(), dtype=np.float64)
    if (weights < 0).any():
        least = f"{weights.min():g}"
        raise ColumnUseError(f"The weight {name!r} is negative in some rows, down to {least}.")
    return weights


def row_groups(table: pa.Table, name: str | None) -> NDArray[np.int64] | None:
    """Numbers of the groups of rows; a row without one is a group of its own."""
    import pyarrow.compute as pc

    if name is None:
        return None
    coded = pc.dictionary_encode(table.column(name)).combine_chunks()
    codes = np.array(coded.indices.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int64)
    alone = codes < 0
    codes[alone] = len(coded.dictionary) + np.arange(alone.sum())
    return codes
