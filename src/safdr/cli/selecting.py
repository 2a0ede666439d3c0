"""What ``safdr select`` does: read, prepare, search, write, print."""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safdr.atomic import write_atomically
from safdr.cli.errors import UsageError
from safdr.cli.options import AnnealingOptions, ResultOptions, SearchOptions, TableOptions
from safdr.cli.progress import SearchProgress
from safdr.export.errors import ExportError
from safdr.table.prepare import Choices, Prepared, prepare

if TYPE_CHECKING:
    import pyarrow as pa

    from safdr import AnnealingSelectorCV, SelectionReport

BUILT_IN = "breast cancer (built in)"
SEPARATED = (
    "The chosen features separate the classes, completely or in part: the coefficients have no "
    "finite optimum, and are where the fit stopped. Choose fewer features, or leave out a column "
    "that gives the answer away."
)


def run(
    file: str | None,
    table: TableOptions,
    search: SearchOptions,
    results: ResultOptions,
    annealing: AnnealingOptions,
) -> None:
    """Answer the question, in the ways that were asked for.

    Parameters
    ----------
    file : str or None
        The table; None is the built-in one.
    table, search, results, annealing
        The options.
    """
    _check(table, search, results)
    started = time.perf_counter()
    arrow, choices = _open(file, table, search.seed)
    prepared = prepare(arrow, choices)
    estimator = _estimator(search, annealing, n_features=len(prepared.recipe.features))
    with SearchProgress(shown=not results.quiet) as progress:
        notes = _fit(progress.follow(estimator), prepared)
    seconds = time.perf_counter() - started
    report = _report(file, estimator, prepared, choices, notes, seconds, fixed=search.k is not None)
    written = _write(results, report, prepared, estimator, Path(file or "breast_cancer").stem)
    _print(results, report, written)


def _check(table: TableOptions, search: SearchOptions, results: ResultOptions) -> None:
    """Refuse what can't work before anything is computed."""
    if not 0 <= table.test_size < 1:
        raise UsageError(f"--test-size must be at least 0 and below 1; got {table.test_size:g}.")
    for name, value in (("-k", search.k), ("--k-max", search.k_max)):
        if value is not None and value < 1:
            raise UsageError(f"{name} must be at least 1; got {value}.")
    if search.jobs == 0:
        raise UsageError("--jobs must be at least 1, or -1 for all cores; got 0.")
    if not 0 <= search.seed < 2**32:
        raise UsageError(f"--seed must be from 0 to {2**32 - 1}; got {search.seed}.")
    _check_files(results)


def _check_files(results: ResultOptions) -> None:
    """Refuse files that can't be written."""
    exports = results.export or []
    paths = [path for path in (results.report, results.out, *exports) if path is not None]
    for path in paths:
        if path.is_dir() or not path.absolute().parent.is_dir():
            what = "is a folder" if path.is_dir() else "is in a folder that does not exist"
            raise UsageError(f"{str(path)!r} {what}; name a file in a folder that exists.")
        if path.exists() and not results.force:
            raise UsageError(
                f"{str(path)!r} is already there. Replace it with --force, or name another file."
            )
        if paths.count(path) > 1:
            raise UsageError(f"{str(path)!r} is named twice; each result needs its own file.")
    if exports:
        _check_exports(exports)
    if results.report is not None:
        _check_report()


def _check_exports(paths: list[Path]) -> None:
    from safdr.export.write import check_ending

    for path in paths:
        try:
            check_ending(path)
        except ExportError as error:
            raise UsageError(f"--export {error}") from None


def _check_report() -> None:
    from importlib.util import find_spec

    if find_spec("jinja2") is None:
        raise UsageError("--report needs jinja2. Install it with: pip install 'safdr[report]'")


def _open(file: str | None, options: TableOptions, seed: int) -> tuple[pa.Table, Choices]:
    """The table, and what to do with it."""
    from safdr.cli.builtin import TARGET, breast_cancer
    from safdr.table.reading import read_table

    if file is None:
        table = breast_cancer()
    else:
        table = read_table(file)
    target = options.target or (TARGET if file is None else None)
    if target is None:
        raise UsageError(_which_target(table))
    choices = Choices(
        target=target,
        positive=options.positive,
        drop=options.drop or (),
        identifiers=options.id or (),
        keep=options.keep or (),
        missing=options.missing,
        test_size=options.test_size,
        seed=seed,
    )
    return table, choices


def _which_target(table: pa.Table) -> str:
    """Ask for the target, and name the columns that could be one."""
    import pyarrow.compute as pc

    from safdr.table.errors import named

    two = [name for name, column in zip(table.column_names, table.columns, strict=True)
           if pc.count_distinct(column).as_py() == 2]
    if two:
        return f"Say which column to predict: --target NAME. Two values have {named(two)}."
    return (
        "Say which column to predict: --target NAME. No column has two values; the columns are "
        f"{named(table.column_names)}."
    )


