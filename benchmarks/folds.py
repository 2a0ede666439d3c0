"""One fold of the paper's protocol on each data set: seconds, memory, and what was found."""

from __future__ import annotations

import argparse
import warnings
from statistics import median
from typing import Any

from scipy.linalg import LinAlgWarning
from sklearn.exceptions import ConvergenceWarning

from benchmarks.memory import peak_megabytes
from benchmarks.peers import PEERS
from benchmarks.peers.run import Run
from benchmarks.problem import EIGHT, Fold, best_value, load_fold
from benchmarks.rows import keep
from benchmarks.timing import median_seconds

ROUNDS = 5
# A run that takes this long (in processor seconds) is long enough to need no second one.
LONG_ENOUGH = 60.0


def main(options: argparse.Namespace) -> None:
    """Each data set: all contestants in turn, several rounds, medians."""
    names = options.contestants or list(PEERS)
    for data in options.data or EIGHT:
        fold = load_fold(data, options.data_dir, options.max_features)
        with warnings.catch_warnings():
            # RFE and the Lasso stop at scikit-learn's default number of steps, as in the protocol.
            warnings.simplefilter("ignore", ConvergenceWarning)
            # The reference fits random subsets, which may be collinear.
            warnings.simplefilter("ignore", LinAlgWarning)
            runs = _take_turns(fold, names, options.rounds or ROUNDS)
        keep("folds", [_row(fold, name, runs[name]) for name in names], by=("data", "contestant"))
        found = [row for name in names for row in _found(fold, name, runs[name][0])]
        if found:
            keep("found", found, by=("data", "contestant"), quiet=True)


def _take_turns(fold: Fold, names: list[str], rounds: int) -> dict[str, list[Run]]:
    small = Fold(fold.data, fold.X[:1000], fold.y[:1000], fold.sizes[:2], fold.seed)
    for name in names:
        PEERS[name](small)
    runs: dict[str, list[Run]] = {name: [] for name in names}
    for _ in range(rounds):
        for name in names:
            if not any(_is_long(run) for run in runs[name]):
                runs[name].append(PEERS[name](fold))
                print(f"{fold.data}  {name}  {runs[name][-1].seconds.process:.3g} s", flush=True)
    return runs


def _is_long(run: Run) -> bool:
    return run.seconds.process > LONG_ENOUGH and not run.extrapolated


def _row(fold: Fold, name: str, runs: list[Run]) -> dict[str, Any]:
    seconds = median_seconds([run.seconds for run in runs])
    parts = {
        f"{part}_s": round(median(run.parts[part] for run in runs), 4) if runs[0].parts else ""
        for part in ("moments", "annealing", "fits", "rest")
    }
    return {
        "data": fold.data,
        "rows": fold.X.shape[0],
        "features": fold.X.shape[1],
        "max_size": fold.sizes[-1],
        "contestant": name,
        "process_s": round(seconds.process, 4),
        "wall_s": round(seconds.wall, 4),
        "peak_mb": peak_megabytes(fold, name),
        "rounds": len(runs),
        "extrapolated": int(runs[0].extrapolated),
        **parts,
    }


def _found(fold: Fold, name: str, run: Run) -> list[dict[str, Any]]:
    """The best criterion value of the candidates at each size, and the winner's cross-entropy."""
    # Several penalties of the Lasso may give the same subset, or none.
    distinct = {
        tuple(model.subset): (model, candidates)
        for model, candidates in zip(run.models, run.candidates, strict=True)
        if len(model.subset) > 0
    }
    return [
        {
            "data": fold.data,
            "contestant": name,
            "size": len(model.subset),
            "criterion_value": f"{best_value(fold, candidates):.12g}",
            "cross_entropy": f"{model.cross_entropy:.9g}",
        }
        for model, candidates in distinct.values()
    ]
