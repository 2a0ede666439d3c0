"""Logistic and softmax fits against an independent solver, on the nastiest columns known."""

from __future__ import annotations

import itertools
import warnings

import numpy as np

from fuzz.cross_entropy import is_separated, loss_of, smallest_loss
from safdr import Annealing, AnnealingSelector, evaluate_subsets

# What a loss may be above the optimum: on data that can't be separated, and where rows are on their
# way to infinity, which nobody follows to the end.
MOST_ABOVE, MOST_ABOVE_SEPARATED = 1e-6, 1e-4
# What the loss of the coefficients may be off.
MOST_OFF = 1e-6
# Linear programs of more rows or classes, or of columns over more orders of magnitude, take long or
# are wrong.
MOST_ROWS, MOST_CLASSES, MOST_ORDERS, LARGEST = 300, 3, 1e4, 1e6


def check(rng: np.random.Generator) -> None:
    """Fit given subsets, and candidates of a search, of random rows of two to five classes."""
    X, codes, weight = random_rows(rng)
    if not np.ptp(X, axis=0).any():  # rare ones, and none came: nothing to choose from
        return
    wide = X.shape[1] >= len(X)
    size = int(rng.integers(1, min(len(X) + 1 if wide else 4, X.shape[1]) + 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        selector = AnnealingSelector.as_published(
            size, annealing=Annealing(n_replicas=10), random_state=int(rng.integers(99))
        )
        selector.fit(X, codes, sample_weight=weight)
    optimum = Optimum(X, codes, weight)
    result = selector.result_
    candidates = {tuple(sorted(subset)) for subset in result.subsets.tolist()}
    optimum.compare(selector.subset_, result.losses[result.best], result.separated[result.best])
    optimum.check_coefficients(result.subsets, result, [result.best])
    others = min(optimum.loss(subset) for subset in candidates)
    assert result.losses[result.best] <= others + MOST_ABOVE, (
        f"another candidate has {others}, the winner {result.losses[result.best]}"
    )
    some = [sorted(rng.permutation(X.shape[1])[:size].tolist()) for _ in range(4)]
    fits = evaluate_subsets(X, codes, some, sample_weight=weight, C=np.inf)
    for subset, loss, separated in zip(some, fits.losses, fits.fits.separated, strict=True):
        optimum.compare(subset, loss, separated)
    optimum.check_coefficients(np.array(some), fits.fits, range(len(some)))


class Optimum:
    """What the loss of a subset should be; each is computed once."""

    def __init__(self, X, codes, weight) -> None:
        self._X, self._codes, self._weight = X, codes, weight
        self._n_classes = codes.max() + 1
        self._known: dict[tuple[int, ...], float] = {}

    def loss(self, subset) -> float:
        """The smallest cross-entropy that the independent solver finds."""
        key = tuple(sorted(subset))
        if key not in self._known:
            columns = without_rounded_sums(self._X[:, list(key)])
            self._known[key] = smallest_loss(columns, self._codes, self._n_classes, self._weight)
        return self._known[key]

    def compare(self, subset, loss: float, separated: bool) -> None:
        """Raise if the loss is not the optimum, or separation is not told as it is."""
        best = self.loss(subset)
        what = f"{subset}: loss {loss}, optimum {best}, separated {separated}"
        columns = without_rounded_sums(self._X[:, list(subset)])
        if self._can_be_judged(columns):
            assert separated == is_separated(columns, self._codes, self._n_classes), what
        assert loss <= best + (MOST_ABOVE_SEPARATED if separated else MOST_ABOVE), what

    def check_coefficients(self, subsets, fits, which) -> None:
        """Raise if coefficients do not have the loss that they are said to have."""
        for i in which:
            columns, model = self._X[:, subsets[i]], (fits.coefficients[i], fits.intercepts[i])
            loss, margin = loss_of(columns, self._codes, self._weight, *model)
            what = f"{subsets[i]}: loss {fits.losses[i]}, its coefficients {loss}, margin {margin}"
            if fits.losses[i] == 0:
                assert margin > 0, what
            else:
                assert abs(fits.losses[i] - loss) < MOST_OFF, what

    def _can_be_judged(self, columns) -> bool:
        """Whether a linear program can tell if these columns separate."""
        if len(columns) > MOST_ROWS or self._n_classes > MOST_CLASSES:
            return False
        far = np.abs(columns - np.median(columns, axis=0)).max(axis=0)
        tame = far <= MOST_ORDERS * np.maximum(1e-300, columns.std(axis=0))
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
