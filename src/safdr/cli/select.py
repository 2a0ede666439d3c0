"""``safdr select``: read, encode, fit, describe, write."""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from safdr.cli.app import parse
from safdr.cli.errors import UsageError
from safdr.cli.names import FeatureNames
from safdr.cli.output import STANDARD_OUTPUT, check_outputs, print_result, write_outputs
from safdr.cli.rows import ROLES, Prepared, Rows, prepare

if TYPE_CHECKING:
    pass

# Families of the tasks.
FAMILIES = {"count": "poisson", "amount": "gamma"}


def run(options: argparse.Namespace) -> None:
    """Select the features of a table."""
    check_outputs(options, [options.table, options.test])
    _check(options)
    started = time.perf_counter()
    _say(options, "Reading")
    rows = prepare(options)
    names = FeatureNames(rows.encoder, options.target)
    selector = make_selector(options, rows, names)
    _say(options, f"Searching in {len(rows.X):,} rows")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _fit(_with_progress(options, selector), rows.X, rows.train)
    _say(options, "Describing")
    report = _report(options, rows, selector, _warned(caught), started)
    # An export is checked on training rows.
    raw = rows.encoder.read(rows.train.table)
    predict = getattr(selector, "decision_function", None) or selector.predict
    sums = np.asarray(predict(rows.X))
    if options.task in FAMILIES:  # on the scale of the link
        sums = np.log(sums)
    try:
        files = write_outputs(options, report, raw, sums)
    except (OSError, ValueError):
        # The search may have taken hours.
        print_result(options, report, [])
        raise
    print_result(options, report, files)


def _say(options: argparse.Namespace, what: str) -> None:
    if not options.quiet:
        print(f"{what} ...", file=sys.stderr, flush=True)


def _with_progress(options: argparse.Namespace, selector: Any) -> Any:
    """Show the bar of scikit-learn 1.9 and later on a terminal."""
    is_free = STANDARD_OUTPUT not in options.output and not options.quiet
    if is_free and sys.stdout.isatty() and hasattr(selector, "set_callbacks"):
        from sklearn.callback import ProgressBar

        selector.set_callbacks(ProgressBar(max_propagation_depth=0))
    return selector


def _check(options: argparse.Namespace) -> None:
    """Refuse options that contradict each other."""
    if options.test_size == 0 and options.time:
        raise UsageError("--time holds out rows, and --test-size 0 none. Leave one of them out.")
    if options.test and options.time:
        raise UsageError("--test and --time both hold out rows. Leave one of them out.")
    if options.positive is not None and options.task not in (None, "classification"):
        raise UsageError(f"--positive is for classes, and --task {options.task} has none.")
    if (options.event is None) == (options.task == "survival"):
        raise UsageError("--task survival and --event COLUMN go together.")
    if options.exposure and (options.task not in FAMILIES or options.weight):
        raise UsageError("--exposure is for --task count or amount, without --weight.")
    if isinstance(options.k, int) and options.rule is not None:
        raise UsageError(
            f"--rule chooses a size, and -k {options.k} gives one. Use -k 1-{options.k}."
        )


def make_selector(options: argparse.Namespace, rows: Prepared, names: FeatureNames) -> Any:
    """Return the selector that the options ask for."""
    import safdr

    constraints = names.constraints(options)
    by_class = rows.train.target.task == "classification"
    if options.balanced and not by_class:
        raise UsageError("--balanced is for classes; the target is numbers.")
    kind: Any = safdr.AnnealingSelectorCV if by_class else safdr.AnnealingRegressorSelectorCV
    kind = safdr.AnnealingSurvivalSelectorCV if options.task == "survival" else kind
    given: dict[str, Any] = {"constraints": safdr.Constraints(**constraints)} if constraints else {}
    wanted = "NAME=NUMBER, such as height=2.5"
    if costs := names.pairs("--cost", options.cost, wanted, float):
        given["feature_cost"] = costs
    if options.task in FAMILIES:
        given["family"] = FAMILIES[options.task]
    if options.balanced:
        given["class_weight"] = "balanced"
    if rows.train.groups is not None:
        from sklearn.model_selection import GroupShuffleSplit

        given["cv"] = GroupShuffleSplit(5, test_size=0.25, random_state=options.seed)
    return (kind.as_published if options.as_published else kind)(
        n_jobs=options.jobs, random_state=options.seed, **given, **_sizes(options)
    )


def _sizes(options: argparse.Namespace) -> dict[str, Any]:
    """Return the parameters for the sizes to try and the rule."""
    given: dict[str, Any] = {}
    if isinstance(options.k, tuple):
        low, high = options.k
        # A number begins at the smallest size that the constraints allow.
        given["sizes"] = high if low == 1 else list(range(low, high + 1))
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


def _fit(selector: Any, X: Any, rows: Rows) -> None:
    selector.fit(X, rows.y, sample_weight=rows.weight, groups=rows.groups)


def _warned(caught: Sequence[warnings.WarningMessage]) -> list[str]:
    """Return what the fit warned about; the report finds separation by itself."""
    from safdr import SeparationWarning

    kinds = {str(each.message): each.category for each in caught}
    known = [text for text, kind in kinds.items() if issubclass(kind, UserWarning)]
    return [text for text in known if not issubclass(kinds[text], SeparationWarning)]


def _report(
    options: argparse.Namespace, rows: Prepared, selector: Any, warned: list[str], started: float
) -> Any:
    from safdr import Report

    train, test, target = rows.train, rows.test, rows.train.target
    by = {} if test is None else {name: test.table.column(name).to_pylist() for name in options.by}
    data: dict[str, Any] = {"file": options.table, "columns": _columns(options, rows.encoder)}
    return Report.from_estimator(
        selector,
        rows.X,
        train.y,
        X_test=rows.X_test,
        y_test=None if test is None else test.y,
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


def _settings(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options that differ from their defaults, by their names on the command line."""
    hidden = ("table", "target", "output", "debug", "quiet", "force", "seed")
    defaults = vars(parse(["select"]))
    given = {n: v for n, v in vars(options).items() if n not in hidden and v != defaults[n]}
    # A range of sizes, such as 1-20.
    written = {n: "-".join(map(str, v)) if isinstance(v, tuple) else v for n, v in given.items()}
    return {name.replace("_", "-"): value for name, value in written.items()}
