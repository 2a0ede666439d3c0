"""Softmax fits that are given up: winners, what is told of the others, and the bounds behind it."""

from __future__ import annotations

import numpy as np

from fuzz.shortlists import KINDS
from safdr._estimators.training_data import ClassData
from safdr._estimators.validation import SeenColumns

# What a loss may be off, in units of that without features.
CLOSE = 1e-8
# What the loss of a candidate that did not win may be off, by its distance to the winner: rough
# fits that came to their end are known by estimate, those that were given up for certain.
MOST_OFF = 0.1
PENALTIES = (1e-3, 0.03, 1.0, 1.0, 30.0, 1e3, 1e6)
N_COLUMNS = 14


def check(rng: np.random.Generator) -> None:
    """Subsets of nasty columns of three to ten classes, with a penalty."""
    X, codes, weight = random_rows(rng)
    data = ClassData.validate(SeenColumns(), X, codes, weight).usable()
    fitter = data.linear_fitter(float(rng.choice(PENALTIES)))
    size, n_subsets = int(rng.integers(1, 9)), int(rng.integers(2, 60))
    subsets = np.array([rng.permutation(X.shape[1])[:size] for _ in range(n_subsets)])
    every = fitter.fit(subsets)
    check_winner(fitter, subsets, every)
    check_bounds(fitter, subsets, every.losses, rng)


def check_winner(fitter, subsets, every) -> None:
    """The best is that of fits to the end, the others are told well, on any number of threads."""
    best = fitter.fit(subsets, best_only=True)
    winner, smallest = np.argmin(best.losses), every.losses.min()
    close = CLOSE * fitter.baseline()
    what = f"{subsets[winner]} has won with {best.losses[winner]}, the smallest is {smallest}"
    assert abs(best.losses[winner] - smallest) <= close, what
    assert every.losses[winner] <= smallest + close, what
    off, distance = best.losses - every.losses, best.losses - smallest
    wrong = np.flatnonzero((off < -close) | (off > MOST_OFF * distance + close))
    assert not len(wrong), f"{subsets[wrong[0]]}: {best.losses[wrong[0]]}, {every.losses[wrong[0]]}"
    other = fitter.fit(subsets, best_only=True, n_threads=2)
    for mine, theirs in zip(best, other, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def check_bounds(fitter, subsets, losses, rng) -> None:
    """Whatever the incumbent, what a fit is said to have left at most is not less than it has."""
    places = 0
    for portion in fitter._rows.portions(subsets):
        mine = losses[places : (places := places + len(portion.subsets))]
        start = fitter._discriminant_start(portion.subsets)
        for distance in 10.0 ** rng.uniform(-7, 0, 3):
            reach = float(rng.choice(losses)) - distance * fitter.baseline()
            how = {"exact": False, "incumbent": reach, "best_only": True, "n_threads": 1}
            fits = fitter._run(portion.columns, portion.numbered, start, **how)
            bounds = np.where(fits.converged, -np.inf, fits.losses - fits.left)
            wrong = np.flatnonzero(bounds > mine + CLOSE * fitter.baseline())
            assert not len(wrong), (
                f"{portion.subsets[wrong[0]]}: {mine[wrong[0]]}, and not {bounds[wrong[0]]} or more"
            )


def random_rows(rng: np.random.Generator):
    """Columns of nasty kinds, copies and near copies; codes; weights or none."""
    n_rows = int(rng.choice([40, 130, 400, 1000]))
    n_classes = int(rng.integers(3, 11))
    share = rng.dirichlet(np.full(n_classes, rng.choice([0.2, 1.0, 20.0])))
    codes = rng.choice(n_classes, n_rows, p=share)
    codes[: 2 * n_classes] = np.repeat(np.arange(n_classes), 2)
    kinds = rng.choice(list(KINDS), N_COLUMNS, p=rng.dirichlet(np.ones(len(KINDS))))
    strength = rng.choice([0.3, 1.5, 4.0])
    X = np.empty((n_rows, N_COLUMNS))
    for j, kind in enumerate(kinds):
        levels = rng.permutation(n_classes)[codes]
        signal = rng.normal(size=n_rows) + levels * rng.uniform(0, strength)
        X[:, j] = KINDS[kind](rng, codes, signal)
    for _ in range(int(rng.choice([0, 2, 5]))):
        copy, original = rng.permutation(N_COLUMNS)[:2]
        X[:, copy] = X[:, original] + rng.choice([0.0, 1e-9, 1e-4]) * rng.normal(size=n_rows)
    weight = None
    if rng.random() < 0.4:
        spread = rng.uniform(0.01, 5, n_rows), rng.lognormal(0, 2, n_rows)
        weight = rng.choice([*spread, 10.0 ** rng.uniform(-9, 0, n_rows)])
        weight[: 2 * n_classes] += 0.01  # each class has some
    return X, codes, weight