def _estimator(
    search: SearchOptions, annealing: AnnealingOptions, n_features: int
) -> AnnealingSelectorCV:
    """The selector; a given number of features is validated in the same way."""
    from safdr import AnnealingSelectorCV

    if search.k is not None and search.k > n_features:
        raise UsageError(f"-k must be at most {n_features}, the number of features; got {search.k}.")
    return AnnealingSelectorCV(
        min_features=search.k or 1,
        max_features=search.k or min(search.k_max, n_features),
        rule=search.rule,
        n_jobs=search.jobs,
        random_state=search.seed,
        **annealing.given(),
    )


def _fit(estimator: AnnealingSelectorCV, prepared: Prepared) -> list[str]:
    """Search, and return what was warned about."""
    from safdr import SeparationWarning

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit(prepared.train.X, prepared.train.y)
    texts = [
        SEPARATED if issubclass(each.category, SeparationWarning) else str(each.message)
        for each in caught
    ]
    return list(dict.fromkeys(texts))


def _report(
    file: str | None,
    estimator: AnnealingSelectorCV,
    prepared: Prepared,
    choices: Choices,
    notes: list[str],
    seconds: float,
    *,
    fixed: bool,
) -> SelectionReport:
    """All numbers, with the names of the table."""
    from dataclasses import asdict

    from safdr import SelectionReport

    content = SelectionReport.from_estimator(
        estimator,
        prepared.train.X,
        prepared.train.y,
        feature_names=[feature.name for feature in prepared.recipe.features],
        X_test=None if prepared.test is None else prepared.test.X,
        y_test=None if prepared.test is None else prepared.test.y,
        title=f"Which features predict {prepared.target.name}?",
        notes=[*prepared.notes, *notes],
        coding=[coding.to_dict() for coding in prepared.recipe.codings],
        left_out=[asdict(each) for each in prepared.left_out],
        seconds=seconds,
    ).to_dict()
    # The selector knows 0 and 1; the table has names for them.
    labels = [prepared.target.negative, prepared.target.positive]
    counts = content["target"]["counts"].values()
    content["target"] = {
        "name": prepared.target.name,
        "classes": labels,
        "counts": dict(zip(labels, counts, strict=True)),
    }
    content["settings"].update({"file": file or BUILT_IN, **_plain(asdict(choices))})
    if fixed:
        # There was nothing to choose.
        content["size"].update({"rule": None, "by_rule": None, "largest": None})
        content["path"], content["selection"] = [], {key: [] for key in content["selection"]}
    return SelectionReport(content)


def _plain(choices: dict[str, Any]) -> dict[str, Any]:
    return {
        name: list(value) if isinstance(value, list | tuple) else value
        for name, value in choices.items()
        if name != "seed"
    }


def _write(
    results: ResultOptions,
    report: SelectionReport,
    prepared: Prepared,
    estimator: AnnealingSelectorCV,
    table_name: str,
) -> list[Path]:
    """Make every file first and write then, so that a failure leaves none."""
    made: dict[Path, bytes] = {}
    for path in results.export or []:
        made[path] = _export(path, prepared, estimator, table_name)
    if results.report is not None:
        made[results.report] = report.to_html().encode()
    if results.out is not None:
        made[results.out] = _json(report).encode()
    for path, content in made.items():
        write_atomically(path, content)
    return list(made)


def _export(
    path: Path, prepared: Prepared, estimator: AnnealingSelectorCV, table_name: str
) -> bytes:
    """The formula in one form, checked on the training rows."""
    from safdr.export.formula import Formula, Term
    from safdr.export.write import export

    model = estimator.estimator_
    features = prepared.recipe.features
    formula = Formula(
        terms=tuple(
            Term(features[j], float(coefficient))
            for j, coefficient in zip(estimator.subset_, model.coef_[0], strict=True)
        ),
        intercept=float(model.intercept_[0]),
        target=prepared.target.name,
        negative=prepared.target.negative,
        positive=prepared.target.positive,
        table=table_name,
    )
    return export(
        path, formula, prepared.train.table, estimator.decision_function(prepared.train.X)
    )


def _json(report: SelectionReport) -> str:
    return json.dumps(report.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _print(results: ResultOptions, report: SelectionReport, written: list[Path]) -> None:
    from safdr.cli.answer import print_answer

    if results.json:
        sys.stdout.write(_json(report))
    elif not results.quiet:
        print_answer(report.to_dict(), written)
    sys.stdout.flush()
