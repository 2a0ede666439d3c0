"""Families of losses in NumPy, a slow solver, and the bound of what a loss can still fall by."""

from typing import NamedTuple

import numpy as np

from safdr import _core
from safdr._engine.fits.family import COX, GAMMA, LOGISTIC, POISSON, SOFTMAX, SQUARED

FAMILIES = {family.name: family for family in (POISSON, GAMMA, COX)}


class At(NamedTuple):
    """A loss near linear predictors of shape (n_rows, n_outputs)."""

    loss: float
    slope: np.ndarray
    bend: object  # W u


def _by_rows(derivatives):
    def at(eta, y, weight, time):
        del time
        loss, slope, curvature = derivatives(eta[:, 0], y, weight)
        W = (weight * curvature)[:, None]
        return At(weight @ loss, (weight * slope)[:, None], lambda u: W * u)

    return at


def _softmax(eta, y, weight, time):
    del time
    loss, slope, _ = SOFTMAX.derivatives(eta, y, weight)
    p = slope + (y.astype(int)[:, None] == np.arange(eta.shape[1]))
    W = weight[:, None] * p
    bend = lambda u: W * (u - np.sum(p * u, axis=1, keepdims=True))  # noqa: E731
    return At(weight @ loss, weight[:, None] * slope, bend)


def _cox(eta, y, weight, time):
    at_risk = time[None, :] >= time[:, None]
    eta = eta[:, 0]
    p = weight * np.exp(eta - eta.max())
    total = at_risk @ p
    events = weight * y
    loss = events @ (np.log(total) + eta.max() - eta)
    p = at_risk * p / total[:, None]  # of each event, over its risk set
    slope = events @ p - events

    def bend(u):
        return (events[:, None] * p * (u[:, 0] - p @ u)).sum(axis=0)[:, None]

    return At(loss, slope[:, None], bend)


def _largest(u):
    return np.abs(u).max()


# How far a step goes, in units of what the bound allows.
REACH = {
    "logistic": _largest,
    "softmax": lambda u: np.ptp(u, axis=1).max(),
    "squared": lambda u: 0.0,
    "poisson": _largest,
    "gamma": _largest,
    "cox": np.ptp,
}
NEAR = {
    "logistic": _by_rows(LOGISTIC.derivatives),
    "softmax": _softmax,
    "squared": _by_rows(SQUARED.derivatives),
    "poisson": _by_rows(POISSON.derivatives),
    "gamma": _by_rows(GAMMA.derivatives),
    "cox": _cox,
}


class Problem(NamedTuple):
    """A penalised loss of linear predictors; the last column of Z is one, its slope is free."""

    family: str
    Z: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    penalty: float
    n_outputs: int = 1
    time: np.ndarray | None = None

    def at(self, theta):
        """Return the loss near coefficients of shape (n_columns, n_outputs), and the gradient."""
        near = NEAR[self.family](self.Z @ theta, self.y, self.weight, self.time)
        slopes = np.vstack([theta[:-1], np.zeros(theta.shape[1])])
        loss = near.loss + 0.5 * self.penalty * np.sum(slopes**2)
        return loss, self.Z.T @ near.slope + self.penalty * slopes, near

    def hessian(self, near):
        """Return second derivatives in all coefficients."""
        n = self.Z.shape[1] * self.n_outputs
        columns = [self.product(near, e.reshape(-1, self.n_outputs)).ravel() for e in np.eye(n)]
        return np.array(columns, dtype=float)

    def product(self, near, step):
        """Return the Hessian times a step."""
        out = self.Z.T @ near.bend(self.Z @ step)
        out[:-1] += self.penalty * step[:-1]
        return out

    def newton_step(self, near, gradient):
        """Return a step that solves Newton's equations in double precision."""
        right = np.asarray(gradient, dtype=float).ravel()
        found = np.linalg.lstsq(self.hessian(near), right, rcond=1e-14)[0]
        return found.reshape(gradient.shape).astype(self.Z.dtype)

    def optimum(self, theta=None, n_steps=100):
        """Return coefficients and loss at the optimum, by Newton's method with halvings."""
        theta = np.zeros((self.Z.shape[1], self.n_outputs)) if theta is None else theta
        loss, gradient, near = self.at(theta)
        for _ in range(n_steps):
            step, part = self.newton_step(near, gradient), 1.0
            while part > 1e-9:
                with np.errstate(over="ignore", invalid="ignore"):
                    trial = self.at(theta - part * step)
                if trial[0] < loss:
                    break
                part /= 2
            else:
                break
            theta = theta - part * step
            loss, gradient, near = trial
        return theta, loss

    def bound(self, theta, step):
        """Return what the loss at theta can fall by at most, and the reach of the step."""
        _, gradient, near = self.at(theta)
        step, rest = self.without_intercepts(near, step, gradient)
        slack = np.sum(rest[:-1] ** 2) / (2 * self.penalty)
        return np.sum(gradient * step) + slack, REACH[self.family](self.Z @ step)

    def without_intercepts(self, near, step, gradient):
        """Return the step that leaves intercepts no residual, and the residual."""
        if self.family == "cox":
            return step, gradient - self.product(near, step)
        H = np.zeros((self.n_outputs, self.n_outputs))
        for c in range(self.n_outputs):
            e = np.zeros((len(self.Z), self.n_outputs), dtype=self.Z.dtype)
            e[:, c] = 1
            H[:, c] = near.bend(e).sum(axis=0)
        inverse = np.linalg.pinv(H, rcond=1e-13)
        for _ in range(4):
            rest = gradient - self.product(near, step)
            step = step.copy()
            step[-1] += inverse @ rest[-1].astype(float)
        return step, gradient - self.product(near, step)


