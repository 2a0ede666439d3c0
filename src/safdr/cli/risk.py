"""What the report is told about rows, so that it can speak of model risk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from safdr.cli.options import ResultOptions, TableOptions
from safdr.cli.rows import SplitRows
from safdr._old_table.choices import Choices
from safdr._old_table.errors import ColumnUseError

if TYPE_CHECKING:
    import pyarrow as pa


def told_of_rows(rows: SplitRows, choices: Choices) -> dict[str, Any]:
    """Weights and segments, as `SelectionReport.from_estimator` takes them."""
    train, test = rows.prepared.train, rows.prepared.test
    told = {"sample_weight": train.weight}
    if test is None:
        return told
    by = {name: _values(test.table, name) for name in choices.by}
    return told | {"sample_weight_test": test.weight, "by": by}


def _values(table: pa.Table, name: str) -> Any:
    """Values of a column, as they are in the table; None where one is missing."""
    import numpy as np
    import pyarrow as pa

    if name not in table.column_names:
        raise ColumnUseError(f"The column {name!r} can't be read, and has no segments (--by).")
    column = table.column(name)
    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return column.cast("float64", safe=False).to_numpy()
    return np.array(column.to_pylist(), dtype=object)


def about_risk(table: TableOptions, results: ResultOptions) -> list[str]:
    """What was asked for and is not shown, or not as it might be."""
    notes = []
    if table.by and table.test_size == 0:
        notes.append(
            "--by has no effect: segments are held-out rows, and --test-size 0 holds none."
        )
    elif table.by and not (results.json or results.report or results.out):
        notes.append(
            "--by shows in the report: add --report page.html, --out result.json or --json."
        )
    return notes


def risk_of_sample(
    estimator: Any, content: dict[str, Any], rows: SplitRows, told: dict[str, Any]
) -> dict[str, Any]:
    """Model risk on the held-out rows of the sample; what was counted on all of them stays."""
    from safdr.report.content import jsonable
    from safdr.report.risk.describe import describe_risk
    from safdr.report.risk.rows import GivenRows
    from safdr.report.tasks import task_of_estimator

    train, test = rows.prepared.train, rows.prepared.test
    assert test is not None
    held_out = GivenRows(test.X, test.y, test.weight, told["by"], is_sample=True)
    found = describe_risk(
        estimator,
        task_of_estimator(estimator),
        content["features"],
        GivenRows(train.X, train.y, train.weight),
        held_out,
    )
    if (counted := content["risk"]["discrimination"]) is not None:
        found["discrimination"] = counted
    return dict(jsonable(found))
