"""The smallest mean cross-entropy of a linear model, slowly and by ways that are not safdr's."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

# Columns are capped at so many of their quartile distances, then at more and more, then not at all:
# the optimum of one is where the next starts, so that no huge value hides the others.
CAPS = (3.0, 30.0, 1e3, 1e5, 1e8, 1e12, np.inf)


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


def newton(Z, codes, weight, theta, n_steps: int = 200):
    """Newton's method with a damped Hessian, from theta; coefficients and loss where it ends.

    A step that does not lead down is tried again with more damping, after one that does there is
    less: what is left of it at the end is next to nothing.
    """
    Z = np.column_stack([Z, np.ones(len(Z))])
    share = weight / weight.sum()
    damping = 1e-3
    loss, gradient, hessian = _derivatives(Z, codes, share, theta)
    for _ in range(n_steps):
        # In units of each coefficient's own curvature, so that scales don't matter.
        unit = np.sqrt(np.maximum(np.diag(hessian), 1e-300))
        values, vectors = np.linalg.eigh(hessian / np.outer(unit, unit))
        along = vectors.T @ (gradient / unit)
        # A step may lead to infinity, which is not down.
        with np.errstate(over="ignore", invalid="ignore"):
            step = vectors @ (along / (np.maximum(values, 0.0) + damping)) / unit
            after = _derivatives(Z, codes, share, theta - step.reshape(theta.shape))
        if not after[0] <= loss:
            damping *= 8.0
            if damping > 1e12:
                break
            continue
        gained, promised = loss - after[0], gradient @ step
        theta = theta - step.reshape(theta.shape)
        loss, gradient, hessian = after
        damping = max(damping / 8.0, 1e-15)
        if promised < 1e-15 and gained < 1e-15 and damping <= 1e-14:
            break
    return theta, loss


def _derivatives(Z, codes, share, theta):
    """Loss, gradient and Hessian of the coefficients of all classes but the first."""
    n_others, q = theta.shape
    # Less that of the row's own class: of huge values only the difference of slopes is known.
    slopes = np.vstack([np.zeros(q), theta])
    logits = np.einsum("nj,ncj->nc", Z, slopes - slopes[codes][:, None])
    # As scipy's logsumexp, which takes several times as long for some hundred rows.
    highest = logits.max(axis=1, keepdims=True)
    odds = np.exp(logits - highest)
    total = odds.sum(axis=1, keepdims=True)
    norm = (highest + np.log(total))[:, 0]
    loss = share @ norm
    p = (odds / total)[:, 1:]
    residual = share[:, None] * (p - (codes[:, None] == np.arange(1, n_others + 1)))
    gradient = (residual.T @ Z).ravel()
    hessian = np.empty((n_others, q, n_others, q))
    for a in range(n_others):
        for b in range(n_others):
            curvature = share * p[:, a] * ((a == b) - p[:, b])
            hessian[a, :, b] = Z.T @ (curvature[:, None] * Z)
    return loss, gradient, hessian.reshape(n_others * q, n_others * q)


def loss_of(X, codes, weight, coefficients, intercepts) -> tuple[float, float]:
    """Mean cross-entropy of a model, and the smallest margin of a row's own class over another.

    In extended precision, where there is one: huge values may cancel.
    """
    logits = X.astype(np.longdouble) @ coefficients.T + intercepts
    if logits.ndim == 1:  # one set of coefficients for two classes
        logits = np.column_stack([np.zeros_like(logits), logits])
    rows = np.arange(len(X))
    margins = logits[rows, codes][:, None] - logits
    loss = np.average(np.log(np.exp(-margins).sum(axis=1)), weights=weight)
    margins[rows, codes] = np.inf
    return float(loss), float(margins.min())


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
