"""Winners of searches, where rough fits give most subsets up, against fits of all to the end."""

from __future__ import annotations

import numpy as np

from safdr._estimators.training_data import ClassData
from safdr._estimators.validation import SeenColumns
from safdr.testing import all_subsets

# What the winner's loss may be above the smallest of all.
MOST_ABOVE = 1e-6
N_COLUMNS, MOST_SUBSETS = 12, 90
PENALTIES = (1.0, np.inf)


def check(rng: np.random.Generator) -> None:
    """Subsets of nasty columns of two to four classes, with a penalty and without."""
    X, codes, weight = random_rows(rng)
    data = ClassData.validate(SeenColumns(), X, codes, weight).usable()
    for C in PENALTIES:
        subsets = rng.permutation(all_subsets(N_COLUMNS, int(rng.integers(1, 5))))[:MOST_SUBSETS]
        compare(data.linear_fitter(C), subsets)


def compare(fitter, subsets) -> None:
    """Raise if another subset than the winner is better, or the winner's loss is another one."""
    best, every = fitter.fit(subsets, best_only=True), fitter.fit(subsets)
    winner, other = np.nanargmin(best.losses), np.argmin(every.losses)
    what = (
        f"{subsets[winner]} has won with {best.losses[winner]}, to the end {every.losses[winner]}; "
        f"{subsets[other]} has {every.losses[other]}, given up at {best.losses[other]}"
    )
    assert abs(best.losses[winner] - every.losses[other]) <= MOST_ABOVE, what
    assert every.losses[winner] <= every.losses[other] + MOST_ABOVE, what


def random_rows(rng: np.random.Generator):
    """Columns of nasty kinds, some of them nearly copies or products; codes; weights or none."""
    n_rows = int(rng.choice([60, 200, 500]))
    n_classes = int(rng.choice([2, 3, 4], p=[0.7, 0.2, 0.1]))
    rare = rng.choice([0.03, 0.2, 0.5])
    codes = np.where(rng.random(n_rows) < rare, rng.integers(1, n_classes, n_rows), 0)
    codes[: 3 * n_classes] = np.repeat(np.arange(n_classes), 3)
    kinds = rng.choice(list(KINDS), N_COLUMNS, p=[0.1, 0.1, 0.35, 0.2, 0.05, 0.1, 0.1])
    X = np.column_stack(
        [
            KINDS[kind](rng, codes, rng.normal(size=n_rows) + codes * rng.uniform(0, 1.5))
            for kind in kinds
        ]
    )
    for _ in range(int(rng.choice([0, 2, 5]))):
        copy, original, other = rng.permutation(N_COLUMNS)[:3]
        product = X[:, other] if rng.random() < 0.2 else 1.0
        noise = 10.0 ** rng.uniform(-9, -3) * rng.normal(size=n_rows)
        X[:, copy] = X[:, original] * product + noise
    return X, codes, None if rng.random() < 0.6 else rng.uniform(0.01, 5, n_rows)


def _nearly_perfect(rng, codes, signal):
    """One class against the others, wrong in a few rows."""
    own = codes == rng.integers(codes.max() + 1)
    return (own ^ (rng.random(len(codes)) < 0.02)).astype(float)


def _sparse_counts(rng, codes, signal):
    """Zero for most rows."""
    n_rows = len(codes)
    return np.where(rng.random(n_rows) < 0.1, rng.poisson(2, n_rows), 0).astype(float)


KINDS = {
    "normal": lambda rng, codes, signal: signal,
    "log-normal": lambda rng, codes, signal: np.exp(2 * signal),
    "nearly perfect": _nearly_perfect,
    "cauchy": lambda rng, codes, signal: rng.standard_cauchy(len(codes)) + codes,
    "offset": lambda rng, codes, signal: 1e9 + signal,
    "sparse counts": _sparse_counts,
    "huge": lambda rng, codes, signal: 1e13 * signal,
}
