"""Frozen results: what every reader (plots, reports, the command line) gets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from safdr.moments import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Trace:
    """How the annealing went: one entry for the start, then one a temperature step.

    Attributes
    ----------
    beta : ndarray of shape (n_steps + 1,)
        Inverse temperature; 0 at the start.
    mean, std : ndarray of shape (n_steps + 1,)
        Mean and standard deviation of the criterion over the replicas, on all training rows.
    acceptance : ndarray of shape (n_steps + 1,)
        Share of the proposed swaps that were accepted; NaN at the start.
    converged : bool
        Whether the mean had settled before the steps ran out.
    """

    beta: FloatArray
    mean: FloatArray
    std: FloatArray
    acceptance: FloatArray
    converged: bool

    def __repr__(self) -> str:
        return (
            f"Trace(n_steps={len(self)}, beta={self.beta[-1]:.6g}, mean={self.mean[-1]:.6g}, "
            f"std={self.std[-1]:.6g}, converged={self.converged})"
        )

    def __len__(self) -> int:
        """Number of temperature steps, the start not counted."""
        return len(self.beta) - 1


@dataclass(frozen=True, eq=False)
class AnnealingResult:
    """What annealing at one size found, all of it measured on the whole training data.

    The candidates are the subsets at which the replicas ended, then the best that going uphill from
    them reaches: no swap of one feature raises its criterion value. Where there are no more subsets
    than replicas, all of them follow instead.

    Attributes
    ----------
    subsets : ndarray of shape (n_candidates, size)
        Sorted feature indices of each candidate, those of the replicas first.
    criterion_values : ndarray of shape (n_candidates,)
        Criterion value of each subset.
    cross_entropies : ndarray of shape (n_candidates,)
        Mean cross-entropy of the unpenalised logistic model on each subset; 0 where the subset
        separates the classes completely. That of the winner is exact (under partial separation to
        about 1e-5); those of the others are estimates, good to about a tenth of their distance to
        it.
    separated : ndarray of shape (n_candidates,), dtype=bool
        Whether the subset separates the classes, completely or in part, so that the unpenalised
        model has no finite optimum. Certain for the winner; in part, it may go unnoticed in others.
    coefficients : ndarray of shape (n_candidates, size)
        Coefficients of the logistic models, on the original scale of the features.
    intercepts : ndarray of shape (n_candidates,)
        Their intercepts.
    n_iter : ndarray of shape (n_candidates,)
        Steps of Newton's method that each of them took.
    start_subsets : ndarray of shape (n_replicas, size)
        The random subsets that the replicas started from.
    trace : Trace
        How the annealing went.
    drift : float
        Largest relative difference between the criterion as updated swap by swap and as computed
        from scratch.
    n_replicas, size : int
        Number of replicas, and of features in a subset.
    best : int
        The winner: smallest cross-entropy, then largest criterion value.
    subset, criterion_value, cross_entropy
        Of the winner.
    """

    subsets: IntArray
    criterion_values: FloatArray
    cross_entropies: FloatArray
    separated: NDArray[np.bool_]
    coefficients: FloatArray
    intercepts: FloatArray
    n_iter: IntArray
    start_subsets: IntArray
    trace: Trace
    drift: float

    def __repr__(self) -> str:
        return (
            f"AnnealingResult(n_replicas={self.n_replicas}, subset={self.subset.tolist()}, "
            f"criterion_value={self.criterion_value:.6g}, cross_entropy={self.cross_entropy:.6g}, "
            f"n_steps={len(self.trace)})"
        )

    @property
    def n_replicas(self) -> int:
        """Number of replicas."""
        return len(self.start_subsets)

    @property
    def size(self) -> int:
        """Number of features in a subset."""
        return int(self.subsets.shape[1])

    @property
    def best(self) -> int:
        """The winner: smallest cross-entropy, then largest criterion value."""
        return int(np.lexsort((-self.criterion_values, self.cross_entropies))[0])

    @property
    def subset(self) -> IntArray:
        """Features of the winner."""
        subset: IntArray = self.subsets[self.best]
        return subset

    @property
    def criterion_value(self) -> float:
        """Criterion value of the winner."""
        return float(self.criterion_values[self.best])

    @property
    def cross_entropy(self) -> float:
        """Cross-entropy of the winner."""
        return float(self.cross_entropies[self.best])
