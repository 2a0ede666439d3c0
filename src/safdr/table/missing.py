"""Missing values: how many, whether the target decides where, and what each way on would leave."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from safdr.table.target import Classes, Target, shown

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
    target: Classes
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

    def complete(columns: Sequence[str]) -> tuple[int, int]:
        return target.take(complete_rows(table, columns)).counts

    return missing_report(
        {name: gaps_by_class(table, name, target) for name in names}, target, complete
    )


def gaps_by_class(table: pa.Table, name: str, target: Target) -> NDArray[np.int64]:
    """Rows of each class without a value in a column."""
    gap = _gap(table, name)
    return np.bincount(target.is_positive[gap], minlength=2)


def missing_report(
    gaps: Mapping[str, NDArray[np.int64]],
    target: Classes,
    complete: Callable[[Sequence[str]], tuple[int, int]],
) -> MissingReport:
    """Describe gaps that are counted, given the rows of each class that are complete in columns."""
    columns = [_describe(name, counts, target) for name, counts in gaps.items() if counts.any()]
    depending = {each.column for each in columns if each.depends}
    every = [each.column for each in columns]
    n_complete = complete(every) if every else target.counts
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


def _describe(name: str, gaps: NDArray[np.int64], target: Classes) -> MissingColumn:
    n, m = target.counts
    shares = float(gaps[0] / n), float(gaps[1] / m)
    overall = gaps.sum() / (n + m)
    error = np.sqrt(overall * (1 - overall) * (1 / n + 1 / m))
    difference = abs(shares[1] - shares[0])
    depends = bool(difference > max(MATTERS, SURE * error))
    return MissingColumn(name, int(gaps.sum()), shares, depends)
