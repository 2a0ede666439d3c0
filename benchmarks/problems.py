"""The rows that the benchmarks share."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import sklearn.datasets
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedShuffleSplit, train_test_split
from sklearn.preprocessing import StandardScaler

from experiments import data
from experiments.protocols import N_SPLITS, TEST_SIZE, VALIDATION_SIZE, seeds_of

EIGHT = tuple(name for name in data.PAPER if name != "loan_default_kaggle")


class Problem(NamedTuple):
    """Rows with a name."""

    name: str
    X: NDArray[np.float64]
    y: NDArray[Any]


def available(names: tuple[str, ...] = EIGHT) -> list[str]:
    """Return the data sets whose files exist."""
    return [name for name in names if data.is_available(name)]


def whole(name: str) -> Problem:
    """Return the standardised training rows of the first repeat, at most 5,000."""
    found = data.load(name)
    n_train = min(found.n_train or round((1 - TEST_SIZE) * len(found.y)), 5000)
    stratify = None if found.is_regression else found.y
    rows, _ = train_test_split(
        np.arange(len(found.y)), train_size=n_train, stratify=stratify, random_state=0
    )
    return Problem(name, StandardScaler().fit_transform(found.X[rows]), found.y[rows])


def fold(name: str) -> Problem:
    """Return the training rows of one fold of the paper's protocol."""
    found = data.load(name)
    seeds = seeds_of(found, 0, 3 + N_SPLITS)
    train, _ = train_test_split(
        np.arange(len(found.y)), test_size=TEST_SIZE, stratify=found.y, random_state=seeds[0]
    )
    splits = StratifiedShuffleSplit(N_SPLITS, test_size=VALIDATION_SIZE, random_state=seeds[1])
    rows = train[next(splits.split(train, found.y[train]))[0]]
    return Problem(name, StandardScaler().fit_transform(found.X[rows]), found.y[rows])


def digits() -> Problem:
    """Return 400 rows of ten classes."""
    X, y = sklearn.datasets.load_digits(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(y))[:400]
    X = X[rows][:, np.ptp(X[rows], axis=0) > 0]
    return Problem("digits", StandardScaler().fit_transform(X), y[rows])


def blocks(n_rows: int, n_features: int, seed: int = 0) -> Problem:
    """Return blocks of 50 features with one factor in common; twenty features make the label."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features), dtype=np.float32)
    for start in range(0, n_features, 50):
        X[:, start : start + 50] += rng.standard_normal((n_rows, 1), dtype=np.float32)
    relevant = rng.choice(n_features, 20, replace=False)
    slopes = rng.choice([-1.0, 1.0], 20) * (0.3 + rng.exponential(size=20)) / np.sqrt(20)
    y = (X[:, relevant] @ slopes + rng.logistic(size=n_rows) > 0).astype(int)
    return Problem(f"{n_rows} × {n_features}", X, y)
