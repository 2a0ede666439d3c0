"""Files with the result; all that can be made are made before the first is written."""

from __future__ import annotations

import json
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from safdr._atomic import write_all_atomically
from safdr.cli.options import ResultOptions
from safdr.export.errors import ExportError
from safdr.table.kinds import Classes
from safdr.table.prepare import Prepared

if TYPE_CHECKING:
    from safdr import AnnealingSelectorCV, SelectionReport


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
            made[path] = _export(path, prepared, estimator, table_name)
        except ExportError as error:
            failed[path] = error
    if results.report is not None:
        made[results.report] = report.to_html().encode()
    if results.out is not None:
        made[results.out] = to_json(report).encode()
    write_all_atomically(made)
    return list(made), failed


def _export(
    path: Path, prepared: Prepared, estimator: AnnealingSelectorCV, table_name: str
) -> bytes:
    """The formula in one form, checked on the training rows."""
    from safdr.export.formula import Formula, Term
    from safdr.export.write import export

    model = estimator.estimator_
    features, target = prepared.recipe.features, prepared.target.kind
    coefficients = np.atleast_2d(model.coef_).T.tolist()
    formula = Formula(
        terms=tuple(
            Term(features[j], tuple(own), *limits)
            for j, own, limits in zip(
                estimator.subset_, coefficients, _limits(estimator), strict=True
            )
        ),
        intercepts=tuple(np.atleast_1d(model.intercept_).tolist()),
        target=target.name,
        classes=target.labels if isinstance(target, Classes) else (),
        table=table_name,
    )
    predict = getattr(estimator, "decision_function", None) or estimator.predict
    return export(path, formula, prepared.train.table, predict(prepared.train.X))


def _limits(estimator: Any) -> list[tuple[float, float]]:
    """Between what the values of each chosen feature count."""
    model = estimator.estimator_
    low, high = np.full((2, model.n_features_in_), [[-inf], [inf]])
    if hasattr(model, "data_min_"):
        low, high = model.data_min_, model.data_max_
    if estimator.clip_limits_ is not None:
        # Those of a model that does not extrapolate are at most these.
        least, most = estimator.clip_limits_[:, estimator.subset_]
        low, high = np.maximum(low, least), np.minimum(high, most)
    return [*zip(low.tolist(), high.tolist(), strict=True)]


def to_json(report: SelectionReport) -> str:
    """Give the report as text for machines."""
    return json.dumps(report.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
