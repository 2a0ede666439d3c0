"""The smallest mean cross-entropy of a linear model, slowly and by ways that are not safdr's."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from scipy.optimize import linprog

# Columns are capped at so many of their quartile distances, then at more and more, then not at all:
# the optimum of one is where the next starts, so that no huge value hides the others.
CAPS = (3.0, 30.0, 1e3, 1e5, 1e8, 1e12, np.inf)

# What a step may promise and gain at the end.
TOL = 1e-15

# Where rounding may take more than this from a logit, it is computed exactly.
MOST_ROUNDED = 1e-8


def smallest_loss(X, codes, n_classes, weight) -> float:
    """Mean cross-entropy at the best point that either of two ways leads to."""
    low, median, high = np.percentile(X, [25, 50, 75], axis=0)
    near, spread = high - low, _spread(X)
    robust = (X - median) / np.where(near > 1e-12 * spread, near, spread)
    theta = np.zeros((n_classes - 1, X.shape[1] + 1))
    for cap in CAPS:
        if cap < np.inf and np.abs(robust).max() <= cap:
            continue
        theta, capped = newton(np.clip(robust, -cap, cap), codes, weight, theta)
    _, plain = newton((X - X.mean(axis=0)) / spread, codes, weight, np.zeros_like(theta))
    return min(capped, plain)


def _spread(X):
    """Standard deviations of the columns; one for those that are constant."""
    deviation = X.std(axis=0)
    return np.where(deviation > 0, deviation, 1.0)


def newton(Z, codes, weight, theta, penalty: float = 0.0, n_steps: int = 200):
    """Newton's method with a damped Hessian, from theta; coefficients and loss where it ends.

    A step that does not lead down is tried again with more damping, after one that does there is
    less: what is left of it at the end is next to nothing. Half the penalty times the squared
    slopes is part of the loss: that of two classes has one slope a column, that of more one a
    class, which sum to zero.
    """
    Z = np.column_stack([Z, np.ones(len(Z))])
    share = weight / weight.sum()
    damping = 1e-3
    pull = penalty * _squares(*theta.shape)
    loss, p = _loss(Z, codes, share, theta, pull)
    gradient, bend = _derivatives(Z, codes, share, theta, p, pull)
    for _ in range(n_steps):
        # A step may lead to infinity, which is not down.
        with np.errstate(over="ignore", invalid="ignore"):
            step = bend.solve(gradient, damping)
            promised = gradient @ step
            after, p = _loss(Z, codes, share, theta - step.reshape(theta.shape), pull)
        if not after <= loss:
            # With more damping it promises even less.
            if promised < TOL:
                break
            damping *= 8.0
            continue
        gained, loss = loss - after, after
        theta = theta - step.reshape(theta.shape)
        damping = max(damping / 8.0, 1e-15)
        if promised < TOL and gained < TOL and damping <= 10 * TOL:
            break
        gradient, bend = _derivatives(Z, codes, share, theta, p, pull)
    return theta, loss


def _squares(n_others: int, q: int):
    """The squared slopes as a quadratic form of all coefficients, of which intercepts are last."""
    # Those of the first class are zero here; the mean over the classes is taken off all.
    n_classes = n_others + 1
    of_classes = np.eye(n_others) - (1.0 / n_classes if n_classes > 2 else 0.0)
    return np.kron(of_classes, np.diag(np.append(np.ones(q - 1), 0.0)))


def _loss(Z, codes, share, theta, pull):
    """Mean penalised cross-entropy, and the probabilities of all classes but the first."""
    # Less that of the row's own class: of huge values only the difference of slopes is known.
    slopes = np.vstack([np.zeros(theta.shape[1]), theta])
    logits = np.einsum("nj,ncj->nc", Z, slopes - slopes[codes][:, None])
    # As scipy's logsumexp, which takes several times as long for some hundred rows.
    largest = logits.max(axis=1)
    odds = np.exp(logits - largest[:, None])
    total = odds.sum(axis=1)
    punished = 0.5 * theta.ravel() @ pull @ theta.ravel()
    return share @ (largest + np.log(total)) + punished, odds[:, 1:] / total[:, None]


def _derivatives(Z, codes, share, theta, p, pull):
    """Gradient and curvature of the coefficients of all classes but the first."""
    n_others, q = p.shape[1], Z.shape[1]
    residual = share[:, None] * (p - (codes[:, None] == np.arange(1, n_others + 1)))
    gradient = (residual.T @ Z).ravel() + pull @ theta.ravel()
    hessian = np.empty((n_others, q, n_others, q))
    for a in range(n_others):
        for b in range(a, n_others):
            curvature = share * p[:, a] * ((a == b) - p[:, b])
            hessian[a, :, b] = hessian[b, :, a] = Z.T @ (curvature[:, None] * Z)
    return gradient, _Curvature(hessian.reshape(n_others * q, n_others * q) + pull)


class _Curvature:
    """A Hessian in units of each coefficient's own curvature, so that scales don't matter."""

    def __init__(self, hessian) -> None:
        self._unit = np.sqrt(np.maximum(np.diag(hessian), 1e-300))
        self._values, self._vectors = np.linalg.eigh(hessian / np.outer(self._unit, self._unit))

    def solve(self, gradient, damping: float):
        """Newton's step."""
        along = self._vectors.T @ (gradient / self._unit)
        return self._vectors @ (along / (np.maximum(self._values, 0.0) + damping)) / self._unit


