"""``safdr select``: read, encode, fit, describe, write."""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from safdr.cli.errors import UsageError
from safdr.cli.names import FeatureNames, all_names
from safdr.cli.output import check_outputs, print_result, write_outputs
from safdr.cli.progress import SearchProgress
from safdr.table.encoder import TableEncoder
from safdr.table.errors import MissingValuesError, TableError, listed, unknown_column
from safdr.table.missing import complete_rows, missing_warnings
from safdr.table.read import read_table
from safdr.table.split import Since, decoded, row_groups, row_weights, split_rows
from safdr.table.stream import BigTable, TrainingBatches, open_big
from safdr.table.target import Target, learn_target

if TYPE_CHECKING:
    import pyarrow as pa

# Sizes that are tried if none are given.
MAX_SIZE = 30
SMALLEST_SHARE = 0.5


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


def run(options: argparse.Namespace) -> None:
    """Select the features of a table."""
    check_outputs(options, [options.table, options.test])
    _check(options)
    started = time.perf_counter()
    with SearchProgress(shown=not options.quiet) as progress:
        progress.say("Reading")
        big = open_big(options.table)
        _clean(options, big.columns if big else None)
        rows = prepare(options, big)
        names = FeatureNames(rows.encoder, options.target)
        selector = make_selector(options, rows, names)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            _fit(progress.follow(selector), rows)
        progress.say("Describing")
        report = _report(options, rows, selector, _warned(caught), started)
    # An export is checked on training rows.
    raw = rows.encoder.read(rows.train.table)
    predict = getattr(selector, "decision_function", None) or selector.predict
    sums = np.asarray(predict(rows.X))
    files = write_outputs(options, report, raw, sums)
    print_result(options, report, files)


def _check(options: argparse.Namespace) -> None:
    """Refuse options that contradict each other."""
    if options.test_size == 0 and options.time:
        raise UsageError("--time holds out rows, and --test-size 0 none. Leave one of them out.")
    if options.test and options.time:
        raise UsageError("--test and --time both hold out rows. Leave one of them out.")
    if options.positive is not None and options.task == "regression":
        raise UsageError("--positive is for classes, and --task regression has none.")
    if isinstance(options.k, int) and options.rule is not None:
        raise UsageError(
            f"--rule chooses a size, and -k {options.k} gives one. Use -k 1-{options.k}."
        )


# ---- Rows ----------------------------------------------------------------------------------------


def _clean(options: argparse.Namespace, columns: Sequence[str] | None) -> None:
    """Read the table of the options, and split lists of columns."""
    if columns is None:
        table = breast_cancer() if options.table is None else read_table(options.table)
        options.rows, columns = table, table.column_names
        if options.table is None:
            options.table, options.target = "breast cancer", options.target or "diagnosis"
    if options.target is None:
        raise UsageError(f"-t COLUMN is needed: one of {listed(list(columns))}.")
    for name in ("drop", "keep", "categories", "numbers", "by"):
        setattr(options, name, all_names(getattr(options, name), columns))
    others = [options.target, options.time, options.keep_together, options.weight, *options.by]
    for name in others:
        if name is not None and name not in columns:
            raise unknown_column(name, list(columns))
    roles = [options.time, options.keep_together, options.weight, *options.drop, *options.by]
    if options.target in [*roles, *options.keep, *options.categories]:
        raise UsageError(f"The column {options.target!r} is the target; it has no other use.")


def breast_cancer() -> pa.Table:
    """Return scikit-learn's breast-cancer data."""
    import pyarrow as pa
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    columns = dict(zip(map(str, data.feature_names), data.data.T, strict=True))
    return pa.table({**columns, "diagnosis": data.target_names[data.target].tolist()})


def _rows(
    options: argparse.Namespace, table: pa.Table, held_out: NDArray[np.bool_] | None = None
) -> Rows:
    """Return the rows whose target is known."""
    target, known = learn_target(
        table,
        options.target,
        positive=options.positive,
        task=options.task,
        na=options.na,
        numbers=options.numbers,
    )
    table = table.filter(known)
    weight = None if options.weight is None else row_weights(table, options.weight)
    groups = None if options.keep_together is None else row_groups(table, options.keep_together)
    return Rows(table, target, weight, groups, None if held_out is None else held_out[known])


