"""Missing values: how many, whether the target decides where, and what each way on would leave."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from safdr.table.target import Target, shown

if TYPE_CHECKING:
    import pyarrow as pa

Way = Literal["drop-rows", "drop-columns", "median"]

# A difference between the classes that no chance makes (in standard errors), and that matters.
SURE = 5.0
MATTERS = 0.05
# Dropping rows bends the classes when one keeps less than this share of what the other keeps.
BENDS = 0.8


@dataclass(frozen=True)
class MissingColumn:
    """Missing values of a column."""

    # Its name.
    column: str
    # Rows without a value.
    n_missing: int
    # Share of the rows of the negative and of the positive class without a value.
    by_class: tuple[float, float]
    # Whether the shares differ by more than chance, and by enough to matter.
    depends: bool

    @property
    def auc(self) -> float:
        """How well the mere gap tells the classes apart: area under its ROC curve."""
        negative, positive = self.by_class
        return 0.5 + abs(positive - negative) / 2


@dataclass(frozen=True)
class MissingReport:
    """Missing values of a table."""

    # Of all rows.
    target: Target
    # Those with missing values, most first.
    columns: tuple[MissingColumn, ...]
    # Columns looked at.
    n_columns: int
    # Rows of each class without any missing value.
    complete: tuple[int, int]
    # The same if the columns that depend on the target are left out.
    complete_without: tuple[int, int]

    @property
    def n_missing(self) -> int:
        """Missing values in all."""
        return sum(each.n_missing for each in self.columns)

    @property
    def depending(self) -> tuple[MissingColumn, ...]:
        """Columns in which the target decides where values are missing."""
        return tuple(each for each in self.columns if each.depends)


def look_for_missing(table: pa.Table, names: Sequence[str], target: Target) -> MissingReport:
    """Count missing values, by column and by class."""
    gaps = {name: gap for name in names if (gap := _gap(table, name)).any()}
    columns = [_describe(name, gap, target) for name, gap in gaps.items()]
    depending = {each.column for each in columns if each.depends}
    return MissingReport(
        target=target,
        columns=tuple(sorted(columns, key=lambda each: -each.n_missing)),
        n_columns=len(names),
        complete=_complete(gaps.values(), target),
        complete_without=_complete(
            [gap for name, gap in gaps.items() if name not in depending], target
        ),
    )


def complete_rows(table: pa.Table, names: Sequence[str]) -> NDArray[np.bool_]:
    """Rows without a missing value in some columns."""
    kept = np.ones(table.num_rows, dtype=bool)
    for name in names:
        kept &= ~_gap(table, name)
    return kept


def warnings_about(report: MissingReport, way: Way) -> list[str]:
    """What someone who trusts the model should know of the missing values."""
    found = []
    if report.depending and way != "drop-columns":
        found.append(_about_depending(report, way))
    shares = [kept / n for kept, n in zip(report.complete, report.target.counts, strict=True)]
    if way == "drop-rows" and min(shares) < BENDS * max(shares):
        found.append(
            f"Leaving out incomplete rows keeps {percent(shares[1])} of class "
            f"{shown(report.target.positive)} and {percent(shares[0])} of class "
            f"{shown(report.target.negative)}: "
            "probabilities and intercept are those of the rows that are left, not of all."
        )
    return found


def _about_depending(report: MissingReport, way: Way) -> str:
    target = report.target
    listed = "; ".join(
        f"{each.column} ({percent(each.by_class[1])} of class {shown(target.positive)}, "
        f"{percent(each.by_class[0])} of class {shown(target.negative)})"
        for each in report.depending
    )
    effect = (
        "Filled with the median, the gap itself becomes a signal, and one that new rows may not "
        "carry."
        if way == "median"
        else "Leaving out incomplete rows leaves out one class more than the other."
    )
    return (
        f"Where values are missing depends on the target: {listed}. {effect} Find out why before "
        "you trust the model, or leave these columns out."
    )


def percent(share: float) -> str:
    """A share for people: never 0 % or 100 % unless it is exactly that."""
    text = f"{100 * share:.1f}"
    if text == "0.0" and share > 0:
        return "under 0.1 %"
    if text == "100.0" and share < 1:
        return "over 99.9 %"
    return f"{text.removesuffix('.0')} %"


def _gap(table: pa.Table, name: str) -> NDArray[np.bool_]:
    """Rows without a value in a column."""
    column = table.column(name)
    if column.null_count == 0:
        return np.zeros(len(column), dtype=bool)
    return np.asarray(column.is_null().to_numpy(), dtype=bool)


def _describe(name: str, gap: NDArray[np.bool_], target: Target) -> MissingColumn:
    positive = target.is_positive
    shares = (float(gap[~positive].mean()), float(gap[positive].mean()))
    overall, (n, m) = gap.mean(), target.counts
    error = np.sqrt(overall * (1 - overall) * (1 / n + 1 / m))
    difference = abs(shares[1] - shares[0])
    return MissingColumn(
        name, int(gap.sum()), shares, bool(difference > max(MATTERS, SURE * error))
    )


def _complete(gaps: Iterable[NDArray[np.bool_]], target: Target) -> tuple[int, int]:
    """Rows of each class that none of the gaps touches."""
    kept = np.ones(len(target.is_positive), dtype=bool)
    for gap in gaps:
        kept &= ~gap
    return target.take(kept).counts
