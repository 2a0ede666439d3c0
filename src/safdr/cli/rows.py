"""Training rows and held-out rows of a table, encoded as the options of ``select`` say."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from safdr.cli.errors import UsageError
from safdr.cli.names import all_names
from safdr.table.encoder import TableEncoder
from safdr.table.errors import MissingValuesError, TableError, listed, unknown_column
from safdr.table.missing import complete_rows, missing_warnings
from safdr.table.read import read_table
from safdr.table.split import row_groups, row_weights, split_rows
from safdr.table.target import Target, learn_target

if TYPE_CHECKING:
    import pyarrow as pa

BUILT_IN = "breast cancer"

# Options that name a column which is then no feature.
ROLES = ("time", "keep_together", "weight", "exposure", "event")


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a table with a target."""

    table: pa.Table
    target: Target
    weight: NDArray[np.float64] | None = None
    groups: NDArray[np.int64] | None = None
    event: NDArray[np.bool_] | None = None  # of survival times

    @property
    def y(self) -> NDArray[Any]:
        """The target as selectors take it."""
        if self.event is None:
            return self.target.values
        y = np.empty(len(self.event), dtype=[("event", bool), ("time", float)])
        y["event"], y["time"] = self.event, self.target.values
        return y

    def take(self, rows: NDArray[Any]) -> Rows:
        """Return some of the rows."""
        indices = np.flatnonzero(rows) if rows.dtype == bool else rows
        others: list[Any] = [
            None if each is None else each[indices]
            for each in (self.weight, self.groups, self.event)
        ]
        return Rows(self.table.take(indices), self.target.take(indices), *others)


@dataclass(frozen=True, eq=False)
class Prepared:
    """Encoded training rows and held-out rows."""

    train: Rows
    test: Rows | None
    encoder: TableEncoder
    X: NDArray[np.float64]
    X_test: NDArray[np.float64] | None
    notes: list[str]
    warnings: list[dict[str, Any]]


def open_table(options: argparse.Namespace) -> tuple[pa.Table, list[str]]:
    """Return the table with notes, and check the columns that the options name."""
    if options.table is None:
        options.table, options.target = BUILT_IN, options.target or "diagnosis"
        table, notes = breast_cancer()
    else:
        table, notes = read_table(options.table)
    columns = table.column_names
    if options.target is None:
        raise UsageError(f"-t COLUMN is needed: one of {listed(columns)}.")
    for name in ("drop", "keep", "categories", "numbers", "by"):
        setattr(options, name, all_names(getattr(options, name), columns))
    roles = [getattr(options, name) for name in ROLES] + options.by
    for name in (options.target, *roles):
        if name is not None and name not in columns:
            raise unknown_column(name, columns)
    if options.target in [*roles, *options.drop, *options.keep, *options.categories]:
        raise UsageError(f"The column {options.target!r} is the target; it has no other use.")
    return table, notes


def breast_cancer() -> tuple[pa.Table, list[str]]:
    """Return scikit-learn's breast-cancer data, without notes."""
    import pyarrow as pa
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    columns = dict(zip(map(str, data.feature_names), data.data.T, strict=True))
    return pa.table({**columns, "diagnosis": data.target_names[data.target].tolist()}), []


def _rows(options: argparse.Namespace, table: pa.Table, target: Target | None = None) -> Rows:
    """Return the rows whose target is known; `target` is that of the training rows."""
    if target is None:
        how = {name: getattr(options, name) for name in ("positive", "task", "na", "numbers")}
        if options.task in ("count", "amount", "survival"):
            how["task"] = "regression"
        target = learn_target(table, options.target, **how)
    target, known = target.of(table)
    table = table.filter(known)
    weight = None if options.weight is None else row_weights(table, options.weight)
    groups = None if options.keep_together is None else row_groups(table, options.keep_together)
    event = None if options.event is None else _events(options, table)
    if options.exposure is not None:
        weight = row_weights(table, options.exposure)
        if not (weight > 0).all():
            raise TableError(f"The exposures in {options.exposure!r} must be positive.")
        target = replace(target, values=target.values / weight)
    return Rows(table, target, weight, groups, event)


