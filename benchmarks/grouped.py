"""What groups cost: the same columns and size, on their own, with one pair, and all in groups."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

from sklearn.datasets import load_breast_cancer

from benchmarks.rows import keep
from benchmarks.task_problem import SEED, load_task
from benchmarks.timing import take_turns
from safdr import AnnealingSelector

ROUNDS = 3


def main(options: argparse.Namespace) -> None:
    """The breast-cancer data by measurement, and the letters by threes of bands."""
    X, y = load_breast_cancer(return_X_y=True)
    # Mean, error and worst of each of ten measurements.
    measurements = [[j, j + 10, j + 20] for j in range(10)]
    fold = load_task("Letters (synthetic), 26 classes")
    threes = [[j, j + 1, j + 2] for j in range(0, 615, 3)]
    work: dict[str, tuple[Any, Any, Any, int]] = {
        "Breast cancer (569 × 30)": (X, y, measurements, 9),
        f"Letters ({fold.X.shape[0]} × {fold.X.shape[1]})": (fold.X, fold.y, threes, 9),
    }
    rows = [_row(title, *parts, options.rounds or ROUNDS) for title, parts in work.items()]
    keep("groups", rows)


def _row(title: str, X: Any, y: Any, groups: Any, size: int, rounds: int) -> dict[str, Any]:
    """Columns are counted, so that all three choose as many of them."""
    kinds = {"alone": None, "one_pair": [[0, 1]], "threes": groups}
    seconds = take_turns(
        {
            kind: partial(_selector(size, some).fit, X, y)  # the fits of the models included
            for kind, some in kinds.items()
        },
        rounds,
    )
    return {
        "problem": title,
        "columns": size,
        **{f"{kind}_s": round(seconds[kind].process, 4) for kind in kinds},
        **{
            f"{kind}_ratio": round(seconds[kind].process / seconds["alone"].process, 2)
            for kind in list(kinds)[1:]
        },
    }


def _selector(size: int, groups: Any) -> AnnealingSelector:
    return AnnealingSelector(size, groups=groups, count_by="column", random_state=SEED)
