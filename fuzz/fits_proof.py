"""What a softmax model may be above the smallest loss: proved, in many digits."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np

DIGITS = 80


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
        logits = Z @ theta.T
        logits = logits - logits.max(axis=1, keepdims=True)
        p = np.exp(logits)
        total = p.sum(axis=1)
        loss = share @ (np.array([number.ln() for number in total]) - logits[own])
        p = p / total[:, None]
        u = Z @ _newton_step(Z, share, p, own).T
        v = u - (p * u).sum(axis=1, keepdims=True)
        return float(loss), float(share @ (p * v * v).sum(axis=1)), float(v.max())


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
    # Gauss and Jordan.
    for i in range(len(system)):
        largest = i + int(np.argmax(np.abs(system[i:, i])))
        system[[i, largest]] = system[[largest, i]]
        system[i] = system[i] / system[i, i]
        factors = system[:, i].copy()
        factors[i] = Decimal(0)
        system = system - factors[:, None] * system[i]
    return np.vstack([np.full(q, Decimal(0)), system[:, -1].reshape(-1, q)])
