"""Cross-validation with the defaults beside Fisher's ratio without a screen: CPU seconds."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits

from benchmarks.rows import keep
from benchmarks.table_parts import Rows, markdown
from benchmarks.timing import timed
from safdr import Annealing, AnnealingSelectorCV

ROUNDS = 5
SEED = 0
FISHER: dict[str, Any] = {
    "annealing": Annealing(screen=None),
    "criterion": "fisher",
    "ridge": 1e-6,
    "rule": "one_sd",
}
CONTESTANTS: dict[str, dict[str, Any]] = {"recipe": {}, "fisher": FISHER}
N_RELEVANT = 12
# Correlation of neighbours in the generated rows.
CORRELATION = 0.5


def generated(n_rows: int, n_features: int) -> tuple[Any, Any]:
    """Return rows of correlated neighbours, twelve of which shift the log-odds of two classes."""
    rng = np.random.default_rng(SEED)
    X = rng.normal(size=(n_rows, n_features))
    for j in range(1, n_features):
        X[:, j] = CORRELATION * X[:, j - 1] + np.sqrt(1 - CORRELATION**2) * X[:, j]
    relevant = rng.choice(n_features, N_RELEVANT, replace=False)
    log_odds = X[:, relevant] @ rng.choice([-1.0, 1.0], N_RELEVANT)
    return X, (log_odds + rng.logistic(size=n_rows) > 0).astype(np.int64)


def digits() -> tuple[Any, Any]:
    """Return scikit-learn's digits, with 1 against the other classes."""
    X, y = load_digits(return_X_y=True)
    return X, (y == 1).astype(np.int64)


# Rows, and the largest size: Fisher's ratio takes half an hour for 30 sizes of 4000 × 1600.
PROBLEMS: dict[str, tuple[Callable[[], tuple[Any, Any]], int]] = {
    "Breast cancer": (lambda: load_breast_cancer(return_X_y=True), 30),
    "Digits, 1": (digits, 30),
    "Generated": (lambda: generated(4000, 1600), 8),
    "Generated, wide": (lambda: generated(100, 5000), 8),
}


def main(options: argparse.Namespace) -> None:
    """Measure each problem: both contestants in turn, several rounds."""
    for title, (load, largest) in PROBLEMS.items():
        largest = min(largest, options.max_features)
        row = _row(title, *load(), options.rounds or ROUNDS, largest)
        keep("recipe", [row], by=("problem",))


def _row(title: str, X: Any, y: Any, rounds: int, max_features: int) -> dict[str, Any]:
    seconds: dict[str, list[float]] = {name: [] for name in CONTESTANTS}
    chosen = {}
    for _ in range(rounds):
        for name, parameters in CONTESTANTS.items():
            search = AnnealingSelectorCV(max_features=max_features, random_state=SEED, **parameters)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fitted, took = timed(lambda search=search: search.fit(X, y))
            seconds[name].append(took.process)
            chosen[name] = fitted.n_features_
    ratios = np.divide(seconds["recipe"], seconds["fisher"])
    return {
        "problem": title,
        "rows": X.shape[0],
        "features": X.shape[1],
        "max_size": max_features,
        **{f"{name}_s": round(median(values), 3) for name, values in seconds.items()},
        "ratio": round(median(ratios), 3),
        "smallest": round(min(ratios), 3),
        "largest": round(max(ratios), 3),
        **{f"{name}_chose": size for name, size in chosen.items()},
        "rounds": rounds,
    }


def table(rows: Rows) -> str:
    """Return the seconds, the ratio and the chosen sizes of each problem."""
    lines = [
        [
            f"{row['problem']} ({row['rows']} × {row['features']}), 1 to {row['max_size']}",
            row["recipe_s"],
            row["fisher_s"],
            f"{row['ratio']} ({row['smallest']} to {row['largest']})",
            row["recipe_chose"],
            row["fisher_chose"],
        ]
        for row in rows
    ]
    head = ["data (rows × features), sizes", "recipe", "Fisher's ratio", "ratio"]
    return (
        "## The recipe\n\nCPU seconds on one core of `AnnealingSelectorCV()` "
        "beside Fisher's ratio without a screen, in turn: "
        '`criterion="fisher", ridge=1e-6, annealing=Annealing(screen=None), rule="one_sd"`. '
        "Medians, and the median of the ratios with their range.\n\n"
        + markdown([*head, "recipe chose", "Fisher chose"], lines)
    )
