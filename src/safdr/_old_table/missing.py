"""Missing values: how many, whether the target decides where, and what each way on would leave."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from safdr._old_table.kinds import Hint, TargetKind, Totals
from safdr._old_table.target import Target

if TYPE_CHECKING:
    import pyarrow as pa

Way = Literal["drop-rows", "drop-columns", "median"]


@dataclass(frozen=True)
class TableWarning:
    """What stands in the way of trusting a model of this table, as reports tell it."""

    kind: str
    # Whether scores may not hold.
    serious: bool
    title: str
    text: str
    advice: str
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class MissingColumn:
    """Missing values of a column."""

    # Its name.
    column: str
    # Rows without a value.
    n_missing: int
    # What they tell about the target.
    hint: Hint


@dataclass(frozen=True)
class MissingReport:
    """Missing values of a table."""

    # Of all rows.
    target: TargetKind
    # Those with missing values, most first.
    columns: tuple[MissingColumn, ...]
    # Columns looked at.
    n_columns: int
    # What rows without any missing value add up to.
    complete: Totals
    # The same if the columns that depend on the target are left out.
    complete_without: Totals

    @property
    def n_missing(self) -> int:
        """Missing values in all."""
        return sum(each.n_missing for each in self.columns)

    @property
    def depending(self) -> tuple[MissingColumn, ...]:
        """Columns in which the target decides where values are missing."""
        return tuple(each for each in self.columns if each.hint.depends)


def look_for_missing(table: pa.Table, names: Sequence[str], target: Target) -> MissingReport:
    """Count missing values, by column and by what they tell about the target."""

    def complete(columns: Sequence[str]) -> Totals:
        return target.take(complete_rows(table, columns)).totals

    return missing_report(
        {name: gaps_of(table, name, target) for name in names}, target.kind, complete
    )


def gaps_of(table: pa.Table, name: str, target: Target) -> Totals:
    """What rows without a value in a column add up to."""
    return target.take(_gap(table, name)).totals


def missing_report(
    gaps: Mapping[str, Totals], target: TargetKind, complete: Callable[[Sequence[str]], Totals]
) -> MissingReport:
    """Describe gaps that are counted, given what rows that are complete in columns add up to."""
    counts = {name: target.n_rows(totals) for name, totals in gaps.items()}
    every = [name for name, n_missing in counts.items() if n_missing]
    columns = [MissingColumn(name, counts[name], target.hint(gaps[name])) for name in every]
    depending = {each.column for each in columns if each.hint.depends}
    n_complete = complete(every) if every else target.totals
    rest = [name for name in every if name not in depending]
    return MissingReport(
        target=target,
        columns=tuple(sorted(columns, key=lambda each: -each.n_missing)),
        n_columns=len(gaps),
        complete=n_complete,
        complete_without=complete(rest) if depending else n_complete,
    )


def complete_rows(table: pa.Table, names: Sequence[str]) -> NDArray[np.bool_]:
    """Rows without a missing value in some columns."""
    kept = np.ones(table.num_rows, dtype=bool)
    for name in names:
        kept &= ~_gap(table, name)
    return kept


def warnings_about(report: MissingReport, way: Way) -> list[TableWarning]:
    """What someone who trusts the model should know of the missing values."""
    found = []
    if report.depending and way != "drop-columns":
        found.append(_about_depending(report, way))
    if way == "drop-rows" and (bent := report.target.bent(report.complete)):
        advice = "Correct for that where probabilities count, or keep the rows (--missing median)."
        title = "The rows that are left are not like all"
        found.append(TableWarning("rows_left_bend_the_target", False, title, bent, advice))
    return found


def _about_depending(report: MissingReport, way: Way) -> TableWarning:
    listed = "; ".join(f"{each.column} ({each.hint.words})" for each in report.depending)
    effect = (
        "Filled with the median, the gap itself becomes a signal, and one that new rows may not "
        "carry."
        if way == "median"
        else report.target.dropping_bends
    )
    return TableWarning(
        "missing_depends_on_target",
        True,
        "Where values are missing depends on the target",
        f"{listed}. {effect}",
        "Find out why before you trust the model, or leave these columns out.",
        tuple(each.column for each in report.depending),
    )


def _gap(table: pa.Table, name: str) -> NDArray[np.bool_]:
    """Rows without a value in a column."""
    column = table.column(name)
    if column.null_count == 0:
        return np.zeros(len(column), dtype=bool)
    return np.asarray(column.is_null().to_numpy(), dtype=bool)
