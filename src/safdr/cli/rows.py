"""Training rows and held-out rows of a table, encoded as the options of ``select`` say."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from safdr.cli.batches import BigTable, TrainingBatches, open_big
from safdr.cli.errors import UsageError
from safdr.cli.names import all_names
from safdr.table.encoder import TableEncoder
from safdr.table.errors import MissingValuesError, TableError, listed, unknown_column
from safdr.table.missing import complete_rows, missing_warnings
from safdr.table.read import read_table
from safdr.table.split import Since, row_groups, row_weights, split_rows
from safdr.table.target import Target, learn_target

if TYPE_CHECKING:
    import pyarrow as pa

BUILT_IN = "breast cancer"


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a table with a target."""

    table: pa.Table
    target: Target
    weight: NDArray[np.float64] | None = None
    groups: NDArray[np.int64] | None = None
    # Which rows are held out, if that is known beforehand.
    held_out: NDArray[np.bool_] | None = None

    def take(self, rows: NDArray[Any]) -> Rows:
        """Return some of the rows."""
        indices = np.flatnonzero(rows) if rows.dtype == bool else rows
        others = (self.weight, self.groups, self.held_out)
        taken: list[Any] = [None if each is None else each[indices] for each in others]
        return Rows(self.table.take(indices), self.target.take(indices), *taken)


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
    # A table that is read in batches; the rows are a sample of it.
    batches: TrainingBatches | None = None


def open_table(options: argparse.Namespace) -> pa.Table | BigTable:
    """Return the table, and check the columns that the options name."""
    if options.table is None:
        options.table, options.target = BUILT_IN, options.target or "diagnosis"
        table: pa.Table | BigTable = breast_cancer()
    else:
        table = open_big(options.table) or read_table(options.table)
    columns = table.column_names
    if options.target is None:
        raise UsageError(f"-t COLUMN is needed: one of {listed(columns)}.")
    for name in ("drop", "keep", "categories", "numbers", "by"):
        setattr(options, name, all_names(getattr(options, name), columns))
    roles = [options.time, options.keep_together, options.weight, *options.by]
    for name in (options.target, *roles):
        if name is not None and name not in columns:
            raise unknown_column(name, columns)
    if options.target in [*roles, *options.drop, *options.keep, *options.categories]:
        raise UsageError(f"The column {options.target!r} is the target; it has no other use.")
    return table


def breast_cancer() -> pa.Table:
    """Return scikit-learn's breast-cancer data."""
    import pyarrow as pa
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    columns = dict(zip(map(str, data.feature_names), data.data.T, strict=True))
    return pa.table({**columns, "diagnosis": data.target_names[data.target].tolist()})


def _rows(
    options: argparse.Namespace,
    table: pa.Table,
    target: Target | None = None,
    held_out: NDArray[np.bool_] | None = None,
) -> Rows:
    """Return the rows whose target is known; `target` is that of the training rows."""
    if target is None:
        how = {name: getattr(options, name) for name in ("positive", "task", "na", "numbers")}
        target = learn_target(table, options.target, **how)
    target, known = target.of(table)
    table = table.filter(known)
    weight = None if options.weight is None else row_weights(table, options.weight)
    groups = None if options.keep_together is None else row_groups(table, options.keep_together)
    return Rows(table, target, weight, groups, None if held_out is None else held_out[known])


def make_encoder(options: argparse.Namespace, missing: str | None) -> TableEncoder:
    """Return the encoder that the options ask for."""
    roles = (options.target, options.time, options.keep_together, options.weight)
    used = {*options.keep, *options.categories, *options.numbers} - {options.target}
    return TableEncoder(
        drop=[*options.drop, *(n for n in roles if n is not None and n not in used)],
        keep=options.keep,
        categories=options.categories,
        numbers=[name for name in options.numbers if name != options.target],
        na=options.na,
        missing=missing,
    )


