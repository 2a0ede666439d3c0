"""The root of the tree: what holds for all subsets of any size, computed once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.criterion import Criterion
from safdr._engine.proof.diagonal import UNIT, diagonal

# By how much rounding can change a bound, relative to the value of all features: by no more than
# u·n²·Σ VIF times a small number, with the variance inflation VIF_j = A_jj·(A⁻¹)_jj. The matrices
# of a node come from A, and from its inverse, by steps of symmetric elimination: they are what
# exact steps make of matrices that are off by (n + 1)·u·sqrt(a_ii·a_jj) in each entry (Demmel).
# Measured by A itself that is at most (n + 1)·u·n·Σ VIF, and no criterion value changes by a larger
# share. It happens on the way to the inverse (twice), to the node, and in the closed forms of
# pairs; twice that is taken.
ROUNDING_STEPS = 8

# Where rounding may change bounds by more than this, no bound is worth having.
MOST_ROUNDING = 0.1

# Inverse and eigenvalues of more take longer than anyone waits for a proof that would not end.
MOST_FEATURES = 2000


@dataclass(frozen=True, eq=False)
class Root:
    """Features that are in, those that may be, and their matrices."""

    # Over all features.
    criterion: Criterion
    # Features that are in every subset, and that may be.
    included: IntArray
    free: IntArray
    # Blocks of the inverse of A, and of its product with D, over included and free features.
    inverse: FloatArray
    coefficients: FloatArray
    # A and D of the free features, given the included ones.
    schur: FloatArray
    rest: FloatArray
    # Criterion value of all these features, and of the included ones, less their cost.
    all: float
    value: float
    # A diagonal below `schur`.
    delta: FloatArray
    # What bounds may be off by rounding; infinite where nothing can be said.
    slack: float
    # What each of all features takes off the criterion.
    cost: FloatArray
    # Which free features can't be in together.
    conflicts: NDArray[np.uint8] | None

    @property
    def is_sure(self) -> bool:
        """Whether bounds say anything."""
        return bool(np.isfinite(self.slack))

    def bound(self, size: int) -> float:
        """All features, less the cost of the cheapest so many."""
        n_out = len(self.included) + len(self.free) - size
        return self.all + most_saved(self.cost[self.free], n_out)


def make_root(
    criterion: Criterion,
    included: IntArray,
    free: IntArray,
    cost: FloatArray,
    conflicts: NDArray[np.uint8] | None,
) -> Root:
    """Prepare for any size."""
    both = np.concatenate([included, free])
    n, n_in = len(both), len(included)
    A, D = criterion.A[np.ix_(both, both)], criterion.D[both]
    L = _factor(A) if n <= MOST_FEATURES else None
    if L is None:
        none = np.empty((0, 0))
        matrices = none, none, none, none
        sums = np.inf, 0.0, np.empty(0), np.inf
        return Root(criterion, included, free, *matrices, *sums, cost, None)
    L_inverse = np.linalg.solve(L, np.eye(n))
    inverse = L_inverse.T @ L_inverse
    whitened = L_inverse @ D
    # Of the free features given the others: what Cholesky's factor has below and right of theirs.
    own = L[n_in:, n_in:]
    schur = own @ own.T
    share = _rounding(A, inverse)
    total = float(np.sum(whitened**2))
    # Costs are summed up on the way to a node, in its bound, and in the value of a subset.
    slack = share * total + ROUNDING_STEPS * UNIT * n * float(np.abs(cost[both]).sum())
    return Root(
        criterion,
        included,
        free,
        np.ascontiguousarray(inverse[n_in:, n_in:]),
        np.ascontiguousarray((L_inverse.T @ whitened)[n_in:]),
        np.ascontiguousarray(schur),
        np.ascontiguousarray(own @ whitened[n_in:]),
        total - float(cost[both].sum()),
        float(np.sum(whitened[:n_in] ** 2) - cost[included].sum()),
        # The matrices of a node may be off by that share of A, and must still be above Δ.
        max(1.0 - 2 * share, 0.0) * diagonal(schur, inverse[n_in:, n_in:]),
        # Never nothing: what is just as good as the best is not ruled out.
        slack + np.finfo(float).tiny if share < MOST_ROUNDING else np.inf,
        cost,
        conflicts,
    )


def most_saved(cost: FloatArray, n_out: int) -> float:
    """What leaving out so many features saves at most."""
    return float(np.sort(cost)[::-1][:n_out].sum())


def _factor(A: FloatArray) -> FloatArray | None:
    """Cholesky's factor; None where rounding leaves none."""
    try:
        return np.asarray(np.linalg.cholesky(A), dtype=np.float64)
    except np.linalg.LinAlgError:
        return None


def rounding(criterion: Criterion, subset: IntArray) -> float:
    """What share of its criterion value rounding may take from, or add to, a subset."""
    A = criterion.A[np.ix_(subset, subset)]
    try:
        inverse = np.asarray(np.linalg.inv(A), dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.inf
    return _rounding(A, inverse)


def _rounding(A: FloatArray, inverse: FloatArray) -> float:
    inflation = np.abs(np.diag(A) * np.diag(inverse)).sum()
    return float(ROUNDING_STEPS * UNIT * len(A) ** 2 * inflation) if inflation >= 0 else np.inf
