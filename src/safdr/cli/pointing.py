"""Points of a scorecard, as the command line asks for them and speaks of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from safdr.cli.errors import OPTION_OF, UsageError
from safdr.cli.options import ResultOptions
from safdr.errors import ParameterError
from safdr._old_table.kinds import Classes

if TYPE_CHECKING:
    from safdr import AnnealingSelectorCV
    from safdr._old_export.points import Scale
    from safdr._old_table.kinds import TargetKind
    from safdr._old_table.prepare import Prepared


def asks_for_points(results: ResultOptions) -> bool:
    """Whether exports have points; a scorecard is nothing but these."""
    return results.points or any(path.suffix.lower() == ".csv" for path in results.export or [])


def scale_of(results: ResultOptions) -> Scale:
    """How log-odds become points."""
    from safdr._old_export.points import Scale

    return Scale(whole=results.whole_points, **_given(results))


def _given(results: ResultOptions) -> dict[str, Any]:
    names = ("pdo", "base_points", "base_odds")
    return {name: value for name in names if (value := getattr(results, name)) is not None}


def check_points(results: ResultOptions) -> None:
    """Refuse points that nothing shows, and those of a scale that is none."""
    asked = [OPTION_OF[name] for name in _given(results)]
    asked += ["--whole-points"] if results.whole_points else []
    if not asks_for_points(results):
        if asked:
            raise UsageError(
                f"{asked[0]} is about the points of a scorecard, and none is asked for: --export "
                "card.csv writes one, and --points adds them to .py and .sql."
            )
        return
    endings = {path.suffix.lower() for path in results.export or []}
    if not endings - {".onnx"}:
        raise UsageError("--points needs a file to be written to: --export with .csv, .py or .sql.")
    if ".onnx" in endings:
        raise UsageError(
            "Points can be written as .csv, .py or .sql, and not as .onnx. Leave --points (and "
            "card.csv) out, or write the .onnx file in another run."
        )
    try:
        scale_of(results)
    except ParameterError as error:
        raise UsageError(error.in_words(OPTION_OF)) from None


def check_target_of_points(results: ResultOptions, target: TargetKind) -> None:
    """Refuse points of what has no odds, before the search."""
    if asks_for_points(results) and not (isinstance(target, Classes) and len(target.labels) == 2):
        labels = target.labels if isinstance(target, Classes) else ()
        kind = f"has {len(labels)} classes" if labels else "is a quantity"
        raise UsageError(
            f"Points (--points, or a .csv file) stand for the odds of two classes, and "
            f"{target.name!r} {kind}. Leave them out."
        )


def about_points(
    results: ResultOptions, prepared: Prepared, estimator: AnnealingSelectorCV
) -> list[str]:
    """What points mean, and what rounding them costs."""
    from safdr._old_export.formula import value_limits
    from safdr._old_export.points import Points, typical_values

    target = prepared.target.kind
    if not asks_for_points(results) or not isinstance(target, Classes):
        return []
    model, scale = estimator.estimator_, scale_of(results)
    low, high = np.array(value_limits(estimator)).T
    values = np.clip(prepared.train.X[:, estimator.subset_], low, high)
    own = model.coef_[0].tolist(), typical_values(values).tolist()
    points = Points.of_model(scale, float(model.intercept_[0]), *own)
    exact = scale.of_log_odds(values @ model.coef_[0] + model.intercept_[0])
    text = f"Points: {scale.in_words(*map(repr, target.labels))}"
    if scale.whole:
        most, mean = points.rounding(values, exact)
        text += (
            f" That moves rows by {mean:.2g} points on average and {most:.2g} at most, where "
            f"{abs(scale.pdo):g} double the odds."
        )
    return [text]
