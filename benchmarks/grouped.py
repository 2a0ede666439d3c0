"""What groups cost: nine columns on their own, with one pair among them, and as three groups."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

from sklearn.datasets import load_breast_cancer

from benchmarks.rows import keep
from benchmarks.task_problem import SEED, load_task
from benchmarks.timing import take_turns
from safdr import AnnealingSelector, Constraints

ROUNDS = 3
N_COLUMNS = 9


def main(options: argparse.Namespace) -> None:
    """The breast-cancer data by measurement, and the letters by threes of bands."""
    X, y = load_breast_cancer(return_X_y=True)
    # Mean, error and worst of each of ten measurements.
    measurements = [[j, j + 10, j + 20] for j in range(10)]
    fold = load_task("Letters (synthetic), 26 classes")
    bands = [[j, j + 1, j + 2] for j in range(0, 615, 3)]
    work: dict[str, tuple[Any, Any, Any]] = {
        "Breast cancer (569 × 30)": (X, y, measurements),
        f"Letters ({fold.X.shape[0]} × {fold.X.shape[1]})": (fold.X, fold.y, bands),
    }
    rows = [_row(title, *parts, options.rounds or ROUNDS) for title, parts in work.items()]
    keep("groups", rows)


def _row(title: str, X: Any, y: Any, threes: Any, rounds: int) -> dict[str, Any]:
    """Seconds of whole fits, models included. All choose nine columns, or ten with the pair."""
    kinds = {
        "alone": _selector(N_COLUMNS, None, "group"),
        "pair": _selector(N_COLUMNS, [[0, 1]], "group"),
        "threes": _selector(N_COLUMNS // 3, threes, "group"),
        # Units that count differently: no compiled chains.
        "pair_by_column": _selector(N_COLUMNS, [[0, 1]], "column"),
    }
    fits = {kind: partial(selector.fit, X, y) for kind, selector in kinds.items()}
    seconds = take_turns(fits, rounds)
    alone = seconds["alone"].process
    return {
        "problem": title,
        "alone_s": round(alone, 4),
        **{
            kind: f"{seconds[kind].process:.3g} ({seconds[kind].process / alone:.2g})"
            for kind in list(kinds)[1:]
        },
    }


def _selector(size: int, groups: Any, count_by: str) -> AnnealingSelector:
    constraints = Constraints(groups=groups, count_by=count_by)
    return AnnealingSelector.as_published(size, constraints=constraints, random_state=SEED)