def make_encoder(options: argparse.Namespace, missing: str | None) -> TableEncoder:
    """Return the encoder that the options ask for."""
    roles = (options.target, options.time, options.keep_together, options.weight)
    return TableEncoder(
        drop=[*options.drop, *(n for n in roles if n is not None and n not in options.keep)],
        keep=options.keep,
        categories=options.categories,
        numbers=[name for name in options.numbers if name != options.target],
        na=options.na,
        missing=missing,
    )


def prepare(options: argparse.Namespace, big: BigTable | None) -> Prepared:
    """Split the rows, and encode them as the training rows say."""
    rows, since, notes = _all_rows(options, big)
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
    encoder = make_encoder(options, None if way == "drop-rows" else way)
    if way == "drop-columns":
        # Also columns with missing values in held-out rows only.
        encoder.drop = [*(encoder.drop or ()), *(each.column for each in report.columns)]
    encoder.fit(train.table, train.target)
    if test is not None:
        test = test.take(_complete(encoder, test.table)) if way == "drop-rows" else test
        _check_test(test.target)
    batches = None
    if big is not None:
        common = (options.weight, options.test_size, options.seed, way == "drop-rows")
        batches = TrainingBatches(big, encoder, rows.target, since, *common)
    return Prepared(
        train=train,
        test=test,
        encoder=encoder,
        X=encoder.transform(train.table),
        X_test=None if test is None else encoder.transform(test.table),
        notes=notes + about,
        warnings=[*missing_warnings(report, way), *_uneven(train.weight)],
        batches=batches,
    )


def _all_rows(
    options: argparse.Namespace, big: BigTable | None
) -> tuple[Rows, Since | None, list[str]]:
    """Return the rows of a table whose target is known, or a sample of a bigger table."""
    if big is None:
        rows = _rows(options, options.rows)
        n_unknown = options.rows.num_rows - rows.table.num_rows
        note = f"{n_unknown:,} rows without a value of {options.target} are left out."
        return rows, None, [note] if n_unknown else []
    if options.keep_together or options.test:
        option = "--keep-together" if options.keep_together else "--test"
        raise UsageError(f"{option} needs a table that fits in memory; {big.name!r} does not.")
    sample, held_out, since = big.sample(options.test_size, options.time, options.seed)
    note = (
        f"The {big.n_rows:,} rows are read in batches. The criterion and the model use all training"
        f" rows; columns, medians, scores and other questions use a sample of {len(held_out):,}."
    )
    return _rows(options, sample, held_out), since, [note]


def _split(options: argparse.Namespace, rows: Rows) -> tuple[Rows, Rows | None, list[str]]:
    """Return training rows, held-out rows and notes."""
    if options.test is not None:
        return rows, _test_file(options, rows.target), []
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


def _check_test(target: Target) -> None:
    """Refuse held-out rows that nothing can be measured on."""
    few = len(target.values) < 2
    if few or (target.classes and len(np.unique(target.values)) < len(target.classes)):
        raise TableError(
            f"The {len(target.values):,} held-out rows lack a value of {target.name!r} to test on. "
            "Hold out more rows, or none (--test-size 0)."
        )


def _uneven(weight: NDArray[np.float64] | None) -> list[dict[str, Any]]:
    """Warn if weighted rows count like few equal ones (Kish's effective sample size)."""
    if weight is None:
        return []
    effective = float(weight.sum() ** 2 / np.square(weight).sum())
    if effective >= SMALLEST_SHARE * len(weight):
        return []
    text = (
        f"By their weights, {len(weight):,} training rows count like {effective:,.0f} equal ones."
    )
    return [{"kind": "uneven_weights", "text": text, "advice": "Look at the largest weights."}]


def _test_file(options: argparse.Namespace, target: Target) -> Rows:
    """Return the held-out rows of a second file."""
    table = read_table(options.test)
    for name in (options.target, options.weight, *options.by):
        if name is not None and name not in table.column_names:
            raise UsageError(f"--test: {unknown_column(name, table.column_names)}")
    values = target.column.read(table.column(target.name))
    table = table.filter(complete_rows([values], len(values)))
    values = target.read(table.column(target.name))
    weight = None if options.weight is None else row_weights(table, options.weight)
    return Rows(table, replace(target, values=values), weight)


# ---- The search ----------------------------------------------------------------------------------


