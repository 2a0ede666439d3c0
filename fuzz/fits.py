"""Fits of adversarial columns, certified by a bound in extended precision."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

from safdr._engine.criterion import make_criterion
from safdr._engine.fits.columns import Standardiser
from safdr._engine.fits.family import LOGISTIC, SOFTMAX
from safdr._engine.fits.fitter import LinearFitter
from safdr._engine.moments import moments_of

# What a loss may be above its optimum, as a share of the loss without features.
CLOSE = 1e-8
# What the loss of another than the best may be off, as a share of its distance to the best.
MOST_OFF = 0.1


def check(rng: np.random.Generator) -> None:
    """Fit subsets of random columns of two to five classes with a random penalty."""
    X, codes, weight = adversarial_rows(rng)
    penalty = 1.0 / float(10.0 ** rng.uniform(-2, 4) * weight.sum())
    n_classes = int(codes.max()) + 1
    criterion = make_criterion(moments_of(X, codes, n_classes, weight), 1e-6)
    family = LOGISTIC if n_classes == 2 else SOFTMAX
    rows = Standardiser(X, criterion.marginals)
    fitter = LinearFitter(family, rows, codes.astype(float), weight, penalty)
    size, n_subsets = int(rng.integers(1, 6)), int(rng.integers(2, 25))
    subsets = np.array([np.sort(rng.permutation(X.shape[1])[:size]) for _ in range(n_subsets)])
    every, null = fitter.fit(subsets), fitter.baseline()
    for i in range(min(3, n_subsets)):
        gap = bound(fitter, subsets[i], every.take(np.array([i])))
        assert gap <= CLOSE * null, f"{subsets[i]}: {gap} above the optimum, of {null}"
    best = fitter.fit(subsets, best_only=True)
    winner, smallest = np.argmin(best.losses), every.losses.min()
    assert every.losses[winner] <= smallest + CLOSE * null, f"{subsets[winner]} is not the best"
    off, distance = best.losses - every.losses, every.losses - smallest
    wrong = np.abs(off) > MOST_OFF * distance + CLOSE * null
    assert not wrong.any(), f"{subsets[wrong][0]}: loss off by {off[wrong][0]}"


def adversarial_rows(rng: np.random.Generator):
    """Return heavy tails, huge values, near duplicates, weights over twelve orders."""
    n_rows, n_classes = int(rng.integers(20, 200)), int(rng.choice([2, 2, 3, 4, 5]))
    codes = rng.integers(0, n_classes, n_rows)
    codes[: 2 * n_classes] = np.repeat(np.arange(n_classes), 2)
    columns: list[Any] = []
    for _ in range(8):
        z = rng.normal(size=n_rows) + codes * rng.uniform(0, 1.5)
        kinds = [
            z,
            1e8 * rng.standard_cauchy(n_rows) + codes,
            np.exp(2 * z),
            1e9 + z,
            1e13 * z,
            (codes == 0) ^ (rng.random(n_rows) < 0.03),
            rng.random(n_rows) < 0.05,
        ]
        columns.append(np.asarray(kinds[rng.integers(7)], dtype=float))
    near = columns[int(rng.integers(8))]
    columns.append(near + 10.0 ** rng.uniform(-8, -3) * near.std() * rng.normal(size=n_rows))
    weight = 10.0 ** rng.uniform(-12, 0, n_rows) if rng.random() < 0.3 else np.ones(n_rows)
    weight[: 2 * n_classes] = 1.0
    return np.column_stack(columns), codes, weight


def bound(fitter, subset, fits) -> float:
    """Return what the loss of a model can fall by at most, in extended precision."""
    Z = fitter._rows._all
    n_rows = len(fitter._y)
    Z = Z.transpose(0, 2, 1).reshape(-1, Z.shape[1])[:n_rows][:, [*subset, -1]]
    center, scale = fitter._rows.center[subset], fitter._rows.scale[subset]
    slopes = np.atleast_2d(fits.coefficients[0])
    theta = np.vstack([(slopes * scale).T, np.atleast_1d(fits.intercepts[0]) + slopes @ center])
    share, indicator = fitter._share, fitter._y[:, None] == np.arange(theta.shape[1])
    if theta.shape[1] == 1:
        indicator = fitter._y[:, None]
    Z, theta = Z.astype(np.longdouble), theta.astype(np.longdouble)
    eta = Z @ theta
    if theta.shape[1] == 1:
        p, curvature = expit(eta), expit(eta) * expit(-eta)
        bend = lambda u: share[:, None] * curvature * u  # noqa: E731
    else:
        p = np.exp(eta - eta.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        bend = lambda u: share[:, None] * p * (u - (p * u).sum(axis=1, keepdims=True))  # noqa: E731
    ridge = np.full((len(theta), 1), fitter.penalty)
    ridge[-1] = 0.0
    gradient = Z.T @ (share[:, None] * (p - indicator)) + ridge * theta
    unit = np.eye(theta.size).reshape(-1, *theta.shape)
    H = np.array([(Z.T @ bend(Z @ e) + ridge * e).ravel() for e in unit], dtype=float)
    inverse = np.linalg.pinv(H, rcond=1e-15, hermitian=True)
    of_intercepts = np.linalg.pinv(H.reshape(*theta.shape, *theta.shape)[-1, :, -1], rcond=1e-13)
    step = np.zeros_like(theta)
    rest = gradient
    for turn in range(8):  # iterative refinement, at last of the intercepts alone
        step = step.copy()
        if turn < 4:
            step += (inverse @ rest.ravel().astype(float)).reshape(theta.shape)
        else:
            step[-1] += of_intercepts @ rest[-1].astype(float)
        rest = gradient - (Z.T @ bend(Z @ step) + ridge * step)
    u = Z @ step
    reach = np.abs(u).max() if theta.shape[1] == 1 else np.ptp(u, axis=1).max()
    assert reach <= 1.0, f"{subset}: no bound, a step moves a row by {reach}"
    return float(np.sum(gradient * step) + np.sum(rest[:-1] ** 2) / (2 * fitter.penalty))
