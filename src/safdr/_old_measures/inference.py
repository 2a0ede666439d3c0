"""Models fitted without a penalty, and how far off their coefficients may be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from safdr._old_measures.intervals import FloatArray

# Rows of the rarest class (of a quantity: rows) for each coefficient that is estimated: with fewer,
# normal intervals of logistic models are too short (Peduzzi et al. 1996).
ROWS_PER_COEFFICIENT = 10
# A coefficient, per standard deviation, whose error is that large has no finite optimum.
LARGEST_ERROR = 25.0
MOST_STEPS = 60


@dataclass(frozen=True, eq=False)
class Coefficients:
    """Estimates, an intercept first in each row, and the covariance of all of them in a line."""

    values: FloatArray
    covariance: FloatArray
    # Degrees of freedom of Student's distribution.
    freedom: float = np.inf

    @property
    def errors(self) -> FloatArray:
        """Standard errors."""
        return np.sqrt(np.diag(self.covariance)).reshape(self.values.shape)


def with_intercept(X: FloatArray) -> FloatArray:
    """Columns, and one of ones before them."""
    return np.column_stack([np.ones(len(X)), X])


def fit_classes(
    X: FloatArray,
    codes: NDArray[np.int64],
    n_classes: int,
    weight: FloatArray,
    *,
    offset: FloatArray | None = None,
    robust: bool = False,
) -> Coefficients | None:
    """Maximum likelihood of a softmax model, the first class as the reference; None without one.

    By Newton's method. The covariance is the inverse of the information, which is right where all
    weights are 1; `robust` puts the squares of the rows' own gradients in between (a sandwich).
    """
    free = np.zeros((n_classes - 1, X.shape[1]))
    target = np.eye(n_classes)[codes]
    loss = _loss(X, free, target, weight, offset)
    for _ in range(MOST_STEPS):
        gradient, information, rows = _derivatives(X, free, target, weight, offset)
        try:
            step = np.linalg.solve(information, gradient)
        except np.linalg.LinAlgError:
            return None
        gain = float(gradient @ step)
        size = 1.0
        while (new := _loss(X, free + size * step.reshape(free.shape), target, weight, offset)) > (
            loss
        ) and size > 1e-6:
            size /= 2
        free, loss = free + size * step.reshape(free.shape), min(new, loss)
        if gain < 1e-12 * max(1.0, weight.sum()):
            break
    else:
        return None
    covariance = np.asarray(np.linalg.inv(information), dtype=np.float64)
    if robust:
        covariance = covariance @ (rows.T @ rows) @ covariance
    found = Coefficients(free, covariance)
    return found if np.isfinite(found.errors).all() else None


def _scores(X: FloatArray, free: FloatArray, offset: FloatArray | None) -> FloatArray:
    """Of all classes; that of the first is 0."""
    scores = X @ free.T
    if offset is not None:
        scores = scores + offset[:, None]
    return np.column_stack([np.zeros(len(X)), scores])


def _loss(
    X: FloatArray,
    free: FloatArray,
    target: FloatArray,
    weight: FloatArray,
    offset: FloatArray | None,
) -> float:
    logs = log_softmax(_scores(X, free, offset), axis=1)
    return float(-(weight * (target * logs).sum(axis=1)).sum())


def _derivatives(
    X: FloatArray,
    free: FloatArray,
    target: FloatArray,
    weight: FloatArray,
    offset: FloatArray | None,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Gradient, information, and the gradients of the rows."""
    share = np.exp(log_softmax(_scores(X, free, offset), axis=1))[:, 1:]
    left = weight[:, None] * (target[:, 1:] - share)
    rows = (left[:, :, None] * X[:, None, :]).reshape(len(X), -1)
    n, q = free.shape
    information = np.empty((n, q, n, q))
    for a in range(n):
        for b in range(a + 1):
            curvature = weight * share[:, a] * ((a == b) - share[:, b])
            block = X.T @ (curvature[:, None] * X)
            information[a, :, b, :], information[b, :, a, :] = block, block.T
    return rows.sum(axis=0), information.reshape(n * q, n * q), rows


def fit_numbers(
    X: FloatArray, y: FloatArray, weight: FloatArray, *, robust: bool = False
) -> Coefficients | None:
    """Least squares; the covariance is the usual one, or a sandwich (HC1)."""
    n, q = X.shape
    root = np.sqrt(weight)
    columns = root[:, None] * X
    # Columns in units of their size: what is collinear must not depend on theirs.
    size = np.linalg.norm(columns, axis=0)
    if n <= q or not size.all():
        return None
    Q, R = np.linalg.qr(columns / size)
    if np.linalg.matrix_rank(R, tol=n * np.finfo(np.float64).eps) < q:
        return None
    turn = np.linalg.inv(R) / size[:, None]
    inverse, values = turn @ turn.T, turn @ (Q.T @ (root * y))
    left = y - X @ values
    if robust:
        rows = (weight * left)[:, None] * X
        covariance = inverse @ (rows.T @ rows) @ inverse * n / (n - q)
    else:
        covariance = inverse * (weight @ left**2 / (n - q))
    return Coefficients(values[None, :], covariance, n - q)


def centred(found: Coefficients) -> Coefficients:
    """The same with coefficients for all classes, whose sum is zero, as penalised models have."""
    n, q = found.values.shape
    # From those against the first class to those against the mean of all.
    turn = np.vstack([np.zeros((1, n)), np.eye(n)]) - 1 / (n + 1)
    wide = np.kron(turn, np.eye(q))
    return Coefficients(turn @ found.values, wide @ found.covariance @ wide.T, found.freedom)


def variance_inflation(X: FloatArray, weight: FloatArray) -> FloatArray:
    """By how much each column's variance grows for its ties to the others: 1 / (1 - R²)."""
    share = weight / weight.sum()
    from_mean = X - share @ X
    deviation = np.sqrt(share @ from_mean**2)
    # A constant column has no ties to anything.
    scaled = from_mean / np.where(deviation > 0, deviation, 1.0)
    related = scaled.T @ (share[:, None] * scaled)
    related[np.diag_indices_from(related)] = 1.0
    if np.linalg.cond(related) > 1e12:
        return np.array([_inflation(related, j) for j in range(len(related))])
    found: FloatArray = np.diag(np.linalg.inv(related)).copy()
    return found


def _inflation(related: FloatArray, j: int) -> float:
    """The same where others may be collinear; infinite for a column that is."""
    others = np.delete(np.arange(len(related)), j)
    inner, own = related[np.ix_(others, others)], related[others, j]
    left = 1.0 - own @ np.linalg.pinv(inner, rcond=1e-10, hermitian=True) @ own
    return float(1 / left) if left > 1e-10 else float("inf")