def random_problem(family, rng, n_rows=40, n_features=3):
    """Return rows with heavy tails and weights over many orders of magnitude."""
    Z = rng.standard_t(df=rng.choice([1.5, 3.0, 30.0]), size=(n_rows, n_features))
    Z = np.column_stack([(Z - Z.mean(axis=0)) / Z.std(axis=0), np.ones(n_rows)])
    eta = Z[:, :2] @ rng.normal(size=2)
    n_outputs = int(rng.integers(3, 6)) if family == "softmax" else 1
    y = {
        "logistic": lambda: (eta + rng.logistic(size=n_rows) > 0).astype(float),
        "softmax": lambda: rng.integers(0, n_outputs, n_rows).astype(float),
        "squared": lambda: eta + rng.normal(size=n_rows),
        "poisson": lambda: rng.poisson(np.exp(np.clip(eta, -3, 3))).astype(float),
        "gamma": lambda: rng.gamma(2.0, np.exp(np.clip(eta, -3, 3))) + 1e-3,
        "cox": lambda: (rng.random(n_rows) < 0.7).astype(float),
    }[family]()
    y[:6] = np.arange(6) % max(2, n_outputs) if family in ("logistic", "softmax", "cox") else y[:6]
    weight = 10.0 ** rng.uniform(-6, 0, n_rows) if rng.random() < 0.5 else np.ones(n_rows)
    time = -np.sort(-np.round(rng.exponential(size=n_rows) * np.exp(-np.clip(eta, -3, 3)), 1))
    penalty = 10.0 ** rng.uniform(-4, 0)
    return Problem(family, Z, y, weight / weight.sum(), penalty, n_outputs, time)


# ---- The compiled solver -------------------------------------------------------------------------


def core_target(problem):
    """Return the target as the core reads it: times with a minus for censored rows."""
    if problem.family != "cox":
        return problem.y
    return np.where(problem.y > 0, 1.0, -1.0) * (problem.time + 1.0)


def fit_compiled(problem):
    """Return coefficients, the loss less that of a perfect fit, and what is left at most."""
    family, q = FAMILIES[problem.family], problem.Z.shape[1]
    every = np.arange(q - 1, dtype=np.int32)
    Z = _core.standardise(problem.Z[:, :-1].copy(), np.zeros(q - 1), np.ones(q - 1), every)
    y, weight = core_target(problem), problem.weight
    null, options = family.null_model(y, weight), {"best_only": False, "separable": False}
    options |= {"penalty": problem.penalty, "tol": 1e-13, "incumbent": np.inf, "n_threads": 1}
    theta, loss, _, _, left, _ = _core.fit_subsets(
        family.name, Z, y, weight, null, every[None], **options
    )
    return theta[0, 0], loss[0], left[0]