def make_selector(options: argparse.Namespace, rows: Prepared, names: FeatureNames) -> Any:
    """Return the selector that the options ask for."""
    import safdr

    constraints = names.constraints(options)
    n_features = names.n_features(constraints.get("groups", {}))
    low, high = options.k if isinstance(options.k, tuple) else (options.k or 1, options.k)
    if (high or 1) > n_features and not isinstance(options.k, tuple):
        raise UsageError(f"-k must be at most {n_features}, the number of features; got {high}.")
    if low > n_features:
        raise UsageError(f"-k must begin at {n_features} or below; got {low}.")
    by_class = rows.train.target.task == "classification"
    if options.balanced and not by_class:
        raise UsageError("--balanced is for classes; the target is numbers.")
    kind = safdr.AnnealingSelectorCV if by_class else safdr.AnnealingRegressorSelectorCV
    given: dict[str, Any] = {"constraints": safdr.Constraints(**constraints)} if constraints else {}
    if costs := names.costs(options.cost):
        given["feature_cost"] = costs
    if options.balanced:
        given["class_weight"] = "balanced"
    if isinstance(options.rule, float):
        given |= {"rule": "tolerance", "tolerance": options.rule}
    elif options.rule is not None:
        given["rule"] = options.rule
    if rows.train.groups is not None:
        from sklearn.model_selection import GroupShuffleSplit

        given["cv"] = GroupShuffleSplit(5, test_size=0.25, random_state=options.seed)
    return (kind.as_published if options.as_published else kind)(
        min_features=low,
        max_features=min(high or MAX_SIZE, n_features),
        n_jobs=options.jobs,
        random_state=options.seed,
        **given,
    )


def _fit(selector: Any, rows: Prepared) -> None:
    if rows.batches is not None:
        from safdr import Stream

        weight = {} if rows.batches.weight is None else {"sample_weight": rows.batches.weight}
        selector.fit(Stream(rows.batches), rows.train.target.name, **weight)
        # Other rows are arrays, which have no names.
        del selector.feature_names_in_
        return
    given = {"sample_weight": rows.train.weight, "groups": rows.train.groups}
    given = {name: value for name, value in given.items() if value is not None}
    selector.fit(rows.X, rows.train.target.values, **given)


def _warned(caught: Sequence[warnings.WarningMessage]) -> list[str]:
    """Return what the fit warned about; the report finds separation by itself."""
    from safdr import SeparationWarning

    others = [each for each in caught if not issubclass(each.category, SeparationWarning)]
    shown = [each for each in others if issubclass(each.category, UserWarning)]
    return list(dict.fromkeys(str(each.message) for each in shown))


def _report(
    options: argparse.Namespace, rows: Prepared, selector: Any, warned: list[str], started: float
) -> Any:
    from safdr import Report

    train, test, target = rows.train, rows.test, rows.train.target
    by = {} if test is None else {name: _values(test.table, name) for name in options.by}
    data: dict[str, Any] = {"file": options.table}
    if rows.batches is not None:
        data |= dict(zip(("n_train", "n_test"), rows.batches.n_rows, strict=True))
    return Report.from_estimator(
        selector,
        rows.X,
        target.values,
        X_test=rows.X_test,
        y_test=None if test is None else test.target.values,
        sample_weight=train.weight,
        sample_weight_test=None if test is None else test.weight,
        groups=train.groups,
        by=by,
        encoder=rows.encoder,
        prove=options.prove,
        near_optimal=None if options.prove is None else 0.01,
        stability=options.stability,
        substitutes=options.prove is not None or options.stability is not None,
        what_if=bool(options.output),
        target=target.describe(),
        data=data,
        settings=_settings(options),
        notes=[*rows.notes, *warned],
        warnings=rows.warnings,
        seconds=time.perf_counter() - started,
        n_jobs=options.jobs,
    )


def _values(table: pa.Table, name: str) -> NDArray[Any]:
    """Return the values of a column for segments."""
    from safdr.table.columns import is_number

    column = decoded(table, name)
    if is_number(column.type):
        return np.array(column.cast("float64", safe=False).to_numpy())
    return np.array(column.to_pylist(), dtype=object)


def _settings(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options that were given, by their names on the command line."""
    hidden = ("command", "run", "rows", "table", "output", "debug", "quiet", "force", "seed")
    found = {
        n: v for n, v in vars(options).items() if n not in hidden and v not in (None, [], False)
    }
    found = {n: v for n, v in found.items() if (n, v) not in (("jobs", 1), ("test_size", 0.2))}
    return {
        name.replace("_", "-"): list(v) if isinstance(v, tuple) else v for name, v in found.items()
    }
