"""A diagonal Δ, as large as can be, such that A - Δ stays positive semidefinite.

Features that are left out then cost at least the sum of their δ_j·β_j², in every node of the tree.
"""

from __future__ import annotations

import numpy as np

from safdr._engine.arrays import FloatArray

# Newton's steps take some 20·n³ multiplications each, forty times: 0.5 s here.
MOST_FEATURES = 250

# Weights of the barrier log det(A - Δ), one after the other. The last leaves Σ log δ_j at most this
# times the number of features below the largest: 0.3 % for each δ_j, on the average.
BARRIERS = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003)
MOST_STEPS = 12
# Newton's decrement from which on full steps stay inside and converge quadratically.
CLOSE = 0.25

UNIT = np.finfo(float).eps / 2


def diagonal(A: FloatArray, inverse: FloatArray) -> FloatArray:
    """Δ for a positive definite matrix and its inverse; zeros where none is sure."""
    if not len(A):
        return np.empty(0)
    delta = _scaled_variances(A, inverse)
    if len(A) <= MOST_FEATURES and delta.any():
        delta = _largest_product(A, 0.5 * delta)
    # A hair inside, where Cholesky's own rounding does not matter.
    for share in (1.0 - 1e-6, 0.99, 0.5):
        if is_below(share * delta, A):
            return share * delta
    return np.zeros(len(A))


def is_below(delta: FloatArray, A: FloatArray) -> bool:
    """Whether A - Δ is positive semidefinite for sure.

    Cholesky's method that comes to its end proves it of a matrix which is off by no more than
    (n + 2)·u·trace in norm (u the unit of rounding); twice that is taken off beforehand.
    """
    slack = 2 * (len(A) + 2) * UNIT * np.trace(A)
    return _is_positive_definite(A - np.diag(delta + slack))


def _scaled_variances(A: FloatArray, inverse: FloatArray) -> FloatArray:
    """What each feature has of its own, 1 / (A⁻¹)_jj, times the largest factor that fits."""
    own = 1.0 / np.diag(inverse)
    root = np.sqrt(own)
    smallest = float(np.linalg.eigvalsh(A / np.outer(root, root))[0])
    return max(smallest, 0.0) * own


def _largest_product(A: FloatArray, delta: FloatArray) -> FloatArray:
    """Maximise Σ log δ_j + μ·log det(A - Δ) by Newton's method for ever smaller μ."""
    for barrier in BARRIERS:
        for _ in range(MOST_STEPS):
            try:
                inverse = np.linalg.inv(A - np.diag(delta))
                gradient = 1.0 / delta - barrier * np.diag(inverse)
                curvature = np.diag(1.0 / delta**2) + barrier * inverse**2
                step = np.linalg.solve(curvature, gradient)
            except np.linalg.LinAlgError:
                return delta
            decrement = np.sqrt(max(float(gradient @ step) / barrier, 0.0))
            # The damped step stays inside, by self-concordance; rounding may push it out.
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
