"""What can be wrong with a table; callers that know the options say what to do next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from safdr.errors import meant

if TYPE_CHECKING:
    from safdr._old_table.missing import MissingReport

# More names than this help nobody.
MOST_NAMED = 12


class TableError(Exception):
    """The table can't be used as it is."""


class UnreadableError(TableError):
    """The file is not there, is damaged, or is not a table."""


class UnknownColumnError(TableError):
    """A column was asked for that the table does not have."""

    def __init__(self, name: str, columns: Sequence[str], also: Sequence[str] = ()) -> None:
        near = meant(name, [*columns, *also])
        guess = f" Did you mean {near!r}?" if near is not None else ""
        super().__init__(
            f"The table has no column {name!r}.{guess} It has {len(columns)}: {named(columns)}."
        )


class ColumnUseError(TableError):
    """A column was asked to be used in a way that it can't."""


class DuplicateColumnsError(TableError):
    """Columns share a name, so that a formula could not tell them apart."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(
            f"The table has several columns of the same name: {named(names)}. A formula could not "
            "tell them apart."
        )
        self.names = tuple(names)


class TargetError(TableError):
    """The target can't be predicted as it is."""


class TaskError(TargetError):
    """The target is asked to be something that it can't."""


class ManyLabelsError(TargetError):
    """The target has more values than are taken for classes unasked."""


class NoClassesError(TargetError):
    """A class was named, and the target is a quantity."""


class UnknownLabelError(TableError):
    """The positive class is not among the values of the target."""

    def __init__(self, label: str, target: str, labels: Sequence[str]) -> None:
        super().__init__(f"The target {target!r} has no value {label!r}. It has {named(labels)}.")


class MissingValuesError(TableError):
    """Values are missing, and nobody has said what to do about it."""

    def __init__(self, report: MissingReport, notes: Sequence[str] = ()) -> None:
        super().__init__(
            f"{counted(report.n_missing, 'value')} {'is' if report.n_missing == 1 else 'are'} "
            f"missing, in {len(report.columns)} of {counted(report.n_columns, 'column')}."
        )
        self.report = report
        # What was read as missing, and why.
        self.notes = tuple(notes)


class OneClassError(TargetError):
    """Too little is left to learn from, such as one class only."""


class RareClassError(OneClassError):
    """One of several classes has too few rows."""


class ClassLostError(OneClassError):
    """Leaving out incomplete rows leaves too little."""

    def __init__(self, message: str, report: MissingReport) -> None:
        super().__init__(message)
        self.report = report


def counted(number: int, noun: str) -> str:
    """A number with its noun, in the plural where it is not one."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def named(names: Sequence[str], most: int = MOST_NAMED) -> str:
    """A list of names in quotes, cut where it gets long."""
    more = f", and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(repr(name) for name in names[:most]) + more
