"""``safdr select``: read, encode, fit, describe, write."""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from safdr.cli.app import parse
from safdr.cli.batches import TARGET, WEIGHT, TrainingBatches
from safdr.cli.errors import UsageError
from safdr.cli.names import FeatureNames
from safdr.cli.output import check_outputs, print_result, write_outputs
from safdr.cli.progress import SearchProgress
from safdr.cli.rows import Prepared, open_table, prepare

if TYPE_CHECKING:
    import pyarrow as pa

# Options that name a column which is then no feature.
ROLES = ("time", "keep_together", "weight")


def run(options: argparse.Namespace) -> None:
    """Select the features of a table."""
    check_outputs(options, [options.table, options.test])
    _check(options)
    started = time.perf_counter()
    with SearchProgress(shown=not options.quiet) as progress:
        rows = prepare(options, open_table(options))
        names = FeatureNames(rows.encoder, options.target)
        selector = make_selector(options, rows, names)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            n_rows = len(rows.X) if rows.batches is None else rows.batches.table.n_rows
            _fit(progress.follow(selector, f"{n_rows:,} rows"), rows)
        if options.prove is not None and getattr(selector.constraints, "groups", None):
            rows.notes.append(
                "--prove has no bounds for categories and --as-one; --drop leaves columns out."
            )
        progress.say("Describing")
        report = _report(options, rows, selector, _warned(caught), started)
    # An export is checked on training rows.
    raw = rows.encoder.read(rows.train.table)
    predict = getattr(selector, "decision_function", None) or selector.predict
    sums = np.asarray(predict(rows.X))
    try:
        files = write_outputs(options, report, raw, sums)
    except (OSError, ValueError):
        # The search may have taken hours.
        print_result(options, report, [])
        raise
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


def make_selector(options: argparse.Namespace, rows: Prepared, names: FeatureNames) -> Any:
    """Return the selector that the options ask for."""
    import safdr

    constraints = names.constraints(options)
    n_features = names.n_features(constraints.get("groups", {}))
    by_class = rows.train.target.task == "classification"
    if options.balanced and not by_class:
        raise UsageError("--balanced is for classes; the target is numbers.")
    kind = safdr.AnnealingSelectorCV if by_class else safdr.AnnealingRegressorSelectorCV
    given: dict[str, Any] = {"constraints": safdr.Constraints(**constraints)} if constraints else {}
    if costs := names.costs(options.cost):
        given["feature_cost"] = costs
    if options.balanced:
        given["class_weight"] = "balanced"
    if rows.train.groups is not None:
        from sklearn.model_selection import GroupShuffleSplit

        given["cv"] = GroupShuffleSplit(5, test_size=0.25, random_state=options.seed)
    return (kind.as_published if options.as_published else kind)(
        n_jobs=options.jobs, random_state=options.seed, **given, **_sizes(options, n_features)
    )


def _sizes(options: argparse.Namespace, n_features: int) -> dict[str, Any]:
    """Return the parameters for the sizes to try and the rule."""
    given: dict[str, Any] = {}
    if isinstance(options.k, tuple):
        low, high = options.k
        # A number begins at the smallest size that the constraints allow.
        given["sizes"] = high if low == 1 else list(range(low, max(low, min(high, n_features)) + 1))
    elif options.k is not None:
        given["sizes"] = [options.k]
    if options.rule is not None:
        rule = options.rule
        given["rule"] = _within(rule) if isinstance(rule, float) else rule
    return given


def _within(loss: float) -> Callable[[dict[str, Any]], int]:
    """Return a rule: the smallest size whose score is at most `loss` below the best one."""

    def tolerance(results: dict[str, Any]) -> int:
        scores = results["mean_test_score"]
        return int(np.flatnonzero(scores >= scores.max() - loss)[0])

    return tolerance


def _fit(selector: Any, rows: Prepared) -> None:
    if rows.batches is not None:
        stream, target, *weight = _source(rows.batches)
        selector.fit(stream, target, sample_weight=weight[0] if weight else None)
        # Other rows are arrays, which have no names.
        del selector.feature_names_in_
        return
    given = {"sample_weight": rows.train.weight, "groups": rows.train.groups}
    given = {name: value for name, value in given.items() if value is not None}
    selector.fit(rows.X, rows.train.target.values, **given)


def _source(batches: TrainingBatches) -> tuple[Any, ...]:
    """Return the rows of all batches, and the names of the target and of the weight."""
    from safdr import Stream

    names = (TARGET,) if batches.weight is None else (TARGET, WEIGHT)
    return (Stream(batches), *names)


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
    data: dict[str, Any] = {"file": options.table, "columns": _columns(options, rows.encoder)}
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
        source=None if rows.batches is None else _source(rows.batches),
        prove=options.prove,
        near_optimal=None if options.prove is None else 0.01,
        stability=options.stability,
        substitutes=options.prove is not None or options.stability is not None,
        what_if=bool(options.output),
        details={
            "target": target.describe(),
            "data": data,
            "settings": _settings(options),
            "notes": [*rows.notes, *warned],
            "warnings": rows.warnings,
            "seconds": time.perf_counter() - started,
        },
        n_jobs=options.jobs,
    )


def _columns(options: argparse.Namespace, encoder: Any) -> list[dict[str, Any]]:
    """Return how columns are used; those that an option names are not just dropped."""
    whys = {getattr(options, name): f"used for --{name.replace('_', '-')}" for name in ROLES}
    whys[options.target] = "target"
    columns: list[dict[str, Any]] = encoder.columns()
    return [
        each if each["used"] or each["name"] not in whys else each | {"why": whys[each["name"]]}
        for each in columns
    ]


def _values(table: pa.Table, name: str) -> NDArray[Any]:
    """Return the values of a column for segments."""
    from safdr.table.types import is_number

    column = table.column(name)
    if is_number(column.type):
        return np.array(column.cast("float64", safe=False).to_numpy())
    return np.array(column.to_pylist(), dtype=object)


def _settings(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options that differ from their defaults, by their names on the command line."""
    hidden = ("table", "output", "debug", "quiet", "force", "seed")
    defaults = vars(parse(["select"]))
    given = {n: v for n, v in vars(options).items() if n not in hidden and v != defaults[n]}
    return {
        name.replace("_", "-"): list(v) if isinstance(v, tuple) else v for name, v in given.items()
    }
