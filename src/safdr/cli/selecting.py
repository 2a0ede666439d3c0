"""What ``safdr select`` does: read, prepare, search, write, print."""

from __future__ import annotations

import re
import sys
import time
import warnings
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safdr.cli.builtin import TARGET
from safdr.cli.certainty import Certainty, fit_proven, look_closer
from safdr.cli.checks import check_options
from safdr.cli.cluster import cluster_at
from safdr.cli.constraining import Constraining, constrain
from safdr.cli.errors import OPTION_OF, UsageError
from safdr.cli.lists import one_by_one
from safdr.cli.opening import column_names, open_table, prepare_rows, some_rows
from safdr.cli.options import (
    LARGEST_SIZE,
    ConstraintOptions,
    ResultOptions,
    SearchOptions,
    TableOptions,
)
from safdr.cli.pointing import about_points, check_target_of_points
from safdr.cli.progress import SearchProgress
from safdr.cli.risk import about_risk, risk_of_sample, told_of_rows
from safdr.cli.rows import SplitRows
from safdr.cli.warning import Caught, other_notes, warn
from safdr.cli.weighing import counted_by_weight, weighted_scores
from safdr.cli.writing import to_json, write_results
from safdr.errors import ParameterError
from safdr._old_export.errors import ExportError
from safdr._old_table.choices import Choices
from safdr._old_table.kinds import TargetKind

if TYPE_CHECKING:
    import pyarrow as pa

    from safdr import AnnealingRegressorSelectorCV, AnnealingSelectorCV, SelectionReport

    Selector = AnnealingSelectorCV | AnnealingRegressorSelectorCV

TARGET_NAME = re.compile(r"(?i)target|label|class|outcome|default|status|^y$")
BUILT_IN = "breast cancer (built in)"


def run(
    file: str | None,
    table: TableOptions,
    search: SearchOptions,
    constraints: ConstraintOptions,
    results: ResultOptions,
) -> None:
    """Answer the question, in the ways that were asked for."""
    check_options(file, table, search, constraints, results)
    _check_settings(search, constraints)
    started = time.perf_counter()
    with SearchProgress(shown=not results.quiet) as progress, ExitStack() as until_then:
        progress.say("Reading")
        opened = open_table(file, table)
        target = table.target or (TARGET if file is None else None)
        if target is None:
            raise UsageError(_which_target(some_rows(opened)))
        choices = _choices(target, table, search.seed, column_names(opened))
        until_then.enter_context(cluster_at(table.dask, progress))
        progress.say("Preparing")
        rows = prepare_rows(opened, choices, table, progress)
        constraining = constrain(constraints, rows.prepared)
        check_target_of_points(results, rows.prepared.target.kind)
        estimator = _estimator(search, constraining, rows)
        fixed = search.k is not None
        with weighted_scores(estimator, rows):
            caught, unproven = _fit(progress.follow(estimator), rows, fixed=fixed)
            kept = results.json or results.report is not None or results.out is not None
            certainty = look_closer(estimator, rows, search, unproven, progress, kept=kept)
        progress.say("Testing")
        notes = [*rows.notes, *rows.prepared.notes, *_unused(search), *constraining.notes]
        notes += about_points(results, rows.prepared, estimator)
        notes += about_risk(table, results)
        asked = {**_given(asdict(choices)), **constraining.settings, **_looked_into(search)}
        if rows.in_passes:
            asked |= {"stream": table.stream, "sample_rows": table.sample_rows}
            asked |= _given({"dask": table.dask})
        told = told_of_rows(rows, choices)
        report = _report(
            file, estimator, rows, told, certainty, notes, caught, asked, started, fixed=fixed
        )
    prepared = rows.prepared
    try:
        written, failed = write_results(results, report, prepared, estimator, _table_name(file))
    except OSError:
        # The search may have taken hours: what can't be written is at least printed.
        _print(results, report, [])
        raise
    _print(results, report, written)
    if failed:
        texts = [f"{str(path)!r} is not written: {error}" for path, error in failed.items()]
        raise ExportError("\n".join(texts)) from next(iter(failed.values()))