def _events(options: argparse.Namespace, table: pa.Table) -> NDArray[np.bool_]:
    """Return which rows have an event: the last of two values, such as 1, true or yes."""
    how: Any = {"task": "classification", "na": options.na}
    events, known = learn_target(table, options.event, **how).of(table)
    if len(events.classes) != 2 or not known.all():
        raise TableError(
            f"The column {options.event!r} must hold two values, such as 0 and 1, in every row; "
            f"got {listed(events.classes)}."
        )
    return np.asarray(events.values == 1)


def make_encoder(options: argparse.Namespace, missing: str | None) -> TableEncoder:
    """Return the encoder that the options ask for."""
    roles = (options.target, *(getattr(options, name) for name in ROLES))
    used = {*options.keep, *options.categories, *options.numbers} - {options.target}
    return TableEncoder(
        drop=[*options.drop, *(n for n in roles if n is not None and n not in used)],
        keep=options.keep,
        categories=options.categories,
        numbers=[name for name in options.numbers if name != options.target],
        na=options.na,
        missing=missing,
    )


def prepare(options: argparse.Namespace) -> Prepared:
    """Read the table, split its rows, and encode them as the training rows say."""
    table, notes = open_table(options)
    rows, way = _rows(options, table), options.missing
    if n_unknown := table.num_rows - rows.table.num_rows:
        notes.append(f"{n_unknown:,} rows without a value of {options.target} are left out.")
    look = make_encoder(options, "median").fit(rows.table, rows.target)
    report = look.missing_
    if report.columns and way is None:
        raise MissingValuesError(report)
    if way == "drop-rows" and report.columns:
        rows = rows.take(_complete(look, rows.table))
        notes.append(f"{report.n_rows - report.n_complete_rows:,} incomplete rows are dropped.")
    rows.target.check("rows")
    train, test, about = _split(options, rows)
    train.target.check()
    encoder = make_encoder(options, way if way == "median" else None)
    if way == "drop-columns":
        encoder.drop = [*(encoder.drop or ()), *_gaps(look, train, test)]
    encoder.fit(train.table, train.target)
    if test is not None:
        test = test.take(_complete(encoder, test.table)) if way == "drop-rows" else test
        _check_test(test.target)
    return Prepared(
        train=train,
        test=test,
        encoder=encoder,
        X=encoder.transform(train.table),
        X_test=None if test is None else encoder.transform(test.table),
        notes=notes + about,
        warnings=list(missing_warnings(report, way)),
    )


def _split(options: argparse.Namespace, rows: Rows) -> tuple[Rows, Rows | None, list[str]]:
    """Return training rows, held-out rows and notes."""
    if options.test is not None:
        table, notes = read_table(options.test)
        needed = [getattr(options, name) for name in ROLES if name != "time"]
        for name in (options.target, *needed, *options.by):
            if name is not None and name not in table.column_names:
                raise UsageError(f"--test: {unknown_column(name, table.column_names)}")
        return rows, _rows(options, table, rows.target), notes
    first, second, notes = split_rows(
        rows.table,
        rows.target,
        test_size=options.test_size,
        time=options.time,
        groups=rows.groups,
        seed=options.seed,
    )
    return rows.take(first), rows.take(second) if len(second) else None, notes


def _complete(encoder: TableEncoder, table: pa.Table) -> NDArray[np.bool_]:
    return complete_rows(list(encoder.read(table).values()), table.num_rows)


def _gaps(encoder: TableEncoder, train: Rows, test: Rows | None) -> list[str]:
    """Return the columns with missing values."""
    tables = [part.table for part in (train, test) if part is not None]
    read = [encoder.read(table) for table in tables]
    return [name for name in read[0] if any(columns[name].null_count for columns in read)]


def _check_test(target: Target) -> None:
    """Refuse held-out rows that nothing can be measured on."""
    few = len(target.values) < 2
    if few or (target.classes and len(np.unique(target.values)) < len(target.classes)):
        raise TableError(
            f"The {len(target.values):,} held-out rows lack a value of {target.name!r} to test on. "
            "Hold out more rows, or none (--test-size 0)."
        )
