"""Files with the result; all that can be made are made before the first is written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from safdr._atomic import write_all_atomically
from safdr.cli.options import ResultOptions
from safdr.cli.pointing import asks_for_points, scale_of
from safdr._old_export.errors import ExportError
from safdr._old_table.kinds import Classes
from safdr._old_table.prepare import Prepared

if TYPE_CHECKING:
    from safdr import AnnealingSelectorCV, SelectionReport
    from safdr._old_export.formula import Formula


def write_results(
    results: ResultOptions,
    report: SelectionReport,
    prepared: Prepared,
    estimator: AnnealingSelectorCV,
    table_name: str,
) -> tuple[list[Path], dict[Path, ExportError]]:
    """Write what was asked for; an export that can't be made takes nothing else with it."""
    made: dict[Path, bytes] = {}
    failed: dict[Path, ExportError] = {}
    for path in results.export or []:
        try:
            formula = _formula(results, prepared, estimator, table_name)
            made[path] = _export(path, formula, prepared, estimator)
        except ExportError as error:
            failed[path] = error
    if results.report is not None:
        made[results.report] = report.to_html().encode()
    if results.out is not None:
        made[results.out] = to_json(report).encode()
    write_all_atomically(made)
    return list(made), failed


def _export(
    path: Path,
    formula: Formula,
    prepared: Prepared,
    estimator: AnnealingSelectorCV,
) -> bytes:
    """The formula in one form, checked on the training rows."""
    from safdr._old_export.write import export

    predict = getattr(estimator, "decision_function", None) or estimator.predict
    sums = predict(prepared.train.X)
    return export(path, formula, prepared.train.table, sums, prepared.recipe.codings)


def _formula(
    results: ResultOptions, prepared: Prepared, estimator: AnnealingSelectorCV, table_name: str
) -> Formula:
    """The model as a formula, with points where they are asked for."""
    from safdr._old_export.formula import Formula, Term, target_range, value_limits

    model = estimator.estimator_
    features, target = prepared.recipe.features, prepared.target.kind
    coefficients = np.atleast_2d(model.coef_).T.tolist()
    low, high = target_range(estimator)
    formula = Formula(
        terms=tuple(
            Term(features[j], tuple(own), *limits)
            for j, own, limits in zip(
                estimator.subset_, coefficients, value_limits(estimator), strict=True
            )
        ),
        intercepts=tuple(np.atleast_1d(model.intercept_).tolist()),
        target=target.name,
        classes=target.labels if isinstance(target, Classes) else (),
        table=table_name,
        low=low,
        high=high,
    )
    if not asks_for_points(results):
        return formula
    return formula.with_points(scale_of(results), prepared.train.table)


def to_json(report: SelectionReport) -> str:
    """Give the report as text for machines."""
    return json.dumps(report.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
