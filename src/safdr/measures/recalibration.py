"""Maps from what a model says to what happens: a line, or a curve that never falls."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, log_softmax

from safdr.measures.inference import fit_numbers, with_intercept
from safdr.measures.intervals import FloatArray, effective_number
from safdr.measures.numbers import quantiles

# Straight pieces that are tried; on the 24,000 rows of the card data 12 win over 8 and 16.
PIECES = (1, 2, 3, 5, 8, 12, 16)
# Rows of the rarer class for each piece: of fewer its slope is noise.
ROWS_PER_PIECE = 25


@dataclass(frozen=True)
class Curve:
    """Straight pieces joined at knots: an intercept, and slope times score within each piece."""

    intercept: float
    slopes: tuple[float, ...]
    knots: tuple[float, ...] = ()

    @property
    def pieces(self) -> list[tuple[float, float, float]]:
        """Slope of each piece, and the scores that it lies between; the outer ones have no end."""
        ends = [-np.inf, *self.knots, np.inf]
        return list(zip(self.slopes, ends, ends[1:], strict=False))

    @property
    def is_line(self) -> bool:
        """Whether there is one piece."""
        return not self.knots

    def __call__(self, scores: FloatArray) -> FloatArray:
        """Log-odds of scores."""
        total = np.full(len(scores), self.intercept)
        for slope, low, high in self.pieces:
            total += slope * np.clip(scores, low, high)
        return total


def fit_curve(
    scores: FloatArray, happened: NDArray[np.bool_], weight: FloatArray, most_pieces: int = 16
) -> Curve:
    """The curve of the fewest pieces that scores and outcomes ask for, by Schwarz's criterion.

    Slopes are not negative, so that no two rows change places. Outcomes are pulled in a little, by
    one more row of each class (Platt), or scores that separate the classes had no finite slope.
    """
    scale = effective_number(weight) / weight.sum()
    rarest = min(int((happened & (weight > 0)).sum()), int((~happened & (weight > 0)).sum()))
    most = max(1, min(most_pieces, rarest // ROWS_PER_PIECE))
    tried = [knots for knots in _knots(scores, weight) if len(knots) < most]
    found = [_fit(scores, happened, scale * weight, knots) for knots in tried]
    price = np.log(max(2.0, effective_number(weight)))
    costs = [2 * loss + price * (1 + len(curve.slopes)) for loss, curve in found]
    return found[int(np.argmin(costs))][1]


def _knots(scores: FloatArray, weight: FloatArray) -> list[list[float]]:
    """Knots at quantiles of the scores, for each number of pieces that can be had."""
    found: list[list[float]] = []
    for n in PIECES:
        knots = sorted({*quantiles(scores, weight, np.arange(1, n) / n)} - {scores.max()})
        if len(knots) == n - 1 and (not knots or knots[0] > scores.min()):
            found.append(knots)
    return found


def _fit(
    scores: FloatArray, happened: NDArray[np.bool_], weight: FloatArray, knots: list[float]
) -> tuple[float, Curve]:
    """Least log-loss of a curve with these knots."""
    # What is left of the spread of equal scores is rounding.
    middle, spread = float(scores.mean()), float(scores.std()) if np.ptp(scores) > 0 else 1.0
    ends = [-np.inf, *knots, np.inf]
    columns = np.column_stack([np.clip(scores, low, high) for low, high in pairwise(ends)])
    means = columns.mean(axis=0)
    X = with_intercept((columns - means) / spread)
    wanted = _pulled_in(happened, weight)

    def loss(free: FloatArray) -> tuple[float, FloatArray]:
        odds = X @ free
        value = weight @ (np.logaddexp(0.0, odds) - wanted * odds)
        return float(value), X.T @ (weight * (expit(odds) - wanted))

    start = np.ones(X.shape[1]) * spread
    start[0] = middle
    bounds = [(None, None), *[(0.0, None)] * (X.shape[1] - 1)]
    options = {"ftol": 1e-12, "gtol": 1e-7, "maxiter": 500}
    found = minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B", options=options)
    slopes = found.x[1:] / spread
    curve = Curve(float(found.x[0] - slopes @ means), tuple(slopes.tolist()), tuple(knots))
    return float(found.fun), curve


def _pulled_in(happened: NDArray[np.bool_], weight: FloatArray) -> FloatArray:
    positive, negative = float(weight @ happened), float(weight @ ~happened)
    return np.where(happened, (positive + 1) / (positive + 2), 1 / (negative + 2))


def fit_shifts(
    scores: FloatArray, codes: NDArray[np.int64], weight: FloatArray
) -> tuple[float, FloatArray]:
    """A slope for the scores of all classes, and what each class gets on top of it."""
    n_classes = scores.shape[1]
    target = np.eye(n_classes)[codes]
    share = weight / weight.sum()

    def loss(free: FloatArray) -> tuple[float, FloatArray]:
        logs = log_softmax(free[0] * scores + free[1:], axis=1)
        left = share[:, None] * (np.exp(logs) - target)
        # A trace of a penalty: shifts of all classes alike change nothing.
        value = -(share * (target * logs).sum(axis=1)).sum() + 1e-9 * free @ free
        return float(value), np.append((left * scores).sum(), left.sum(axis=0)) + 2e-9 * free

    bounds = [(0.0, None), *[(None, None)] * n_classes]
    options = {"ftol": 1e-14, "gtol": 1e-9, "maxiter": 1000}
    start = np.append(1.0, np.zeros(n_classes))
    found = minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B", options=options)
    return float(found.x[0]), found.x[1:] - found.x[1:].mean()


def fit_line(predicted: FloatArray, y: FloatArray, weight: FloatArray) -> tuple[float, float]:
    """Slope and intercept of a quantity on its predictions; no slope below 0."""
    found = None
    if np.ptp(predicted) > 0:
        found = fit_numbers(with_intercept(predicted[:, None]), y, weight)
    slope = 0.0 if found is None else max(0.0, float(found.values[0, 1]))
    return slope, float(weight @ (y - slope * predicted) / weight.sum())
