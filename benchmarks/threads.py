"""One thread against two, on the wall: a path, and the choice of the size by cross-validation."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks.problem import AS_PUBLISHED, Fold, load_fold
from benchmarks.rows import keep
from benchmarks.timing import take_turns
from safdr import AnnealingSelectorCV, anneal_path

ROUNDS = 3
LARGER = ("spambase", "bankruptcy", "madelon", "card_default")


def main(options: argparse.Namespace) -> None:
    """One row for each data set and call."""
    for data in options.data or LARGER:
        fold = load_fold(data, options.data_dir, options.max_features)
        rows = [_row(fold, name, work, options.rounds or ROUNDS) for name, work in CALLS.items()]
        keep("threads", rows, by=("data", "call"))


def _path(fold: Fold, n_jobs: int) -> None:
    how = {"n_jobs": n_jobs, "random_state": fold.seed, **AS_PUBLISHED}
    anneal_path(fold.X, fold.y, fold.sizes, **how)


def _choice(fold: Fold, n_jobs: int) -> None:
    how = {"max_features": fold.sizes[-1], "n_jobs": n_jobs, "random_state": fold.seed}
    AnnealingSelectorCV.as_published(**how).fit(fold.X, fold.y)


CALLS: dict[str, Callable[[Fold, int], None]] = {
    "anneal_path": _path,
    "AnnealingSelectorCV": _choice,
}


def _row(fold: Fold, name: str, work: Callable[[Fold, int], None], rounds: int) -> dict[str, Any]:
    def on(n_threads: int) -> None:
        # The matrix products may use as many threads as the rest.
        with threadpool_limits(limits=n_threads):
            work(fold, n_threads)

    seconds = take_turns({"one": partial(on, 1), "two": partial(on, 2)}, rounds)
    return {
        "data": fold.data,
        "call": name,
        "one_wall_s": round(seconds["one"].wall, 4),
        "two_wall_s": round(seconds["two"].wall, 4),
        "ratio": round(seconds["two"].wall / seconds["one"].wall, 3),
        "rounds": rounds,
    }
