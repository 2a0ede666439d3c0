"""Missing values by column, and whether the target decides where they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa

    from safdr.table.target import Target

# Missing values depend on the target if their correlation with it, or with a class, is beyond
# chance (in standard errors) and this large.
STANDARD_ERRORS, MIN_CORRELATION = 5.0, 0.05


@dataclass(frozen=True)
class MissingColumn:
    """Missing values of a column."""

    column: str
    n_missing: int
    # Classes: the share missing in each class. Regression: mean target where missing, elsewhere.
    by_target: dict[str, float]
    depends_on_target: bool


@dataclass(frozen=True)
class MissingReport:
    """Missing values of a table."""

    # The columns with missing values, most first.
    columns: tuple[MissingColumn, ...]
    n_columns: int
    n_rows: int
    n_complete_rows: int
    # Rows without missing values if the columns that depend on the target are dropped.
    n_complete_rows_without: int

    @property
    def n_missing(self) -> int:
        """Return the number of missing values in all columns."""
        return sum(each.n_missing for each in self.columns)

    @property
    def depending(self) -> list[MissingColumn]:
        """Return the columns whose missing values depend on the target."""
        return [each for each in self.columns if each.depends_on_target]


def count_missing(
    columns: dict[str, pa.ChunkedArray], n_rows: int, target: Target | None
) -> MissingReport:
    """Count missing values by column, and compare them with the target."""
    gaps = {name: is_missing(column) for name, column in columns.items() if column.null_count}
    found = [_compare(name, gap, target) for name, gap in gaps.items()]
    depending = {each.column for each in found if each.depends_on_target}
    rest = [gap for name, gap in gaps.items() if name not in depending]
    return MissingReport(
        columns=tuple(sorted(found, key=lambda each: -each.n_missing)),
        n_columns=len(columns),
        n_rows=n_rows,
        n_complete_rows=_n_complete(list(gaps.values()), n_rows),
        n_complete_rows_without=_n_complete(rest, n_rows),
    )


def is_missing(column: pa.ChunkedArray) -> NDArray[np.bool_]:
    """Return which rows have no value."""
    return np.asarray(column.is_null().to_numpy(), dtype=bool)


def complete_rows(columns: Sequence[pa.ChunkedArray], n_rows: int) -> NDArray[np.bool_]:
    """Return which rows have a value in all columns."""
    complete = np.ones(n_rows, dtype=bool)
    for column in columns:
        if column.null_count:
            complete &= ~is_missing(column)
    return complete


def _n_complete(gaps: Sequence[NDArray[np.bool_]], n_rows: int) -> int:
    return n_rows - int(np.any(gaps, axis=0).sum()) if gaps else n_rows


def _compare(name: str, gap: NDArray[np.bool_], target: Target | None) -> MissingColumn:
    """Compare the target where values are missing with that elsewhere."""
    n_missing = int(gap.sum())
    if target is None or n_missing == len(gap):
        return MissingColumn(name, n_missing, {}, False)
    y = target.values
    if target.task == "regression":
        by_target = {"missing": float(y[gap].mean()), "elsewhere": float(y[~gap].mean())}
        columns = y[:, np.newaxis]
    else:
        columns = np.eye(len(target.classes))[y]
        shares = columns[gap].sum(axis=0) / columns.sum(axis=0)
        by_target = dict(zip(target.classes, shares.tolist(), strict=True))
    correlation = max(abs(np.corrcoef(gap, column)[0, 1]) for column in columns.T)
    depends = correlation > max(MIN_CORRELATION, STANDARD_ERRORS / np.sqrt(len(y)))
    return MissingColumn(name, n_missing, by_target, bool(depends))


def missing_warnings(report: MissingReport, way: str | None) -> Iterator[dict[str, Any]]:
    """Warn about missing values that depend on the target and are in the model's rows."""
    if not report.depending or way in (None, "drop-columns"):
        return
    names = ", ".join(each.column for each in report.depending)
    effect = (
        "The filled value becomes a signal that new rows may not have."
        if way == "median"
        else "Dropping incomplete rows drops some outcomes more than others."
    )
    yield {
        "kind": "missing_depends_on_target",
        "serious": True,
        "text": f"Whether {names} {'are' if len(report.depending) > 1 else 'is'} missing depends "
        f"on the target. {effect}",
        "advice": "Find out why, or drop these columns (--drop).",
    }
