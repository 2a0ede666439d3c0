"""What criterion="mixed" and "auto" cost: seconds of cross-validation beside Fisher's ratio."""

from __future__ import annotations

import argparse
import warnings
from typing import Any

from benchmarks.problem import EIGHT, title_of
from benchmarks.rows import keep
from benchmarks.table_parts import Rows, markdown
from benchmarks.timing import timed
from experiments.datasets import load
from safdr import AnnealingSelectorCV

CRITERIA = ("fisher", "mixed", "auto")
# Repeats, one criterion after the other in each; the fastest counts.
REPEATS = 3


def main(options: argparse.Namespace) -> None:
    """One row for each data set, all rows of it."""
    for data in options.data or EIGHT:
        problem = load(data, options.data_dir)
        seconds: dict[str, list[float]] = {name: [] for name in CRITERIA}
        style: dict[str, Any] = {}
        for _ in range(REPEATS):
            for name in CRITERIA:
                search = AnnealingSelectorCV(
                    criterion=name,
                    ridge="auto",
                    C=1.0,
                    max_features=min(options.max_features, problem.X.shape[1]),
                    random_state=0,
                )
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    fitted, took = timed(lambda s=search, p=problem: s.fit(p.X, p.y))
                seconds[name].append(took.process)
                style = fitted.style_
        row = {
            "data": data,
            "rows": len(problem.y),
            "features": problem.X.shape[1],
            **{f"{name}_s": round(min(seconds[name]), 3) for name in CRITERIA},
            "chosen": f"{style['criterion']}, ridge {style['ridge']}",
        }
        keep("styles", [row], by=("data",))


def table(rows: Rows) -> str:
    """Seconds of each data set, and multiples of those of Fisher's ratio."""
    lines = [
        [
            f"{title_of(row['data'])} ({row['rows']} × {row['features']})",
            row["fisher_s"],
            *(
                f"{row[f'{name}_s']} ({float(row[f'{name}_s']) / float(row['fisher_s']):.2f})"
                for name in CRITERIA[1:]
            ),
            row["chosen"],
        ]
        for row in rows
    ]
    head = ["data (rows × features)", *(f"`{name}`" for name in CRITERIA), "auto chose"]
    return (
        "## A criterion that held-out rows choose\n\nProcessor seconds on one core of "
        '`AnnealingSelectorCV(ridge="auto", C=1, criterion=…)`, in brackets as a multiple of '
        "Fisher's ratio; the fastest of three, in turn.\n\n" + markdown(head, lines)
    )
