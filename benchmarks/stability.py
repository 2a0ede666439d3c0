"""Half-samples, seeds and substitutes at the chosen size: seconds beside what choosing it took."""

from __future__ import annotations

import argparse
import warnings
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from benchmarks.problem import EIGHT, KAGGLE, title_of
from benchmarks.rows import keep
from benchmarks.table_parts import Rows, markdown
from benchmarks.timing import timed
from experiments.datasets import load
from safdr import AnnealingSelectorCV, stability

N_RESAMPLES = 50


def main(options: argparse.Namespace) -> None:
    """One row for each data set, all rows of it."""
    for data in options.data or [*EIGHT, KAGGLE]:
        problem = load(data, options.data_dir)
        search = AnnealingSelectorCV.as_published(max_features=options.max_features, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", UserWarning)  # fewer features than the largest size
            fitted, fitting = timed(lambda search=search, p=problem: search.fit(p.X, p.y))
        keep("stability", [_row(data, fitted, problem, fitting.process)], by=("data",))


def table(rows: Rows) -> str:
    """Seconds and indices of each data set."""
    lines = [
        [
            f"{title_of(row['data'])} ({row['rows']} × {row['features']})",
            row["size"],
            row["fit_s"],
            f"{row['halves_s']} ({float(row['halves_s']) / float(row['fit_s']):.2g})",
            f"{row['seeds_s']} ({float(row['seeds_s']) / float(row['fit_s']):.2g})",
            f"{row['substitutes_s']} ({float(row['substitutes_s']) / float(row['fit_s']):.2g})",
            f"{row['halves_index']} ({row['halves_low']} to {row['halves_high']})",
            row["seeds_index"],
            row["stand_ins"],
        ]
        for row in rows
    ]
    head = ["data (rows × features)", "size", "choosing it", f"{N_RESAMPLES} half-samples"]
    head += [f"{N_RESAMPLES} seeds", "substitutes", "index of halves", "of seeds"]
    head.append("pairs that stand in")
    return (
        "## Stability and substitutes\n\nProcessor seconds on one core, in brackets as a multiple "
        "of what choosing the size by cross-validation took. Substitutes: three for each feature "
        "chosen, and it left out, with held-out scores.\n\n" + markdown(head, lines)
    )


def _row(data: str, fitted: Any, problem: Any, fit_seconds: float) -> dict[str, Any]:
    found, seconds = {}, {}
    for resample in ("halves", "seeds"):
        found[resample], seconds[resample] = timed(
            lambda how=resample: stability(
                fitted,
                problem.X,
                problem.y,
                resample=how,
                n_resamples=N_RESAMPLES,
                random_state=0,
            )
        )
    _, substituting = timed(lambda: fitted.substitutes(problem.X, problem.y, backend="dict"))
    low, high = found["halves"].index_interval
    return {
        "data": data,
        "rows": len(problem.y),
        "features": problem.X.shape[1],
        "size": fitted.n_features_,
        "fit_s": round(fit_seconds, 3),
        "halves_s": round(seconds["halves"].process, 3),
        "seeds_s": round(seconds["seeds"].process, 3),
        "substitutes_s": round(substituting.process, 3),
        "halves_index": f"{found['halves'].index:.2f}",
        "halves_low": f"{low:.2f}",
        "halves_high": f"{high:.2f}",
        "seeds_index": f"{found['seeds'].index:.2f}",
        "always": int((found["halves"].counts == N_RESAMPLES).sum()),
        "stand_ins": len(found["halves"].stand_ins),
    }
