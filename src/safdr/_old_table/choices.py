"""What someone decides about a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from safdr._old_table.errors import ColumnUseError, UnknownColumnError
from safdr._old_table.kinds import Task
from safdr._old_table.missing import Way
from safdr._old_table.reading import check_names


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
    # Columns that say when: never features.
    time: Sequence[str] = ()
    # Columns whose values the report tells segments by; features or not.
    by: Sequence[str] = ()
    # Columns with the weights of rows, and with the groups that stay on one side of a split.
    weight: str | None = None
    group_by: str | None = None
    # What to do about missing values; None allows none.
    missing: Way | None = None
    # Share of the rows to hold out; 0 holds none out.
    test_size: float = 0.2
    # Which rows those are: random ones, or the latest by a column.
    seed: int = 0
    split_by: str | None = None

    @property
    def row_columns(self) -> dict[str, str]:
        """Columns that are read for what they say about rows, and why they are no features."""
        found: dict[str, str] = {}
        if self.split_by is not None:
            found[self.split_by] = "time, by which rows are held out"
        if self.group_by is not None:
            found[self.group_by] = "names groups of rows"
        if self.weight is not None:
            found[self.weight] = "the weight of rows"
        return found

    @property
    def read_anyway(self) -> set[str]:
        """Columns that are read although they may be left out as features."""
        return {*self.row_columns, *self.by}

    @property
    def left_out(self) -> dict[str, str]:
        """Columns that are no features by these choices, and why."""
        found = {
            **self.row_columns,
            **dict.fromkeys(self.time, "time, as you said"),
            **dict.fromkeys(self.drop, "dropped on request"),
            **dict.fromkeys(self.identifiers, "an identifier, as you said"),
        }
        return {name: reason for name, reason in found.items() if name not in self.keep}


def check_columns(columns: Sequence[str], choices: Choices) -> None:
    """Columns that are named are there, once, and in one role."""
    check_names(columns, {*choices.drop, *choices.identifiers} - choices.read_anyway)
    used = [choices.target, *choices.keep, *choices.numbers, *choices.categories]
    left_out = [*choices.drop, *choices.identifiers]
    for name in (*used, *left_out, *choices.time, *choices.by, *choices.row_columns):
        if name not in columns:
            raise UnknownColumnError(name, columns)
    for name in set(used) & set(left_out):
        raise ColumnUseError(f"The column {name!r} is to be used and to be left out.")
    if choices.target in choices.left_out:
        raise ColumnUseError(
            f"The column {choices.target!r} is the target, and can't be used otherwise as well "
            f"({choices.left_out[choices.target]})."
        )
    if choices.target in choices.by:
        raise ColumnUseError(
            f"The column {choices.target!r} is the target, and can't name segments too (--by): "
            "rows told apart by the outcome say nothing about the model."
        )
    for name in set(choices.numbers) & set(choices.categories):
        raise ColumnUseError(f"The column {name!r} can't be both numbers and text (categories).")
