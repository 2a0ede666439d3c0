"""The root of the tree, shared by all sizes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.criterion import Criterion
from safdr._engine.proof.diagonal import UNIT, diagonal

# Rounding changes a bound, relative to the value of all features, by at most u·n²·Σ VIF times a
# small number. VIF_j = A_jj·(A⁻¹)_jj is the variance inflation, u the unit of rounding. The
# matrices of a node follow from A and its inverse by symmetric elimination: they are the exact
# result for matrices with errors of (n + 1)·u·sqrt(a_ii·a_jj) in each entry (Demmel). In units of A
# that is at most (n + 1)·u·n·Σ VIF, and no criterion value changes by a larger share. Errors arise
# in the inverse (twice), in the node, and in the closed forms of pairs; this is twice their sum.
ROUNDING_STEPS = 8

# Largest relative error of bounds that are used.
MAX_ROUNDING = 0.1

# The inverse and eigenvalues of more features take longer than a proof that might complete.
MAX_FEATURES = 2000


@dataclass(frozen=True, eq=False)
class Root:
    """Included and free features, and their matrices."""

    criterion: Criterion  # of all features
    included: IntArray
    free: IntArray
    # Blocks of the inverse of A, and of its product with D, over included and free features.
    inverse: FloatArray
    coefficients: FloatArray
    # A and D of the free features, given the included ones.
    schur: FloatArray
    rest: FloatArray
    # Variance inflation of these features, the largest first.
    inflation: FloatArray
    # Criterion value of all these features, and of the included ones, less their cost.
    all: float
    value: float
    # A diagonal matrix below `schur`.
    delta: FloatArray
    # Largest rounding error of bounds; infinite if there are none.
    slack: float
    # Cost of each of all features.
    cost: FloatArray
    # Pairs of mutually exclusive free features.
    conflicts: NDArray[np.uint8] | None

    @property
    def has_bounds(self) -> bool:
        """Return True if rounding leaves bounds."""
        return bool(np.isfinite(self.slack))

    def bound(self, size: int) -> float:
        n_out = len(self.included) + len(self.free) - size
        return self.all + most_saved(self.cost[self.free], n_out)

    def error(self, size: int) -> float:
        """Return the largest relative error of the value of a subset."""
        return _rounding(self.inflation[:size])


def make_root(
    criterion: Criterion,
    included: IntArray,
    free: IntArray,
    cost: FloatArray,
    conflicts: NDArray[np.uint8] | None,
) -> Root:
    both = np.concatenate([included, free])
    n, n_in = len(both), len(included)
    A, D = criterion.A[np.ix_(both, both)], criterion.D[both]
    L = _factor(A) if n <= MAX_FEATURES else None
    if L is None:
        none = np.empty((0, 0))
        sums = np.inf, 0.0, np.empty(0), np.inf
        unknown = np.full(n, np.inf)
        return Root(criterion, included, free, none, none, none, none, unknown, *sums, cost, None)
    L_inverse = np.linalg.solve(L, np.eye(n))
    inverse = L_inverse.T @ L_inverse
    whitened = L_inverse @ D
    # The factor of the free features given the included ones.
    own = L[n_in:, n_in:]
    schur = own @ own.T
    inflation = np.sort(np.abs(np.diag(A) * np.diag(inverse)))[::-1]
    share, total = _rounding(inflation), float(np.sum(whitened**2))
    # Costs are summed on the path to a node, in its bound, and in the value of a subset.
    slack = share * total + ROUNDING_STEPS * UNIT * n * float(np.abs(cost[both]).sum())
    return Root(
        criterion,
        included,
        free,
        np.ascontiguousarray(inverse[n_in:, n_in:]),
        np.ascontiguousarray((L_inverse.T @ whitened)[n_in:]),
        np.ascontiguousarray(schur),
        np.ascontiguousarray(own @ whitened[n_in:]),
        inflation,
        total - float(cost[both].sum()),
        float(np.sum(whitened[:n_in] ** 2) - cost[included].sum()),
        # The matrices of a node have errors of up to that share of A, and must stay above Δ.
        max(1.0 - 2 * share, 0.0) * diagonal(schur, inverse[n_in:, n_in:]),
        # A positive slack, so that ties of the best are not pruned.
        slack + np.finfo(float).tiny if share < MAX_ROUNDING else np.inf,
        cost,
        conflicts,
    )


def most_saved(cost: FloatArray, n_out: int) -> float:
    return float(np.sort(cost)[::-1][:n_out].sum())


def _factor(A: FloatArray) -> FloatArray | None:
    """Return the Cholesky factor; None if rounding may make it invalid."""
    try:
        return np.asarray(np.linalg.cholesky(A), dtype=np.float64)
    except np.linalg.LinAlgError:
        return None


def _rounding(inflation: FloatArray) -> float:
    return float(ROUNDING_STEPS * UNIT * len(inflation) ** 2 * inflation.sum())
