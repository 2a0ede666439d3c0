"""Fixed jobs for the compiled core, to count their instructions; no randomness, no scikit-learn."""

from __future__ import annotations

import sys

import numpy as np

from safdr._engine.annealing.swap_chains import SwapChains, random_subsets
from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.criterion import fisher_criterion
from safdr._engine.fits.fitter import LogisticFitter
from safdr._engine.moments import within_moments

N_ROWS, N_FEATURES, N_REPLICAS = 1000, 60, 10
# One for each width of the small matrices that the kernel knows by heart, and one beyond.
SIZES = (3, 12, 20, 30, 40)
# From all moves accepted to hardly any.
BETAS = (0.0, 2.0, 8.0, 32.0, 1e6)


def sweep() -> None:
    """Cool some replicas at each size."""
    X, codes = _rows()
    criterion = fisher_criterion(within_moments(X, codes, 2), ridge=1e-6)
    rng = np.random.default_rng(1)
    for size in SIZES:
        start = random_subsets(criterion, size, N_REPLICAS, rng)
        chains = SwapChains(criterion, start, seed=np.random.SeedSequence(2), n_proposals=100)
        for beta in BETAS:
            chains.sweep(np.full((1, N_REPLICAS), beta))


def fit() -> None:
    """Fit logistic models to random subsets of each size, to the end."""
    _fit_subsets(best_only=False)


def pick() -> None:
    """Fit them as far as it takes to know the best, as a search does."""
    _fit_subsets(best_only=True)


def _fit_subsets(*, best_only: bool) -> None:
    X, codes = _rows()
    criterion = fisher_criterion(within_moments(X, codes, 2), ridge=1e-6)
    rng = np.random.default_rng(3)
    for size in SIZES:
        subsets = np.array([np.sort(rng.permutation(N_FEATURES)[:size]) for _ in range(N_REPLICAS)])
        LogisticFitter(X, codes, None, criterion).fit(subsets, best_only=best_only)


def _rows() -> tuple[FloatArray, IntArray]:
    """Correlated features, of which some tell the class."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, N_FEATURES))
    X[:, 1:] += 0.5 * X[:, :-1]
    score = X[:, ::6].sum(axis=1) / 3
    return X, (score + rng.logistic(size=N_ROWS) > 0).astype(np.int64)


JOBS = {"sweep": sweep, "fit": fit, "pick": pick}

if __name__ == "__main__":
    JOBS[sys.argv[1]]()
