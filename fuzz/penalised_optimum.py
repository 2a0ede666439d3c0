"""The smallest penalised loss of a linear model, slowly and by ways that are not safdr's."""

from __future__ import annotations

import numpy as np

from fuzz.cross_entropy import loss_of, newton
from fuzz.estimators_cases import Case
from fuzz.estimators_oracles import squared_error
from fuzz.fits import Optimum

# What a loss may be off, in units of that without features where that is more than one.
CLOSE = 1e-6

# Columns of a model without a penalty that is held against the other solver, as those of fuzz.fits:
# where classes separate, and columns go over ten orders of magnitude, rounding stops larger ones.
MOST_UNPENALISED = 4

# Directions of less than 1e-10 of the variance are left alone without a penalty.
LEAST_DEVIATION = 1e-5


class PenalisedOptimum:
    """What the loss of a subset of a problem should be; each is computed once."""

    def __init__(self, case: Case, C: float) -> None:
        rows = case.row_weights() > 0
        self._weight = case.row_weights()[rows]
        self._X, y = case.X[rows], case.y[rows]
        self._codes = np.unique(y, return_inverse=True)[1] if case.classes else None
        self._y = y.reshape(len(y), -1)
        self._n_classes = case.classes
        self._penalty = 1.0 / (C * self._weight.sum())
        self._without = Optimum(self._X, self._codes, self._weight) if case.classes else None
        self.unit = 1.0 if case.classes else max(1.0, float(self._outputs().var(axis=0).mean()))
        self._known: dict[tuple[int, ...], float] = {}

    def loss(self, subset) -> float:
        """The smallest loss that the independent solver finds."""
        key = tuple(sorted(subset))
        if key not in self._known:
            self._known[key] = float(self._smallest(key))
        return self._known[key]

    def compare(self, subset, loss: float, separated: bool) -> None:
        """Raise if the loss is not the optimum."""
        if self._penalty == 0.0 and self._without is not None:
            if len(subset) <= MOST_UNPENALISED:
                self._without.compare(subset, loss, separated)
            return
        best = self.loss(subset)
        # Without a penalty there may be directions that the other solver leaves alone.
        least = best - CLOSE * self.unit if self._penalty else 0.0
        assert least <= loss <= best + CLOSE * self.unit, f"{subset}: loss {loss}, optimum {best}"

    def check_coefficients(self, subset, loss: float, slopes, intercepts) -> None:
        """Raise if coefficients do not have the loss that they are said to have."""
        X, scale = self._X[:, subset], self._scale(subset)
        slopes = np.atleast_2d(slopes)
        if self._codes is None:
            own = squared_error(X @ slopes.T + intercepts, self._y, self._weight)
            own += self._penalty * np.sum((slopes * scale) ** 2) / len(slopes)
        else:
            own, margin = loss_of(X, self._codes, self._weight, slopes, intercepts)
            if loss == 0:
                assert margin > 0, f"{subset}: separated, and yet a margin of {margin}"
                return
            mean = slopes.mean(axis=0) if len(slopes) > 1 else 0.0
            own += 0.5 * self._penalty * np.sum(((slopes - mean) * scale) ** 2)
        assert abs(own - loss) <= CLOSE * self.unit, f"{subset}: loss {loss}, coefficients {own}"

    def _smallest(self, subset) -> float:
        if self._penalty == 0.0 and self._without is not None:
            return self._without.loss(subset)
        X = self._X[:, list(subset)]
        Z = (X - self._mean(X)) / self._scale(list(subset))
        if self._codes is None:
            return self._smallest_squared_error(Z)
        start = np.zeros((self._n_classes - 1, X.shape[1] + 1))
        return newton(Z, self._codes, self._weight, start, self._penalty)[1]

    def _smallest_squared_error(self, Z) -> float:
        """By LAPACK on the rows, and one row more for each column."""
        share = np.sqrt(self._weight / self._weight.sum())[:, None]
        more = np.sqrt(self._penalty) * np.eye(Z.shape[1])
        left = np.vstack([Z * share, more])
        right = np.vstack([self._outputs() * share, np.zeros((Z.shape[1], self._y.shape[1]))])
        rcond = 1e-12 if self._penalty else LEAST_DEVIATION
        slopes = np.linalg.lstsq(left, right, rcond=rcond)[0]
        return np.sum((right - left @ slopes) ** 2) / self._y.shape[1]

    def _outputs(self):
        """Less their mean."""
        return self._y - self._mean(self._y) if self._codes is None else self._y

    def _mean(self, values):
        mean = np.average(values, axis=0, weights=self._weight)
        # What rounding left, far from zero.
        return mean + np.average(values - mean, axis=0, weights=self._weight)

    def _scale(self, subset):
        """Standard deviations; one for constant columns."""
        X = self._X[:, subset]
        scale = np.sqrt(np.average((X - self._mean(X)) ** 2, axis=0, weights=self._weight))
        return np.where((scale > 0) & (np.ptp(X, axis=0) > 0), scale, 1.0)
