"""Logistic, softmax and least-squares fits against independent solvers, on nasty columns."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fuzz.cases import Case
from fuzz.cross_entropy import is_separated, loss_of, newton, smallest_loss
from fuzz.oracles import scale_of, smallest_squared_error, squared_error, weighted_mean
from fuzz.selectors import evaluate, fit, make_selector, models_of

# Excess loss: with an optimum, and of separated rows, whose fits end early.
MAX_EXCESS, MAX_EXCESS_SEPARATED = 1e-6, 1e-4
# Rounding of the loss of given coefficients.
MAX_ERROR = 1e-6
PENALTIES = (0.01, 0.1, 1.0, 10.0, 100.0)
# Linear programs of more rows or classes, or columns over more orders of magnitude, take long or
# are wrong.
MAX_ROWS, MAX_CLASSES, MAX_ORDERS, LARGEST = 300, 3, 1e4, 1e6


def check(rng: np.random.Generator) -> None:
    """Fit given subsets, and candidates of a search."""
    case = make(rng)
    if not np.ptp(case.X, axis=0).any():
        return
    optimum = Optimum(case)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = fit(make_selector(case), case)
        some = [np.sort(rng.permutation(case.n_features)[: case.size]) for _ in range(4)]
        evaluation = evaluate(case, some)
    check_winner(fitted, optimum)
    coefficients, intercepts, separated = models_of(evaluation)
    for i, subset in enumerate(some):
        optimum.check(subset, evaluation.losses[i], separated[i], coefficients[i], intercepts[i])


def check_winner(fitted: Any, optimum: Optimum) -> None:
    """No candidate has a smaller loss than the selected subset."""
    result = fitted.result_
    best = result.best
    subset, loss = fitted.subset_, result.losses[best]
    model = result.coefficients[best], result.intercepts[best]
    optimum.check(subset, loss, bool(result.separated[best]), *model)
    candidates = {tuple(sorted(subset)) for subset in result.subsets.tolist()}
    least = min(optimum.loss(subset) for subset in candidates)
    most = least + MAX_EXCESS * optimum.unit
    assert loss <= most, f"another candidate has {least}, the selected subset {loss}"


def make(rng: np.random.Generator) -> Case:
    """Return nasty rows of two to five classes, or with a continuous target."""
    X, codes, weight = random_rows(rng)
    C = np.inf if rng.random() < 0.5 else float(rng.choice(PENALTIES))
    n_classes, y = int(codes.max()) + 1, codes
    if rng.random() < 0.15:
        n_classes, y = 0, codes + rng.normal(size=len(X))
    largest = min(len(X) + 1 if X.shape[1] >= len(X) else 4, X.shape[1])
    screen = [None, "auto", 5][rng.integers(3)]
    return Case(
        X,
        y,
        n_classes,
        size=int(rng.integers(1, largest + 1)),
        weight=weight,
        C=C,
        shrinkage="auto" if rng.random() < 0.5 else 1e-6,
        annealing={"n_replicas": int(rng.choice([1, 10])), "max_steps": 20, "screen": screen},
        seed=int(rng.integers(2**31)),
    )


class Optimum:
    """The smallest loss of each subset of a case, computed once."""

    def __init__(self, case: Case) -> None:
        self._X, self._y, self._weight = case.X, case.y, case.row_weights()
        self._n_classes = case.n_classes
        self._penalty = 1.0 / (case.C * self._weight.sum())
        self.unit = 1.0 if case.n_classes else max(1.0, float(np.var(case.y)))
        self._known: dict[tuple[int, ...], float] = {}

    def loss(self, subset: Any) -> float:
        """Return the smallest loss that the independent solver finds."""
        key = tuple(sorted(int(j) for j in subset))
        if key not in self._known:
            self._known[key] = float(self._smallest(self._X[:, list(key)]))
        return self._known[key]

    def _smallest(self, X: np.ndarray) -> float:
        if not self._n_classes:
            return smallest_squared_error(X, self._y, self._weight, self._penalty)
        if not self._penalty:
            columns = without_rounded_sums(X)
            return smallest_loss(columns, self._y, self._n_classes, self._weight)
        Z = (X - weighted_mean(X, self._weight)) / scale_of(X, self._weight)
        start = np.zeros((self._n_classes - 1, X.shape[1] + 1))
        return newton(Z, self._y, self._weight, start, self._penalty)[1]

    def check(
        self, subset: Any, loss: float, separated: bool, slopes: Any, intercepts: Any
    ) -> None:
        """Raise an error if the loss, the separation or the coefficients are wrong."""
        best = self.loss(subset)
        what = f"{subset}: loss {loss}, optimum {best}, separated {separated}"
        excess = MAX_EXCESS_SEPARATED if separated else MAX_EXCESS
        assert loss <= best + excess * self.unit, what
        X = self._X[:, subset]
        if not self._n_classes:
            assert abs(self._squared_error(X, slopes, intercepts) - loss) <= 1e-6 * self.unit, what
            return
        assert not (separated and self._penalty), what
        columns = without_rounded_sums(X)
        if not self._penalty and self._can_be_judged(columns):
            assert separated == is_separated(columns, self._y, self._n_classes), what
        own, margin = loss_of(X, self._y, self._weight, slopes, intercepts)
        if loss == 0:
            assert margin > 0, what
            return
        own += 0.5 * self._penalty * self._squares(X, slopes)
        assert abs(own - loss) <= MAX_ERROR, f"{what}, its coefficients {own}"

    def _squares(self, X: np.ndarray, slopes: Any) -> float:
        """Squared slopes of standardised columns; those of several classes sum to zero."""
        slopes = np.atleast_2d(slopes)
        mean = slopes.mean(axis=0) if len(slopes) > 1 else 0.0
        return float(np.sum(((slopes - mean) * scale_of(X, self._weight)) ** 2))

    def _squared_error(self, X: np.ndarray, slopes: Any, intercepts: Any) -> float:
        predicted = X @ np.ravel(slopes) + np.ravel(intercepts)
        squares = np.sum((np.ravel(slopes) * scale_of(X, self._weight)) ** 2)
        return squared_error(predicted, self._y, self._weight) + self._penalty * float(squares)

    def _can_be_judged(self, columns: np.ndarray) -> bool:
        """Return True if a linear program can tell whether these columns separate."""
        if len(columns) > MAX_ROWS or self._n_classes > MAX_CLASSES:
            return False
        far = np.abs(columns - np.median(columns, axis=0)).max(axis=0)
        tame = far <= MAX_ORDERS * np.maximum(1e-300, columns.std(axis=0))
        return bool(tame.all() and np.abs(columns).max() < LARGEST)


def without_rounded_sums(X):
    """The columns but those that are the difference of two others, to the last bit.

    All that these add is rounding. With slopes of 1e7 and more it can be fitted too, which safdr
    does not do where it is below 1e-6 of the column's size.
    """
    columns = range(X.shape[1])

    def is_one(j):
        pairs = itertools.permutations([i for i in columns if i != j], 2)
        return any(np.array_equal(X[:, j], X[:, a] - X[:, b]) for a, b in pairs)

    # If a - b = c, then as a rule b = a - c but for rounding, and may be so to the last bit.
    last = next((j for j in reversed(columns) if is_one(j)), None)
    return X if last is None else without_rounded_sums(np.delete(X, last, axis=1))


def random_rows(rng: np.random.Generator):
    """Columns of nasty kinds, codes of two to five classes, weights or none.

    Some are copies of others, or sums of them; there may be more columns than rows.
    """
    n_rows = int(rng.choice([12, 40, 150, 300, 700, 2000], p=[0.05, 0.1, 0.35, 0.25, 0.15, 0.1]))
    n_classes = int(rng.choice([2, 3, 4, 5], p=[0.6, 0.2, 0.1, 0.1]))
    codes = _random_codes(rng, n_rows, n_classes)
    signal = codes * rng.uniform(0, 2) + rng.normal(size=n_rows)
    n_columns = int(rng.integers(2, 8)) if n_rows > 12 else int(rng.integers(12, 18))
    mixed = rng.random() < 0.7
    kinds = rng.choice(list(KINDS), size=n_columns if mixed else 1)
    kinds = kinds if mixed else np.repeat(kinds, n_columns)
    X = np.column_stack([KINDS[kind](rng, codes, signal) for kind in kinds])
    if rng.random() < 0.2:
        first, second = rng.permutation(n_columns)[:2]
        X = np.c_[X, X[:, first], X[:, first] - X[:, second]]
    weight = np.ones(n_rows)
    if rng.random() < 0.3:
        weight = rng.choice([rng.uniform(0.1, 3, n_rows), rng.lognormal(0, 2, n_rows)])
    return X, codes, weight


def _random_codes(rng, n_rows, n_classes):
    """Even classes, or rare ones; each with rows."""
    share = rng.dirichlet(np.full(n_classes, rng.choice([0.3, 1.0, 10.0])))
    codes = rng.choice(n_classes, size=n_rows, p=share)
    for c in range(n_classes):
        codes[2 * c : 2 * c + 2] = c
    return rng.permutation(codes)


def _strong_binary(rng, codes, signal):
    """One class against the others, wrong for a few rows."""
    wrong = rng.random(len(codes)) < rng.uniform(0.002, 0.025)
    return ((codes == codes.max()) ^ wrong).astype(float)


def _one_hot(rng, codes, signal):
    """One of some levels, which may go with the class."""
    level = rng.integers(0, 5, len(codes)) + codes * rng.integers(0, 2)
    return (level == rng.integers(0, 6)).astype(float)


def _counts(rng, codes, signal):
    """Small whole numbers with a signal."""
    return rng.poisson(np.exp(np.clip(0.5 * signal, -3, 3))).astype(float)


def _rare(rng, codes, signal):
    """A few ones, which may all be of one class."""
    return (rng.random(len(codes)) < rng.uniform(0.005, 0.05)).astype(float)


def _log_normal(rng, codes, signal):
    """Over some orders of magnitude."""
    own = signal + rng.uniform(0.1, 1) * rng.normal(size=len(codes))
    return np.exp(rng.uniform(0.5, 4) * own)


def _cauchy(rng, codes, signal):
    """Without a mean."""
    return rng.standard_cauchy(len(codes)) + signal


def _offset(rng, codes, signal):
    """Far from zero, and hardly spread."""
    own = signal + rng.uniform(0.1, 1) * rng.normal(size=len(codes))
    return 10.0 ** rng.integers(3, 10) + own * rng.choice([0.01, 1.0, 100.0])


def _huge(rng, codes, signal):
    """A few values of up to 1e14 beside ones."""
    column = signal + rng.normal(size=len(codes))
    some = rng.random(len(codes)) < rng.choice([0.0, 0.02])
    some[rng.integers(len(codes))] = True
    column[some] *= 10.0 ** rng.uniform(3, 14, some.sum())
    return column


def _huge_of_classes(rng, codes, signal):
    """One or two rows of up to 1e13 in each of some classes."""
    column = signal + rng.normal(size=len(codes))
    for c in rng.permutation(codes.max() + 1)[: rng.integers(1, 4)]:
        rows = rng.choice(np.flatnonzero(codes == c), rng.integers(1, 3), replace=False)
        column[rows] = rng.choice([-1, 1]) * 10.0 ** rng.uniform(5, 13)
    return column


def _normal(rng, codes, signal):
    """What the fast way was made for."""
    return signal + rng.uniform(0.1, 2) * rng.normal(size=len(codes))


def _nearly_separating(rng, codes, signal):
    """Classes that hardly overlap, or not at all."""
    return codes + rng.uniform(0.1, 0.5) * rng.normal(size=len(codes))


KINDS = {
    "strong binary": _strong_binary,
    "one hot": _one_hot,
    "counts": _counts,
    "rare": _rare,
    "log-normal": _log_normal,
    "cauchy": _cauchy,
    "offset": _offset,
    "huge": _huge,
    "huge of classes": _huge_of_classes,
    "normal": _normal,
    "nearly separating": _nearly_separating,
}
