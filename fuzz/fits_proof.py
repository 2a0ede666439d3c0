"""What a softmax model may be above the smallest loss: proved, in many digits."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np

DIGITS = 80

# A model that was rounded may be so far from the optimum that its step proves nothing: that of the
# model after so many exact steps will.
MOST_STEPS = 8

# Share of its curvature that others leave an unknown, where they stand for it.
NOTHING = Decimal("1e-60")


def proof(X, codes, weight, coefficients, intercepts) -> tuple[float, float, float]:
    """Mean cross-entropy of a model, what it is at most above the optimum, and the largest v.

    By duality: let u be what Newton's step takes from the logits of a row, v = u less its mean by
    the probabilities p. With p (1 - v) in place of p the gradient is zero; if no v is above 1, no
    model has a loss that is smaller by more than the mean of the sums of p v^2. That takes no
    solver, only digits.
    """
    with localcontext() as context:
        context.prec = DIGITS
        Z, theta = _exact(np.c_[X, np.ones(len(X))]), _exact(np.c_[coefficients, intercepts])
        share = _exact(weight)
        share = share / share.sum()
        own = np.arange(len(theta)) == np.asarray(codes)[:, None]
        loss, p = _loss(Z, share, own, theta)
        given = loss
        for _ in range(MOST_STEPS + 1):
            step = _newton_step(Z, share, p, own)
            u = Z @ step.T
            v = u - (p * u).sum(axis=1, keepdims=True)
            left = given - loss + share @ (p * v * v).sum(axis=1)
            if v.max() < 1:
                break
            theta = theta - step
            loss, p = _loss(Z, share, own, theta)
        return float(given), float(left), float(v.max())


def _loss(Z, share, own, theta):
    """Mean cross-entropy, and the probabilities of each row."""
    logits = Z @ theta.T
    logits = logits - logits.max(axis=1, keepdims=True)
    p = np.exp(logits)
    total = p.sum(axis=1)
    # The logarithm of a product takes as long as that of each of its numbers.
    logs = sum(each * np.prod(total[share == each]).ln() for each in set(share))
    return logs - share @ logits[own], p / total[:, None]


def _exact(numbers):
    """Those of an array, as they are."""
    return np.vectorize(Decimal, otypes=[object])(np.asarray(numbers, dtype=float))


def _newton_step(Z, share, p, own):
    """One row a class, of which the first is zero."""
    n_classes, q = p.shape[1], Z.shape[1]
    classes = range(1, n_classes)
    system = np.vstack(
        [
            np.hstack(
                [Z.T @ ((share * p[:, a] * (int(a == b) - p[:, b]))[:, None] * Z) for b in classes]
                + [(Z.T @ (share * (p[:, a] - own[:, a])))[:, None]]
            )
            for a in classes
        ]
    )
    # Gauss and Jordan, the unknown that others leave most of its curvature next; none for the rest.
    size, found = len(system), []
    whole = np.array([max(system[i, i], NOTHING) for i in range(size)])
    while len(found) < size:
        i = max(set(range(size)) - set(found), key=lambda i: system[i, i] / whole[i])
        if system[i, i] <= NOTHING * whole[i]:
            break
        found.append(i)
        system[i] = system[i] / system[i, i]
        factors = system[:, i].copy()
        factors[i] = Decimal(0)
        system = system - factors[:, None] * system[i]
    step = np.full(size, Decimal(0))
    step[found] = system[found, -1]
    return np.vstack([np.full(q, Decimal(0)), step.reshape(-1, q)])
