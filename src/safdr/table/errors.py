"""What can be wrong with a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

from safdr.text import count

if TYPE_CHECKING:
    from safdr.table.missing import MissingReport

# Names listed in one message.
MAX_NAMES = 12


class TableError(Exception):
    """The table cannot be used as it is."""


class ColumnError(TableError):
    """A column was asked for that does not exist, or that cannot be used like this."""


class MissingValuesError(TableError, ValueError):
    """Values are missing, and no option says what to do.

    Parameters
    ----------
    report : MissingReport
        Missing values by column and class.
    """

    def __init__(self, report: MissingReport) -> None:
        names = [each.column for each in report.columns]
        super().__init__(
            f"{count(report.n_missing, 'value')} missing in {len(names)} of "
            f"{count(report.n_columns, 'column')}: {listed(names)}. Use missing='median' to fill "
            "in medians (categories: the most frequent value), missing='drop-columns' to drop "
            "these columns, or drop the rows first."
        )
        self.report = report


def unknown_column(name: str, columns: Sequence[str]) -> ColumnError:
    """Return an error for a column that does not exist, with the one probably meant."""
    return ColumnError(
        f"The table has no column {name!r}.{did_you_mean(name, columns)} It has {len(columns)}: "
        f"{listed(columns)}."
    )


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a question with the known name that is most like this one, if one is."""
    near = get_close_matches(name, list(known), n=1, cutoff=0.75)
    return f" Did you mean {near[0]!r}?" if near else ""


def listed(names: Sequence[str]) -> str:
    """Return names in quotes; a long list is cut."""
    more = f" and {len(names) - MAX_NAMES:,} more" if len(names) > MAX_NAMES else ""
    return ", ".join(repr(name) for name in names[:MAX_NAMES]) + more
