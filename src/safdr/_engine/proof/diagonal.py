"""A large diagonal matrix Δ such that A - Δ stays positive semidefinite.

It bounds the loss of leaving out features by the sum of their δ_j·β_j², in every node.
"""

from __future__ import annotations

import numpy as np

from safdr._engine.arrays import FloatArray

# Forty Newton steps of 20·n³ multiplications take 0.5 s for this number of features.
MAX_FEATURES = 250

# Weights of the barrier log det(A - Δ). At the last one, Σ log δ_j is below its maximum by at most
# this times the number of features: 0.3 % for each δ_j on average.
BARRIERS = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003)
MAX_STEPS = 12
# Below this Newton decrement full steps stay inside and converge quadratically.
CLOSE = 0.25

UNIT = np.finfo(float).eps / 2


def diagonal(A: FloatArray, inverse: FloatArray) -> FloatArray:
    """Return Δ for a positive definite matrix and its inverse; zeros if none is certain."""
    if not len(A):
        return np.empty(0)
    delta = _scaled_variances(A, inverse)
    if len(A) <= MAX_FEATURES and delta.any():
        delta = _largest_product(A, 0.5 * delta)
    # Slightly inside, where the rounding of Cholesky's method does not matter.
    for share in (1.0 - 1e-6, 0.99, 0.5):
        if is_below(share * delta, A):
            return share * delta
    return np.zeros(len(A))


def is_below(delta: FloatArray, A: FloatArray) -> bool:
    """Return True if A - Δ is certainly positive semidefinite."""
    # If Cholesky's method completes, this holds for a matrix with an error of at most (n +
    # 2)·u·trace in norm, with the unit of rounding u. Twice that is subtracted first.
    slack = 2 * (len(A) + 2) * UNIT * np.trace(A)
    return _is_positive_definite(A - np.diag(delta + slack))


def _scaled_variances(A: FloatArray, inverse: FloatArray) -> FloatArray:
    """Return the residual variances 1 / (A⁻¹)_jj times the largest possible factor."""
    own = 1.0 / np.diag(inverse)
    root = np.sqrt(own)
    smallest = float(np.linalg.eigvalsh(A / np.outer(root, root))[0])
    return max(smallest, 0.0) * own


def _largest_product(A: FloatArray, delta: FloatArray) -> FloatArray:
    """Maximise Σ log δ_j + μ·log det(A - Δ) by Newton's method for decreasing μ."""
    for barrier in BARRIERS:
        for _ in range(MAX_STEPS):
            try:
                inverse = np.linalg.inv(A - np.diag(delta))
                gradient = 1.0 / delta - barrier * np.diag(inverse)
                curvature = np.diag(1.0 / delta**2) + barrier * inverse**2
                step = np.linalg.solve(curvature, gradient)
            except np.linalg.LinAlgError:
                return delta
            decrement = np.sqrt(max(float(gradient @ step) / barrier, 0.0))
            # The damped step stays inside, by self-concordance; rounding may move it out.
            new = delta + step / (1.0 if decrement < CLOSE else 1.0 + decrement)
            if not (np.isfinite(new).all() and new.min() > 0 and is_below(new, A)):
                return delta
            delta = new
            if decrement < CLOSE:
                break
    return delta


def _is_positive_definite(matrix: FloatArray) -> bool:
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True
