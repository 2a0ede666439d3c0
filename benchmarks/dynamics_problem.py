"""Problems on which plain annealing may miss the best subset: real rows, and planted decoys."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.problem import load_fold

N_ROWS = 600


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows of two classes, and how many features to find.

    Attributes
    ----------
    name : str
        Of the problem.
    X, y : ndarray
        Rows and labels.
    size : int
        Number of features.
    tuned : bool
        Whether each method is tuned on it, which takes minutes.
    """

    name: str
    X: NDArray[np.float64]
    y: NDArray[np.int64]
    size: int
    tuned: bool = True


def problems(data_dir: Path | None = None) -> list[Problem]:
    """All of them.

    Parameters
    ----------
    data_dir : Path, default=None
        Where the files of the paper's data are; None as in the experiments.

    Returns
    -------
    list of Problem
    """
    real = {"ozone": (8, 12, 20, 25), "bankruptcy": (8, 12, 20, 25), "madelon": (10,)}
    folds = {name: load_fold(name, data_dir) for name in real}
    many = planted(6, order=2, n_decoys=40, n_noise=448)
    wide = planted(6, order=2, n_decoys=40, n_noise=1948)
    return [
        Problem("blocks of six, 10", *blocks(8), size=10),
        Problem("five pairs, 10", *planted(5, order=2, n_decoys=40), size=10),
        Problem("eight pairs, 16", *planted(8, order=2, n_decoys=60), size=16),
        Problem("three triples, 9", *planted(3, order=3, n_decoys=40), size=9),
        Problem("five triples, 15", *planted(5, order=3, n_decoys=60), size=15),
        *(
            Problem(f"{name}, {size}", folds[name].X, folds[name].y, size)
            for name, sizes in real.items()
            for size in sizes
        ),
        Problem("six pairs of 500, 12", *many, size=12, tuned=False),
        Problem("six pairs of 2000, 12", *wide, size=12, tuned=False),
    ]


def planted(
    n_sets: int, *, order: int, n_decoys: int, n_noise: int = 20, seed: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Sets of features that count only together, and decoys that count a little on their own.

    One of a set is the signal on top of references that vary four times as much as it; the others
    measure the references, as a value before a treatment is a reference of the one after.
    """
    rng = np.random.default_rng(seed)
    y = np.arange(N_ROWS) % 2
    columns = []
    for _ in range(n_sets):
        references = 4.0 * rng.normal(size=(N_ROWS, order - 1))
        columns.append((y + rng.normal(size=N_ROWS) + references.sum(axis=1))[:, None])
        columns.append(references + 0.1 * rng.normal(size=references.shape))
    columns.append(0.35 * y[:, None] + rng.normal(size=(N_ROWS, n_decoys)))
    columns.append(rng.normal(size=(N_ROWS, n_noise)))
    return np.hstack(columns), y


def blocks(
    n_blocks: int, *, width: int = 6, seed: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Blocks of copies of one measurement, of which the difference of two tells the classes."""
    rng = np.random.default_rng(seed)
    y = np.arange(N_ROWS) % 2
    shared = np.sqrt(0.95) * rng.normal(size=(N_ROWS, n_blocks, 1))
    X = shared + np.sqrt(0.05) * rng.normal(size=(N_ROWS, n_blocks, width)) + 0.3 * y[:, None, None]
    X[:, :, 0] += 0.15 * y[:, None]
    X[:, :, 1] -= 0.15 * y[:, None]
    return X.reshape(N_ROWS, -1), y