def loss_of(X, codes, weight, coefficients, intercepts) -> tuple[float, float]:
    """Mean cross-entropy of a model, and the smallest margin of a row's own class over another."""
    Z = np.column_stack([X, np.ones(len(X))])
    theta = np.column_stack([np.atleast_2d(coefficients), np.ravel(intercepts)])
    if len(theta) == 1:  # one set of coefficients for two classes
        theta = np.vstack([np.zeros_like(theta), theta])
    terms = np.abs(Z).max(axis=0) * np.abs(theta)
    logits = Z @ theta.T
    if np.finfo(float).eps * terms.max() > MOST_ROUNDED:
        logits = _exact(Z) @ _exact(theta).T
    rows = np.arange(len(X))
    margins = (logits[rows, codes][:, None] - logits).astype(float)
    margins[rows, codes] = np.inf
    return float(np.average(_loss_of_margins(margins), weights=weight)), float(margins.min())


def _exact(numbers):
    """Those of an array, as they are."""
    return np.vectorize(Fraction, otypes=[object])(numbers)


def _loss_of_margins(margins):
    """Cross-entropy of each row, where that of its own class is infinite."""
    largest = np.maximum(0.0, -margins.min(axis=1))
    return largest + np.log(np.exp(-largest) + np.exp(-margins - largest[:, None]).sum(axis=1))


def is_separated(X, codes, n_classes) -> bool:
    """Whether some direction puts no row on the wrong side of any class, and one on its own.

    By a linear program: the sum of what the rows gain, each at most one, is as large as it can be.
    """
    Z = np.column_stack([(X - X.mean(axis=0)) / _spread(X), np.ones(len(X))])
    q = Z.shape[1]
    # Of each row and each other class: what a direction adds to the logit of the row's own class
    # more than to that of the other.
    sides = []
    for c in range(n_classes):
        others = np.flatnonzero(codes != c)
        side = np.zeros((len(others), n_classes * q))
        side[:, c * q : (c + 1) * q] = -Z[others]
        for n, own in enumerate(codes[others]):
            side[n, own * q : (own + 1) * q] = Z[others[n]]
        sides.append(side)
    A = np.vstack(sides)
    found = linprog(-A.sum(axis=0), A_ub=-A, b_ub=np.zeros(len(A)), bounds=(-1, 1), method="highs")
    return bool(found.status == 0 and -found.fun > 1e-6)
