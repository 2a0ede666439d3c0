"""The cross-entropy of a softmax model on given columns, and Newton's method to its optimum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from safdr.checkpoint import no_checkpoint
from safdr.moments import FloatArray, IntArray

# Half the squared Newton decrement estimates what is left of the loss (relative to that without
# features). The step that follows leaves next to nothing.
TOL = 1e-11
MAX_ITER = 100
MAX_HALVINGS = 30

# Towards a finite optimum Newton's method converges quadratically: at the end each decrement is a
# tiny part of the one before. On the way to infinity each step divides what is left by e; so many
# such steps in a row, with little left, are enough to tell.
LEAST_SLOW, MOST_SLOW = 0.3, 0.45
SLOW_STEPS = 4
DRIFT_TOL = 1e-8
SLOW_END = 0.1

# Numbers of the Hessian's factor kept at a time: 64 MB.
CHUNK_NUMBERS = 8_000_000


@dataclass(frozen=True, eq=False)
class Point:
    """The loss at some coefficients: value, gradient, probabilities, whether all rows are right."""

    theta: FloatArray
    loss: float
    gradient: FloatArray
    probability: FloatArray
    separated: bool


@dataclass(frozen=True, eq=False)
class Optimum:
    """Where Newton's method ended."""

    theta: FloatArray
    loss: float
    separated: bool
    converged: bool
    n_iter: int


class SoftmaxLoss:
    """Mean cross-entropy of a softmax model as a function of its coefficients.

    Parameters
    ----------
    Z : ndarray of shape (n_samples, n_columns)
        Columns, one of them constant.
    codes : ndarray of shape (n_samples,)
        Class of each row.
    share : ndarray of shape (n_samples,)
        Weight of each row; they sum to one.
    n_classes : int
        Number of classes.
    """

    def __init__(self, Z: FloatArray, codes: IntArray, share: FloatArray, n_classes: int) -> None:
        self.Z = Z
        self.codes = codes
        self.share = share
        self.n_classes = n_classes
        self._rows = np.arange(len(Z))

    def at(self, theta: FloatArray) -> Point:
        """Evaluate the loss at coefficients of shape (n_columns, n_classes)."""
        logits = self.Z @ theta
        logits -= logits.max(axis=1, keepdims=True)
        own = logits[self._rows, self.codes]
        separated = bool((own == 0).all() and np.count_nonzero(logits == 0) == len(own))
        probability = np.exp(logits, out=logits)
        total = probability.sum(axis=1)
        probability /= total[:, None]
        loss = float(self.share @ (np.log(total) - own))
        residual = probability * self.share[:, None]
        residual[self._rows, self.codes] -= self.share
        return Point(theta, loss, self.Z.T @ residual, probability, separated)

    def hessian(self, point: Point) -> FloatArray:
        """Second derivatives, class by class; the last class is the one that stays at zero.

        That of classes c and d is Z' diag(p_c (δ_cd - p_d)) Z. The products p_c p_d of all pairs
        are one matrix product of the rows of p_c z.
        """
        n_columns, n_free = self.Z.shape[1], self.n_classes - 1
        hessian = np.zeros((n_free * n_columns, n_free * n_columns))
        length = max(64, CHUNK_NUMBERS // len(hessian))
        for start in range(0, len(self.Z), length):
            rows = slice(start, start + length)
            Z, probability = self.Z[rows], point.probability[rows, :n_free]
            root = np.sqrt(self.share[rows])[:, None]
            spread = (probability * root)[:, :, None] * Z[:, None, :]
            spread = spread.reshape(len(Z), -1)
            hessian -= spread.T @ spread
            for first in range(0, len(hessian), n_columns):
                block = slice(first, first + n_columns)
                hessian[block, block] += spread[:, block].T @ (root * Z)
        return hessian

    def step(self, point: Point) -> tuple[FloatArray, float]:
        """Newton's step and its squared decrement."""
        hessian = self.hessian(point)
        diagonal = np.diag(hessian)
        scale = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
        hessian *= scale[:, None]
        hessian *= scale
        gradient = point.gradient[:, :-1].T.ravel() * scale
        scaled = _solve(hessian, gradient)
        step = np.zeros_like(point.theta)
        step[:, :-1] = (scaled * scale).reshape(self.n_classes - 1, -1).T
        return step, float(gradient @ scaled)


def _solve(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """Solve with a matrix of unit diagonal; copies of columns get no step of their own."""
    diagonal = np.diag_indices(len(matrix))
    for ridge in 10.0 ** np.arange(-12, 2, 2):
        matrix[diagonal] = 1.0 + ridge
        try:
            factor = cho_factor(matrix, lower=True, check_finite=False)
        except LinAlgError:
            continue
        solution: FloatArray = cho_solve(factor, right, check_finite=False)
        return solution
    return right


def newton(
    loss: SoftmaxLoss,
    theta: FloatArray,
    *,
    null_loss: float,
    checkpoint: Callable[[], None] = no_checkpoint,
) -> Optimum:
    """Newton's method from `theta`, until next to nothing of the loss is left.

    Parameters
    ----------
    loss : SoftmaxLoss
        What to minimise.
    theta : ndarray of shape (n_columns, n_classes)
        Where to start.
    null_loss : float
        Loss without features, in units of which the rest is measured.
    checkpoint : callable, default=no_checkpoint
        Called at each step; may raise to stop.

    Returns
    -------
    Optimum
    """
    point = loss.at(theta)
    previous, full, slow_steps, drifting, near = np.inf, False, 0, False, False
    n_iter = 0
    while not (point.separated or near or n_iter == MAX_ITER):
        checkpoint()
        step, decrement = loss.step(point)
        ratio = decrement / previous
        slow = full and LEAST_SLOW < ratio < MOST_SLOW
        slow_steps = slow_steps + 1 if slow else 0
        left = 0.5 * decrement / null_loss
        drifting = slow_steps >= SLOW_STEPS and left <= DRIFT_TOL
        near = drifting or left <= TOL
        drifting = drifting or (near and n_iter > 0 and ratio > SLOW_END)
        previous = decrement
        # Near the end rounding may hide what a step gains: then where the fit stands will do.
        following = _descend(loss, point, step, 1 if near else MAX_HALVINGS)
        n_iter += 1
        if following is None:
            break
        point, full = following
    return Optimum(
        theta=point.theta,
        loss=0.0 if point.separated else point.loss,
        separated=point.separated or drifting,
        converged=near and not drifting and not point.separated,
        n_iter=n_iter,
    )


def _descend(
    loss: SoftmaxLoss, point: Point, step: FloatArray, n_trials: int
) -> tuple[Point, bool] | None:
    """Where the step leads, halved until the loss does not rise, and whether it was the full one.

    None where the loss rises however short the step is.
    """
    for halving in range(n_trials):
        following = loss.at(point.theta - 0.5**halving * step)
        if following.loss <= point.loss:
            return following, halving == 0
    return None
