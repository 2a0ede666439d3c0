"""One fold of other tasks than the paper's: more classes, and regression."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_diabetes, load_digits
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

# Of the rows, as the training part of an inner split of the protocol has: 0.8 times 0.75.
TRAIN_SHARE = 0.6
SEED = 0

N_LETTERS, ROWS_A_LETTER, N_BANDS, N_TRAITS = 26, 60, 617, 15


@dataclass(frozen=True, eq=False)
class TaskFold:
    """Training rows, standardised, and the sizes to search.

    Attributes
    ----------
    title : str
        Name for tables.
    task : {"classification", "regression"}
        As `safdr.anneal_path` takes it.
    X, y : ndarray
        Training rows, and labels or outputs.
    sizes : list of int
        Numbers of features.
    """

    title: str
    task: str
    X: NDArray[np.float64]
    y: NDArray[Any]
    sizes: list[int]


def letters() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Rows as of spoken letters (1560 × 617, 26 classes), made up.

    Each letter has a centre of 15 traits, drawn from the standard normal distribution; each of its
    60 rows has that centre plus noise of deviation 1. The traits show in 617 bands, with loadings
    that are normal noise averaged over 11 bands and scaled to deviation 1, so that neighbours are
    much alike; and each band has noise of deviation 3.
    """
    rng = np.random.default_rng(SEED)
    centres = rng.normal(size=(N_LETTERS, N_TRAITS))
    y = np.repeat(np.arange(N_LETTERS), ROWS_A_LETTER)
    traits = centres[y] + rng.normal(size=(len(y), N_TRAITS))
    steps = rng.normal(size=(N_TRAITS, N_BANDS + 10))
    loadings = np.array([np.convolve(row, np.ones(11), "valid") for row in steps])
    loadings /= loadings.std(axis=1, keepdims=True)
    return traits @ loadings + 3.0 * rng.normal(size=(len(y), N_BANDS)), y


def diabetes() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The ten columns, their squares and their products (442 × 65)."""
    X, y = load_diabetes(return_X_y=True)
    return PolynomialFeatures(2, include_bias=False).fit_transform(X), y


# Title, task, rows and the largest size.
Make = Callable[[], tuple[NDArray[Any], NDArray[Any]]]
TASKS: dict[str, tuple[str, Make, int]] = {
    "Digits, 10 classes": ("classification", lambda: load_digits(return_X_y=True), 15),
    "Letters (synthetic), 26 classes": ("classification", letters, 15),
    "Diabetes, squares and products": ("regression", diabetes, 30),
}


def load_task(title: str) -> TaskFold:
    """One fold.

    Parameters
    ----------
    title : str
        One of `TASKS`.

    Returns
    -------
    TaskFold
    """
    task, make, largest = TASKS[title]
    X, y = make()
    labels = y if task == "classification" else None
    train, _ = train_test_split(
        np.arange(len(y)), train_size=TRAIN_SHARE, stratify=labels, random_state=SEED
    )
    scaled = np.asarray(StandardScaler().fit_transform(X[train]))
    return TaskFold(title, task, scaled, y[train], list(range(1, largest + 1)))
