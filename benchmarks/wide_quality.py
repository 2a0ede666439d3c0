"""Many features: criterion values of the search in a working set, beside those of others.

Of all columns at once, where their products with each other can be made (100 problems of all kinds,
and 20 of 2000 × 5000); of forward selection, abess and the columns that tell most alone.
"""

from __future__ import annotations

import argparse
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_selection import f_classif

from benchmarks.rows import keep
from benchmarks.table_parts import Rows, compare, markdown
from benchmarks.wide_problem import omics
from safdr import anneal_path, evaluate_subsets

SHAPES = ((60, 2100), (100, 2500), (150, 3000), (300, 2200))
SIZES = (2, 3, 5, 8, 10)
TASKS = ("two classes", "three classes", "regression")
N_MIXED, N_BLOCKS, N_OTHERS = 100, 20, 20

FULL = "search of all columns"


def main(options: argparse.Namespace) -> None:
    """A row for each problem and rival."""
    for seed in range(options.seeds or N_MIXED):
        _keep("mixed", seed, beside_full(*mixed(seed)))
    for seed in range(options.seeds or N_OTHERS):
        _keep("wide", seed, beside_others(seed))
    for seed in range(options.seeds or N_BLOCKS):
        X, y, _ = omics(2000, 5000, seed, strength=0.3)
        _keep("2000 × 5000 in blocks", seed, beside_full("two classes", X, y, 10))


def _keep(kind: str, seed: int, rows: list[dict[str, Any]]) -> None:
    named = [{"kind": kind, "seed": seed, **row} for row in rows]
    keep("wide_quality", named, by=("kind", "seed", "rival"))


def mixed(seed: int) -> tuple[str, NDArray[Any], NDArray[Any], int]:
    """Task, rows, target and size: signals from faint to plain, all tasks, shapes and sizes."""
    rng = np.random.default_rng([seed, 1])
    n_rows, n_columns = SHAPES[seed % len(SHAPES)]
    X, y, planted = omics(n_rows, n_columns, seed, strength=rng.uniform(0.2, 1.2))
    task = TASKS[seed % len(TASKS)]
    if task == "three classes":
        y = rng.permutation(np.arange(n_rows) % 3)
        X[:, planted] += 0.7 * rng.normal(size=(3, len(planted)))[y]
    if task == "regression":
        slopes = rng.normal(size=len(planted))
        y = X[:, planted] @ slopes + rng.uniform(0, 4) * rng.normal(size=n_rows)
    return task, X, y, SIZES[seed % len(SIZES)]


def beside_full(task: str, X: NDArray[Any], y: NDArray[Any], size: int) -> list[dict[str, Any]]:
    """The best value of both searches."""
    kind = "regression" if task == "regression" else "classification"
    how: dict[str, Any] = {"task": kind, "random_state": 0}
    found = anneal_path(X, y, [size], **how)[0]
    with patch("safdr._engine.wide.WIDE", X.shape[1]):
        every = anneal_path(X, y, [size], **how)[0]
    rivals = {FULL: float(every.criterion_values.max())}
    return _rows(task, X, size, float(found.criterion_values.max()), rivals)


def beside_others(seed: int) -> list[dict[str, Any]]:
    """Two classes, 10 000 columns: values of what others choose, all measured alike."""
    rng = np.random.default_rng([seed, 2])
    X, y, _ = omics(int(rng.choice([80, 150, 300])), 10_000, seed, strength=rng.uniform(0.2, 1.2))
    size = SIZES[seed % len(SIZES)]
    subsets = {
        "forward selection": forward(X, y, size),
        "abess": spliced(X, y, size),
        "best alone": np.argsort(-f_classif(X, y)[0], kind="stable")[:size],
    }
    result = anneal_path(X, y, [size], random_state=0)[0]
    theirs = evaluate_subsets(X, y, list(subsets.values())).criterion_values
    rivals = dict(zip(subsets, theirs.tolist(), strict=True))
    return _rows("two classes", X, size, float(result.criterion_values.max()), rivals)


def forward(X: NDArray[Any], y: NDArray[Any], size: int) -> NDArray[np.int64]:
    """Greedy on least squares, which for two classes of equal size is Fisher's ratio."""
    left, wanted = X - X.mean(axis=0), y - y.mean()
    chosen: list[int] = []
    for _ in range(size):
        squares = np.einsum("ij,ij->j", left, left)
        squares[chosen] = np.inf
        column = int(np.argmax((left.T @ wanted) ** 2 / squares))
        chosen.append(column)
        unit = left[:, column] / np.linalg.norm(left[:, column])
        left = left - np.outer(unit, unit @ left)
        wanted = wanted - unit * (unit @ wanted)
    return np.array(chosen)


def spliced(X: NDArray[Any], y: NDArray[Any], size: int) -> NDArray[np.int64]:
    """By abess, over all sizes up to this one, each from the one before."""
    from abess import LogisticRegression

    model = LogisticRegression(support_size=list(range(1, size + 1)), ic_type="loss", thread=1)
    return np.argsort(-np.abs(model.fit(X, y).coef_), kind="stable")[:size]


def _rows(
    task: str, X: NDArray[Any], size: int, ours: float, rivals: dict[str, float]
) -> list[dict[str, Any]]:
    about = {"task": task, "rows": X.shape[0], "features": X.shape[1], "size": size}
    return [
        {**about, "rival": rival, "ours": f"{ours:.12g}", "theirs": f"{theirs:.12g}"}
        for rival, theirs in rivals.items()
    ]


def table(rows: Rows) -> str:
    """How often the value is larger, equal and smaller."""
    pairs = dict.fromkeys((row["kind"], row["rival"]) for row in rows)
    counts = []
    for kind, rival in pairs:
        some = [row for row in rows if (row["kind"], row["rival"]) == (kind, rival)]
        signs = [compare(float(row["ours"]), float(row["theirs"])) for row in some]
        counts.append([kind, rival, *(str(signs.count(sign)) for sign in (1, 0, -1))])
    return (
        "## Many features: what is found\n\nProblems by the best criterion value of the search in "
        "a working set, beside that of a rival. Mixed: 60 to 300 rows of 2100 to 3000 columns, two "
        "and three classes and regression, sizes 2 to 10; wide: 10 000 columns.\n\n"
        + markdown(["problems", "rival", "larger", "equal", "smaller"], counts)
    )
