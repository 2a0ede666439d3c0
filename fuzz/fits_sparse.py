"""Fits on sparse counts, many of them zero but in one class, where one class may be rare."""

from __future__ import annotations

import warnings

import numpy as np

from fuzz.fits import Optimum
from safdr import Annealing, AnnealingSelector, evaluate_subsets

# Counts and frequencies are no less than a hundredth: no slope has a reason to be larger.
LARGEST_SLOPE = 1e12


def check(rng: np.random.Generator) -> None:
    """Search for subsets of up to 18 columns; fit given ones."""
    X, codes = random_rows(rng)
    size = int(rng.integers(2, min(18, X.shape[1]) + 1))
    selector = AnnealingSelector.as_published(
        size, annealing=Annealing(n_replicas=10, max_steps=20), random_state=int(rng.integers(99))
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "(?s).*separate the classes")
        result = selector.fit(X, codes).result_
    optimum = SparseOptimum(X, codes, np.ones(len(X)))
    optimum.check(result.subsets, result, [result.best])
    some = np.array([np.sort(rng.permutation(X.shape[1])[:size]) for _ in range(4)])
    optimum.check(some, evaluate_subsets(X, codes, some, C=np.inf).fits, range(len(some)))


class SparseOptimum(Optimum):
    """What the loss of a subset should be, and what else fits must keep."""

    def check(self, subsets, fits, which) -> None:
        """Raise if one of the fits is not what it should be."""
        for i in which:
            largest = np.abs(fits.coefficients[i]).max()
            assert largest < LARGEST_SLOPE, f"{subsets[i]}: a slope of {largest}"
            assert fits.converged[i] != fits.separated[i], f"{subsets[i]}: ended by rounding"
            self.compare(subsets[i], fits.losses[i], fits.separated[i])
        self.check_coefficients(subsets, fits, which)

    def _can_be_judged(self, columns) -> bool:
        """Always: columns are over few orders of magnitude, and most numbers are zeros."""
        return True


def random_rows(rng: np.random.Generator):
    """Columns that are mostly zero, and some that are not; codes of two or three classes."""
    n_rows = int(rng.choice([100, 300, 700, 1500], p=[0.2, 0.4, 0.25, 0.15]))
    n_classes = 2 if rng.random() < 0.8 else 3
    rare = rng.choice([0.03, 0.1, 0.3])
    codes = np.where(rng.random(n_rows) < rare, 0, rng.integers(1, n_classes, n_rows))
    codes[:n_classes] = np.arange(n_classes)
    if np.bincount(codes).min() == 1:  # a class of one row has no variance
        codes[n_classes : 2 * n_classes] = np.arange(n_classes)
    kinds = rng.choice(list(KINDS), size=int(rng.integers(4, 25)), p=[0.4, 0.25, 0.25, 0.1])
    return np.column_stack([KINDS[kind](rng, codes) for kind in kinds]), codes


def _sizes(rng, n_rows):
    """What is there where a column is not zero: counts, or frequencies of two digits."""
    if rng.random() < 0.5:
        return 1.0 + rng.poisson(rng.uniform(0, 3), n_rows)
    return np.round(rng.gamma(0.7, rng.uniform(0.2, 3), n_rows), 2) + 0.01


def _one_class(rng, codes):
    """Zero but for a few rows of one class."""
    own = codes == rng.integers(codes.max() + 1)
    some = own & (rng.random(len(codes)) < rng.uniform(0.01, 0.5))
    some[rng.choice(np.flatnonzero(own))] = True
    return np.where(some, _sizes(rng, len(codes)), 0.0)


def _nearly_one_class(rng, codes):
    """The same, and one to three rows of the others."""
    column = _one_class(rng, codes)
    others = rng.choice(len(codes), int(rng.integers(1, 4)), replace=False)
    column[others] = _sizes(rng, len(others))
    return column


def _any_class(rng, codes):
    """Zero for most rows of every class, for some more than for others."""
    share = rng.uniform(0.01, 0.5, codes.max() + 1)
    return np.where(rng.random(len(codes)) < share[codes], _sizes(rng, len(codes)), 0.0)


def _run_length(rng, codes):
    """Whole numbers from one on, with a long tail."""
    return np.round(np.exp(rng.uniform(0.5, 1.5) * (rng.normal(size=len(codes)) + 0.5 * codes))) + 1


KINDS = {
    "one class": _one_class,
    "nearly one class": _nearly_one_class,
    "any class": _any_class,
    "run length": _run_length,
}