def _table_name(file: str | None) -> str:
    """What a query calls the table: the name of the file, without its endings."""
    if file is None:
        return "breast_cancer"
    return "standard_input" if file == "-" else Path(file).name.split(".")[0] or "table"


def _choices(target: str, options: TableOptions, seed: int, columns: Sequence[str]) -> Choices:
    """What to do with the table."""
    return Choices(
        target=target,
        positive=options.positive,
        task=options.task,
        drop=one_by_one(options.drop, columns),
        identifiers=one_by_one(options.id, columns),
        keep=one_by_one(options.keep, columns),
        numbers=one_by_one(options.number, columns),
        categories=one_by_one(options.categorical, columns),
        na=options.na or (),
        time=one_by_one(options.time, columns),
        by=one_by_one(options.by, columns),
        weight=options.weight,
        group_by=options.group_by,
        missing=options.missing,
        test_size=options.test_size,
        split_by=options.split_by,
        seed=seed,
    )


def _which_target(table: pa.Table) -> str:
    """Ask for the target, and name the columns that could be one."""
    import pyarrow.compute as pc

    from safdr._old_table.errors import named
    from safdr._old_table.plain import plain

    readable, _ = plain(table)
    pairs = zip(readable.column_names, readable.columns, strict=True)
    counts = {name: pc.count_distinct(column).as_py() for name, column in pairs}
    likely = [name for name, n in counts.items() if n == 2 or (n > 2 and TARGET_NAME.search(name))]
    # A target often says so, and mostly comes last.
    likely.sort(key=lambda name: (not TARGET_NAME.search(name), name != table.column_names[-1]))
    which = "Likely, by name or with two values, are" if likely else "The columns are"
    return (
        "Say which column to predict, classes or numbers: --target NAME. "
        f"{which} {named(likely or table.column_names)}."
    )


def _estimator(search: SearchOptions, constraining: Constraining, rows: SplitRows) -> Selector:
    """The selector; a given number of features is validated in the same way."""
    import safdr

    n_features = constraining.n_features
    grouped = getattr(constraining.parameters.get("constraints"), "groups", None)
    counted = " (columns that enter together count as one)" if grouped else ""
    if search.k is not None and search.k > n_features:
        raise UsageError(
            f"-k must be at most {n_features}, the number of features{counted}; got {search.k}."
        )
    by_class = rows.prepared.target.kind.task == "classification"
    shared: dict[str, Any] = {
        "n_jobs": search.jobs,
        "random_state": search.seed,
        "prove": search.prove,
        **constraining.parameters,
    }
    if search.no_validation:
        fixed = safdr.AnnealingSelector if by_class else safdr.AnnealingRegressorSelector
        return (fixed.as_published if search.as_published else fixed)(search.k, **shared)
    kind = safdr.AnnealingSelectorCV if by_class else safdr.AnnealingRegressorSelectorCV
    return (kind.as_published if search.as_published else kind)(
        cv=rows.splitter(search.seed),
        min_features=search.k or 1,
        max_features=search.k or min(search.k_max or LARGEST_SIZE, n_features),
        **_given({"rule": search.rule, "tolerance": search.tolerance}),
        **shared,
    )


def _check_settings(search: SearchOptions, constraints: ConstraintOptions) -> None:
    """Refuse before the table is read what the selector would refuse after that."""
    given: dict[str, Any] = {}
    if constraints.cost_strength is not None:
        given["cost_strength"] = constraints.cost_strength
    given |= _given({"prove": search.prove, "tolerance": search.tolerance})
    if abs(search.jobs) != 1:
        given["n_jobs"] = search.jobs
    if given:
        from safdr import AnnealingSelectorCV

        AnnealingSelectorCV(**given).check_params()


def _unused(search: SearchOptions) -> list[str]:
    """Say which option another one leaves nothing to do."""
    notes = []
    given = {"--rule": search.rule, "--k-max": search.k_max, "--tolerance": search.tolerance}
    if search.k is not None:
        notes = [
            f"{option} {value} has no effect: -k {search.k} fixes the number of features."
            for option, value in _given(given).items()
        ]
    elif search.tolerance is not None and search.rule != "tolerance":
        notes = [
            f"--tolerance {search.tolerance:g} only says what the rule tolerance would take: add "
            "--rule tolerance to choose by it."
        ]
    return notes


