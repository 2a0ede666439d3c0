"""The same algorithm in plain NumPy (tests/reference.py), extrapolated: a fold would take hours.

Moments and batches are computed whole. Proposals and fits are timed at a few sizes, some of each,
and multiplied by the number of them that the library makes at every size.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import reference
from benchmarks.peers.run import Run
from benchmarks.problem import AS_PUBLISHED, Fold
from benchmarks.timing import Seconds, timed
from experiments.methods import annealing_defaults
from safdr import AnnealingResult, anneal_path
from safdr._engine.arrays import FloatArray

SIZES = (1, 5, 10, 20, 29)
N_PROPOSALS, N_FITS = 100, 2


def run(fold: Fold) -> Run:
    """All sizes of the fold, estimated from a few."""
    once, a_proposal, a_fit = measure(fold)
    results = anneal_path(fold.X, fold.y, fold.sizes, random_state=fold.seed, **AS_PUBLISHED)
    n_proposals = [count_proposals(result, fold.X.shape[1]) for result in results]
    n_fits = [len(np.unique(result.subsets, axis=0)) for result in results]
    process, wall = n_proposals @ a_proposal + n_fits @ a_fit
    return Run(Seconds(once.process + process, once.wall + wall), extrapolated=True)


def measure(fold: Fold) -> tuple[Seconds, FloatArray, FloatArray]:
    """What is done once; then, at each size, process and wall seconds of a proposal and a fit."""
    rng = np.random.default_rng(fold.seed)
    _, once = timed(lambda: _criteria(fold, rng))
    a_proposal = _at_each_size(lambda size: seconds_a_proposal(fold, size, rng), fold)
    a_fit = _at_each_size(lambda size: _seconds_a_fit(fold, size, rng), fold)
    return once, a_proposal, a_fit


def count_proposals(result: AnnealingResult, n_features: int) -> int:
    """Proposals of a search, over all replicas and steps; none where all features are taken."""
    settings = annealing_defaults()
    if result.size == n_features:
        return 0
    a_sweep = max(1, round(settings["sweeps"] * n_features))
    return int(settings["n_replicas"] * len(result.trace) * a_sweep)


def seconds_a_proposal(fold: Fold, size: int, rng: np.random.Generator) -> Seconds:
    """Of the reference; hot or cold makes no difference to it."""
    subset = reference.random_subset(fold.X.shape[1], size, rng)
    criterion = (fold.criterion.A, fold.criterion.D)
    _, seconds = timed(lambda: reference.sweep(subset, criterion, 0.0, N_PROPOSALS, rng))
    return Seconds(seconds.process / N_PROPOSALS, seconds.wall / N_PROPOSALS)


def measured_sizes(fold: Fold) -> list[int]:
    """Those of `SIZES` at which there is something to propose."""
    return [size for size in SIZES if size <= fold.sizes[-1] and size < fold.X.shape[1]]


def _seconds_a_fit(fold: Fold, size: int, rng: np.random.Generator) -> Seconds:
    subsets = [reference.random_subset(fold.X.shape[1], size, rng) for _ in range(N_FITS)]
    _, seconds = timed(lambda: [reference.cross_entropy(fold.X, fold.y, s) for s in subsets])
    return Seconds(seconds.process / N_FITS, seconds.wall / N_FITS)


def _at_each_size(measure: Callable[[int], Seconds], fold: Fold) -> FloatArray:
    """Process and wall seconds of a unit of work at each size: a line between measured ones."""
    sizes = measured_sizes(fold)
    several = [measure(size) for size in sizes]
    clocks = [[s.process for s in several], [s.wall for s in several]]
    return np.column_stack([np.interp(fold.sizes, sizes, clock) for clock in clocks])


def _criteria(fold: Fold, rng: np.random.Generator) -> None:
    settings = annealing_defaults()
    reference.matrices(fold.X, fold.y, settings["ridge"])
    reference.batch_matrices(
        fold.X,
        fold.y,
        settings["n_batches"],
        settings["batch_fraction"],
        rng,
        settings["ridge"],
    )