def prepare(options: argparse.Namespace, table: pa.Table | BigTable) -> Prepared:
    """Split the rows, and encode them as the training rows say."""
    rows, since, notes = _all_rows(options, table)
    look = make_encoder(options, "median").fit(rows.table, rows.target)
    report, way = look.missing_, options.missing
    if report.columns and way is None:
        raise MissingValuesError(report)
    if way == "drop-rows" and report.columns:
        rows = rows.take(_complete(look, rows.table))
        notes.append(f"{report.n_rows - report.n_complete_rows:,} incomplete rows are dropped.")
    rows.target.check("rows")
    train, test, about = _split(options, rows)
    train.target.check()
    encoder = _fit_encoder(options, look, train, test)
    if test is not None:
        test = test.take(_complete(encoder, test.table)) if way == "drop-rows" else test
        _check_test(test.target)
    batches = None
    if isinstance(table, BigTable):
        common = (options.weight, options.test_size, options.seed, way == "drop-rows")
        batches = TrainingBatches(table, encoder, rows.target, since, *common)
    return Prepared(
        train=train,
        test=test,
        encoder=encoder,
        X=encoder.transform(train.table),
        X_test=None if test is None else encoder.transform(test.table),
        notes=notes + about,
        warnings=list(missing_warnings(report, way)),
        batches=batches,
    )


def _all_rows(
    options: argparse.Namespace, table: pa.Table | BigTable
) -> tuple[Rows, Since | None, list[str]]:
    """Return the rows of a table whose target is known, or a sample of a bigger table."""
    if not isinstance(table, BigTable):
        rows = _rows(options, table)
        n_unknown = table.num_rows - rows.table.num_rows
        note = f"{n_unknown:,} rows without a value of {options.target} are left out."
        return rows, None, [note] if n_unknown else []
    if options.keep_together or options.test:
        option = "--keep-together" if options.keep_together else "--test"
        raise UsageError(f"{option} needs a table that fits in memory; {options.table!r} does not.")
    sample, held_out, since = table.sample(options.test_size, options.time, options.seed)
    note = (
        f"The {table.n_rows:,} rows are read in batches. The criterion and the model use all "
        f"training rows; columns, medians, scores and questions use {len(held_out):,} rows."
    )
    return _rows(options, sample, held_out=held_out), since, [note]


def _split(options: argparse.Namespace, rows: Rows) -> tuple[Rows, Rows | None, list[str]]:
    """Return training rows, held-out rows and notes."""
    if options.test is not None:
        return rows, _rows(options, _test_table(options), rows.target), []
    notes: list[str] = []
    if rows.held_out is not None:
        first, second = np.flatnonzero(~rows.held_out), np.flatnonzero(rows.held_out)
    else:
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


def _fit_encoder(
    options: argparse.Namespace, look: TableEncoder, train: Rows, test: Rows | None
) -> TableEncoder:
    """Return an encoder of the training rows; incomplete rows are dropped already."""
    encoder = make_encoder(options, None if options.missing == "drop-rows" else options.missing)
    if options.missing == "drop-columns" and test is not None:
        # Also columns with missing values in held-out rows only.
        encoder.drop = [
            *(encoder.drop or ()),
            *(_gaps(look, test.table) - _gaps(look, train.table)),
        ]
    return encoder.fit(train.table, train.target)


def _gaps(encoder: TableEncoder, table: pa.Table) -> set[str]:
    """Return the columns with missing values."""
    return {name for name, column in encoder.read(table).items() if column.null_count}


def _check_test(target: Target) -> None:
    """Refuse held-out rows that nothing can be measured on."""
    few = len(target.values) < 2
    if few or (target.classes and len(np.unique(target.values)) < len(target.classes)):
        raise TableError(
            f"The {len(target.values):,} held-out rows lack a value of {target.name!r} to test on. "
            "Hold out more rows, or none (--test-size 0)."
        )


def _test_table(options: argparse.Namespace) -> pa.Table:
    table = read_table(options.test)
    for name in (options.target, options.weight, options.keep_together, *options.by):
        if name is not None and name not in table.column_names:
            raise UsageError(f"--test: {unknown_column(name, table.column_names)}")
    return table