def _fit(estimator: Selector, rows: SplitRows, *, fixed: bool) -> tuple[Caught, str | None]:
    """Search, and return what was warned about, and why there is no proof."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            unproven = fit_proven(estimator, rows)
        except ParameterError as error:
            if error.parameter not in OPTION_OF:
                raise
            options = OPTION_OF | ({"max_features": "-k"} if fixed else {})
            names = [feature.name for feature in rows.prepared.recipe.features]
            raise UsageError(error.in_words(options, names)) from error
    return caught, unproven


def _report(
    file: str | None,
    estimator: Selector,
    rows: SplitRows,
    told: dict[str, Any],
    certainty: Certainty,
    notes: list[str],
    caught: Caught,
    asked: dict[str, Any],
    started: float,
    *,
    fixed: bool,
) -> SelectionReport:
    """All numbers, with the names of the table."""
    from safdr import SelectionReport

    prepared, target = rows.prepared, rows.prepared.target.kind
    # Of rows that are read in passes and have weights, scores are counted apart.
    apart = rows.weight is not None and isinstance(rows.y_test, str)
    content = SelectionReport.from_estimator(
        estimator,
        prepared.train.X,
        prepared.train.y,
        feature_names=[feature.name for feature in prepared.recipe.features],
        X_test=None if apart else rows.X_test,
        y_test=None if apart else rows.y_test,
        **told,
        title=f"Which features predict {target.name}?",
        notes=[*notes, *other_notes(caught)],
        coding=[coding.to_dict() for coding in prepared.recipe.codings],
        left_out=[asdict(each) for each in prepared.left_out],
        seconds=time.perf_counter() - started,
        near_ties=certainty.near_ties,
        stability=certainty.stability,
        substitutes=certainty.substitutes,
        what_if=certainty.what_if,
    ).to_dict()
    content.update(certainty.unknown)
    if apart:
        content["scores"]["test"] = counted_by_weight(estimator, rows)
    if rows.in_passes and prepared.test is not None:
        content["risk"] = risk_of_sample(estimator, content, rows, told)
    # The selector knows codes of classes; the table has names for them.
    content["target"], content["task_note"] = target.to_dict(rows.totals), _task_note(target)
    content["rows"] |= {"train": target.n_rows(rows.totals), "test": rows.n_held_out}
    content["settings"].update({"file": file or BUILT_IN, **asked})
    if fixed:
        # There was nothing to choose.
        content["size"].update(dict.fromkeys(("rule", "by_rule", "note", "smallest", "largest")))
        content["path"], content["selection"] = [], {key: [] for key in content["selection"]}
    warn(content, rows, caught)
    return SelectionReport(content)


def _task_note(target: TargetKind) -> str:
    """Why the target was taken for what it was, and how to say that it is something else."""
    other = {"regression": "a quantity", "classification": "classes"}
    if target.otherwise is None:
        return f"{target.name!r} {target.why}."
    option = f"for {other[target.otherwise]} say --task {target.otherwise}"
    return f"{target.name!r} {target.why}; {option}."


def _given(choices: dict[str, Any]) -> dict[str, Any]:
    """Choices that were made; the seed is among the settings of the selector already."""
    return {
        name: value
        for name, value in choices.items()
        if name != "seed" and value not in (None, (), [])
    }


def _looked_into(search: SearchOptions) -> dict[str, Any]:
    """What was asked about the answer; a proof that is refused was asked for all the same."""
    return {"prove": search.prove} | _given({"stability": search.stability})


def _print(results: ResultOptions, report: SelectionReport, written: list[Path]) -> None:
    from safdr.cli.answer import print_answer

    if results.json:
        sys.stdout.write(to_json(report))
    elif not results.quiet:
        print_answer(report.to_dict(), written)
    sys.stdout.flush()
