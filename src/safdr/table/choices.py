"""What someone decides about a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from safdr.table.errors import ColumnUseError, UnknownColumnError
from safdr.table.kinds import Task
from safdr.table.missing import Way
from safdr.table.reading import check_names


@dataclass(frozen=True, kw_only=True)
class Choices:
    """What someone decides about a table."""

    # The column to predict.
    target: str
    # The label whose odds the model gives; of more than two, against the rest.
    positive: str | None = None
    # What the target is; None judges by its values.
    task: Task | None = None
    # Columns to leave out, columns that name rows, and columns that only look as if.
    drop: Sequence[str] = ()
    identifiers: Sequence[str] = ()
    keep: Sequence[str] = ()
    # Columns to read as numbers, columns that are categories, and values that are missing: VALUE,
    # or COLUMN=VALUE.
    numbers: Sequence[str] = ()
    categories: Sequence[str] = ()
    na: Sequence[str] = ()
    # What to do about missing values; None allows none.
    missing: Way | None = None
    # Share of the rows to hold out; 0 holds none out.
    test_size: float = 0.2
    # Which rows those are.
    seed: int = 0


def check_columns(columns: Sequence[str], choices: Choices) -> None:
    """Columns that are named are there, once, and in one role."""
    check_names(columns, {*choices.drop, *choices.identifiers})
    used = [choices.target, *choices.keep, *choices.numbers, *choices.categories]
    left_out = [*choices.drop, *choices.identifiers]
    for name in (*used, *left_out):
        if name not in columns:
            raise UnknownColumnError(name, columns)
    for name in set(used) & set(left_out):
        raise ColumnUseError(f"The column {name!r} is to be used and to be left out.")
    for name in set(choices.numbers) & set(choices.categories):
        raise ColumnUseError(f"The column {name!r} can't be both numbers and text (categories).")
