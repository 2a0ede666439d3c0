"""The rows that the benchmarks share."""

from __future__ import annotations

import numpy as np
import sklearn.datasets
from sklearn.model_selection import StratifiedShuffleSplit, train_test_split
from sklearn.preprocessing import StandardScaler

from benchmarks.blocks import Problem
from experiments import data
from experiments.protocols import N_SPLITS, TEST_SIZE, VALIDATION_SIZE, seeds_of

EIGHT = tuple(name for name in data.PAPER if name != "loan_default_kaggle")


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
