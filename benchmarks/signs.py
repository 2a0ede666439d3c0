"""Signs of coefficients: what a filter on candidates finds, what the search finds, its time."""

from __future__ import annotations

import argparse
import warnings
from contextlib import suppress
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks.problem import title_of
from benchmarks.rows import keep
from benchmarks.table_parts import Rows, markdown
from benchmarks.timing import take_turns
from experiments.datasets import load
from safdr import AnnealingSelector, Constraints, ParameterError, evaluate_subsets

# Where features are much alike, where rows are many, and where most signs come out right anyway.
SIZES = {"heart": (5, 8, 12, 20), "card_default": (5, 8, 12, 17), "spambase": (10, 20, 40)}
SEEDS = range(3)


def main(options: argparse.Namespace) -> None:
    """A row for each data set and size, with the sign of each feature alone asked of it."""
    for data in options.data or SIZES:
        problem = load(data, options.data_dir)
        means = [problem.X[problem.y == label].mean(axis=0) for label in np.unique(problem.y)]
        signs = np.sign(means[1] - means[0])
        for size in SIZES.get(data, (5, 10)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                keep("signs", [_row(data, problem, size, signs)], by=("data", "size"))


def table(rows: Rows) -> str:
    """Losses and processor time of each data set and size."""
    lines = [
        [
            f"{title_of(row['data'])}, {row['size']}",
            row["right"],
            row["filtered"] or "–",
            row["signed"] or "none found",
            row["free"],
            row["ratio"],
        ]
        for row in rows
    ]
    head = ["data, size", "candidates that have them", "best of these", "with signs", "without"]
    return (
        "## Signs of coefficients\n\nEach feature must have the sign that it has alone. Shares of "
        "the candidates of an ordinary search, the least cross-entropy of those that have the "
        "signs, and what a search for them finds (medians over three seeds); processor time as a "
        "multiple of that of an ordinary search, in turn.\n\n" + markdown([*head, "time"], lines)
    )


def _row(data: str, problem: Any, size: int, signs: Any) -> dict[str, Any]:
    rights, filtered, signed, free = [], [], [], []
    limits = Constraints(signs=signs)
    for seed in SEEDS:
        plain = AnnealingSelector(size, random_state=seed).fit(problem.X, problem.y)
        subsets = np.unique(plain.result_.subsets, axis=0)
        found = evaluate_subsets(problem.X, problem.y, subsets)
        right = np.all(found.fits.coefficients * signs[subsets] >= 0, axis=1)
        rights.append(right.mean())
        free.append(plain.loss_)
        filtered += [found.losses[right].min()] if right.any() else []
        try:
            limited = AnnealingSelector(size, constraints=limits, random_state=seed)
            signed.append(limited.fit(problem.X, problem.y).loss_)
        except ParameterError:
            pass
    seconds = take_turns(
        {
            "free": lambda: AnnealingSelector(size, random_state=0).fit(problem.X, problem.y),
            "signed": lambda: _tried(problem, size, limits),
        },
        rounds=5,
    )
    return {
        "data": data,
        "size": size,
        "right": f"{100 * np.median(rights):.0f} %",
        "filtered": f"{np.median(filtered):.5f}" if filtered else "",
        "signed": f"{np.median(signed):.5f}" if signed else "",
        "free": f"{np.median(free):.5f}",
        "ratio": f"{seconds['signed'].process / seconds['free'].process:.2g}",
    }


def _tried(problem: Any, size: int, limits: Constraints) -> None:
    """A search for the signs, whether or not there is such a subset."""
    with suppress(ParameterError):
        AnnealingSelector(size, constraints=limits, random_state=0).fit(problem.X, problem.y)
