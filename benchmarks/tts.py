"""Time to reach the best known criterion value with a probability of 99 %, from many seeds."""

from __future__ import annotations

import argparse
from dataclasses import replace
from math import inf, log
from statistics import median
from typing import Any

from benchmarks.peers import PEERS
from benchmarks.problem import EIGHT, Fold, best_value, load_fold
from benchmarks.quality import rival_subsets
from benchmarks.rows import keep
from benchmarks.table_parts import compare

SIZES = (5, 10, 20)
SEEDS = 30


def main(options: argparse.Namespace) -> None:
    """One row for each data set and size."""
    for data in options.data or EIGHT:
        fold = load_fold(data, options.data_dir, options.max_features)
        rivals = rival_subsets(fold)
        sizes = [s for s in options.sizes or SIZES if s <= fold.sizes[-1]]
        rows = [_row(fold, size, rivals, options.seeds or SEEDS) for size in sizes]
        keep("tts", rows, by=("data", "size"))


def time_to_solution(share: float, seconds: float, probability: float = 0.99) -> float:
    """Seconds until a run has hit with the given probability, if runs follow each other.

    Parameters
    ----------
    share : float
        Share of the runs that hit.
    seconds : float
        Of one run.
    probability : float, default=0.99
        What is asked for.

    Returns
    -------
    float
        Never less than one run; infinite if none hits.
    """
    if share <= 0.0:
        return inf
    if share >= probability:
        return seconds
    return seconds * log(1.0 - probability) / log(1.0 - share)


def _row(fold: Fold, size: int, rivals: dict[str, Any], n_seeds: int) -> dict[str, Any]:
    values, seconds = [], []
    for seed in range(n_seeds):
        run = PEERS["sa-fdr"](replace(fold, sizes=[size], seed=seed))
        values.append(best_value(fold, run.candidates[0]))
        # Moments and batches are made once for all sizes.
        seconds.append(run.seconds.process - run.parts["moments"])
    of_rivals = [fold.criterion.value(s[size]) for s in rivals.values() if size in s]
    best = max(values + of_rivals)
    share = sum(compare(value, best) >= 0 for value in values) / n_seeds
    return {
        "data": fold.data,
        "size": size,
        "seeds": n_seeds,
        "best_known": f"{best:.12g}",
        "hit_share": round(share, 4),
        "run_s": round(median(seconds), 5),
        "tts99_s": round(time_to_solution(share, median(seconds)), 5),
    }
