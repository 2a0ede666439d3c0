"""The methods that are compared: each returns a subset for every size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_selection import RFE, f_classif, f_regression
from sklearn.linear_model import LinearRegression, LogisticRegression, lasso_path

from experiments.errors import ExperimentError
from safdr import (
    Annealing,
    AnnealingRegressorSelector,
    AnnealingSelector,
    anneal_path,
    evaluate_subsets,
)

Floats = NDArray[np.float64]
Subset = NDArray[np.int64]
Select = Callable[[Floats, NDArray[Any], Sequence[int], int], list[Subset]]

# Values of the L1 penalty from the first feature on, and their range: 121 values in three decades
# for classes, 400 for regression. The finer the path, the fewer features are cut to reach a size.
LASSO_VALUES = 121
LASSO_REGRESSION_VALUES = 400
LASSO_RANGE = 1e3
# liblinear penalises the intercept; scaled by 100 the penalty is negligible.
INTERCEPT_SCALING = 100.0
# A column whose variance is explained to this share by the selected ones adds nothing.
EXPLAINED = 1e-10


def is_regression(y: NDArray[Any]) -> bool:
    """Return True if the target is continuous."""
    return y.dtype.kind == "f"


def selector(y: NDArray[Any], seed: int, **parameters: Any) -> Any:
    """Return the selector for a target."""
    kind = AnnealingRegressorSelector if is_regression(y) else AnnealingSelector
    return kind(random_state=seed, **parameters)


def published(y: NDArray[Any], seed: int) -> Any:
    """Return the selector of the paper for a target."""
    kind = AnnealingRegressorSelector if is_regression(y) else AnnealingSelector
    return kind.as_published(random_state=seed)


def recipe(X: Floats, y: NDArray[Any], sizes: Sequence[int], seed: int) -> list[Subset]:
    """Select with the defaults of safdr."""
    return [r.subset for r in anneal_path(selector(y, seed), X, y, sizes)]


def unscreened(X: Floats, y: NDArray[Any], sizes: Sequence[int], seed: int) -> list[Subset]:
    """Select with the defaults, without the screen."""
    how = selector(y, seed, annealing=Annealing(screen=None))
    return [r.subset for r in anneal_path(how, X, y, sizes)]


def paper(X: Floats, y: NDArray[Any], sizes: Sequence[int], seed: int) -> list[Subset]:
    """Select as published."""
    return [r.subset for r in anneal_path(published(y, seed), X, y, sizes)]


def rfe(X: Floats, y: NDArray[Any], sizes: Sequence[int], seed: int) -> list[Subset]:
    """Eliminate one feature at a time (scikit-learn)."""
    model = LinearRegression() if is_regression(y) else LogisticRegression()
    ranking = RFE(model, n_features_to_select=1).fit(X, y).ranking_
    return [np.flatnonzero(ranking <= size) for size in sizes]


def lasso(X: Floats, y: NDArray[Any], sizes: Sequence[int], seed: int) -> list[Subset]:
    """Take the largest slopes at the first penalty with enough features."""
    found: list[Subset] = []
    slopes = np.zeros(X.shape[1])
    for slopes in _lasso_slopes(X, y, seed):
        while len(found) < len(sizes) and np.count_nonzero(slopes) >= sizes[len(found)]:
            found.append(largest(slopes, sizes[len(found)]))
        if len(found) == len(sizes):
            return found
    return found + [np.flatnonzero(slopes)] * (len(sizes) - len(found))


def _lasso_slopes(X: Floats, y: NDArray[Any], seed: int) -> Any:
    """Yield absolute slopes from the strongest penalty on; the largest over the classes."""
    if is_regression(y):
        smallest = np.abs(X.T @ (y - y.mean())).max() / len(X)
        alphas = smallest * np.geomspace(1.0, 1.0 / LASSO_RANGE, LASSO_REGRESSION_VALUES)
        yield from np.abs(lasso_path(X, y - y.mean(), alphas=alphas, max_iter=10000)[1].T)
        return
    for C in lasso_grid(X, y, LASSO_VALUES) / len(X):
        yield np.abs(lasso_model(C, seed).fit(X, y).coef_).max(axis=0)


def lasso_grid(X: Floats, y: NDArray[Any], n_values: int) -> Floats:
    """Return values of C times rows: at the smallest the first feature enters."""
    indicators = y[:, None] == np.unique(y)[1:]
    first = len(X) / np.abs(X.T @ (indicators - indicators.mean(axis=0))).max()
    return np.asarray(first * np.geomspace(1.0, LASSO_RANGE, n_values))


def lasso_model(C: float, seed: int) -> LogisticRegression:
    """Return logistic regression with an L1 penalty."""
    return LogisticRegression(
        C=C,
        l1_ratio=1.0,
        solver="liblinear",
        intercept_scaling=INTERCEPT_SCALING,
        random_state=seed,
    )


def abess(X: Floats, y: NDArray[Any], sizes: Sequence[int], seed: int) -> list[Subset]:
    """Select by splicing; two classes from two starts at each size."""
    if not is_regression(y) and len(np.unique(y)) == 2:
        subsets = [subset for subset, _ in abess_path(X, y, range(1, max(sizes) + 1))]
        return [subsets[size - 1] for size in sizes]
    models = _abess()
    varying = np.flatnonzero(np.ptp(X, axis=0) > 0)
    kind = models.LinearRegression if is_regression(y) else models.MultinomialRegression
    target = y if is_regression(y) else np.eye(int(y.max()) + 1)[y]
    found = []
    for size in sizes:
        slopes = kind(support_size=[size]).fit(X[:, varying], target).coef_
        found.append(varying[np.flatnonzero(np.abs(slopes).reshape(len(varying), -1).sum(axis=1))])
    return found


def abess_path(X: Floats, y: NDArray[Any], sizes: Sequence[int]) -> list[tuple[Subset, Any]]:
    """Return a subset and its unpenalised fit for each size.

    Splicing stops at local optima. It starts once from abess's own subset and once from the
    subset of the size before; the smaller loss wins.
    """
    models = _abess()
    varying = np.flatnonzero(np.ptp(X, axis=0) > 0)
    found: list[tuple[Subset, Any]] = []
    for size in sizes:
        starts = [None, np.searchsorted(varying, found[-1][0])] if found else [None]
        best: tuple[Subset, Any] | None = None
        for start in starts:
            k = min(size, len(varying))
            model = models.LogisticRegression(support_size=[k], A_init=start)
            subset = varying[np.flatnonzero(model.fit(X[:, varying], y).coef_)]
            fit = evaluate_subsets(AnnealingSelector(C=np.inf), X[:, subset], y, [range(k)])
            if best is None or fit.losses[0] < best[1].losses[0]:
                best = subset, fit
        assert best is not None
        found.append(best)
    return found


def _abess() -> Any:
    try:
        import abess.linear
    except ImportError:
        raise ExperimentError(
            "The method 'abess' needs a package. Run: pip install abess"
        ) from None
    return abess.linear


def forward(X: Floats, y: NDArray[Any], sizes: Sequence[int], seed: int) -> list[Subset]:
    """Add the feature that lowers the loss most: penalised log-loss, or squared error."""
    if is_regression(y):
        return forward_least_squares(X, y, sizes)
    how = AnnealingSelector(shrinkage=None)
    free = np.flatnonzero(np.ptp(X, axis=0) > 0).tolist()
    chosen: list[int] = []
    while free and len(chosen) < max(sizes):
        losses = evaluate_subsets(how, X, y, [[*chosen, j] for j in free]).losses
        chosen.append(free.pop(int(np.argmin(losses))))
    return [np.sort(chosen[:size]) for size in sizes]


def forward_least_squares(X: Floats, y: Floats, sizes: Sequence[int]) -> list[Subset]:
    """Add the feature that lowers the residual sum of squares most."""
    centred, residual = X - X.mean(axis=0), y - y.mean()
    initial = np.einsum("ij,ij->j", centred, centred)
    free = initial > 0
    chosen: list[int] = []
    while len(chosen) < min(max(sizes), len(X) - 1):
        squares = np.einsum("ij,ij->j", centred, centred)
        free &= squares > EXPLAINED * initial
        if not free.any():
            break
        gains = np.where(free, (residual @ centred) ** 2 / np.where(free, squares, 1.0), -1.0)
        j = int(np.argmax(gains))
        direction = centred[:, j] / np.sqrt(squares[j])
        centred -= np.outer(direction, direction @ centred)
        residual = residual - direction * (direction @ residual)
        free[j] = False
        chosen.append(j)
    return [np.sort(np.array(chosen[:size], dtype=np.int64)) for size in sizes]


def forward_fisher(X: Floats, y: NDArray[Any], sizes: Sequence[int], seed: int) -> list[Subset]:
    """Add the feature that raises Fisher's ratio most."""
    A, D = within_and_between(X, y)
    initial = np.diag(A).copy()
    free = initial > 0
    chosen: list[int] = []
    while len(chosen) < max(sizes):
        variance = np.diag(A)
        free &= variance > EXPLAINED * initial
        if not free.any():
            break
        gains = np.where(free, np.einsum("ij,ij->i", D, D) / np.where(free, variance, 1.0), -1.0)
        j = int(np.argmax(gains))
        column = A[:, j] / np.sqrt(A[j, j])
        D = D - np.outer(column, D[j] / np.sqrt(A[j, j]))
        A = A - np.outer(column, column)
        free[j] = False
        chosen.append(j)
    return [np.sort(np.array(chosen[:size], dtype=np.int64)) for size in sizes]


def within_and_between(X: Floats, y: NDArray[Any]) -> tuple[Floats, Floats]:
    """Return the sum of the covariances of the classes, and the weighted differences of means."""
    labels, counts = np.unique(y, return_counts=True)
    means = [X[y == label].mean(axis=0) for label in labels]
    A = sum(np.cov(X[y == label], rowvar=False, bias=True) for label in labels)
    pairs = [(a, b) for b in range(len(labels)) for a in range(b)]
    D = [np.sqrt(counts[a] * counts[b]) * (means[b] - means[a]) for a, b in pairs]
    return np.asarray(A), np.array(D).T


def anova(X: Floats, y: NDArray[Any], sizes: Sequence[int], seed: int) -> list[Subset]:
    """Take the largest F statistics."""
    varying = np.flatnonzero(np.ptp(X, axis=0) > 0)
    ratios = np.zeros(X.shape[1])
    test = f_regression if is_regression(y) else f_classif
    ratios[varying] = test(X[:, varying], y)[0]
    return [largest(ratios, size) for size in sizes]


def largest(values: Floats, size: int) -> Subset:
    """Return the positions of the largest values; ties by position."""
    return np.sort(np.argsort(-values, kind="stable")[:size])


# Names in the rows and on the command line, with their titles.
METHODS: dict[str, tuple[str, Select]] = {
    "recipe": ("safdr", recipe),
    "unscreened": ("safdr, no screen", unscreened),
    "paper": ("SA-FDR as published", paper),
    "rfe": ("RFE", rfe),
    "lasso": ("Lasso", lasso),
    "abess": ("abess", abess),
    "forward": ("forward selection", forward),
    "forward-fisher": ("forward, Fisher's ratio", forward_fisher),
    "anova": ("ANOVA", anova),
}
TITLES = {name: title for name, (title, _) in METHODS.items()}


def get(name: str) -> Select:
    """Return a method by name."""
    if name not in METHODS:
        raise ExperimentError(f"No method is called {name!r}. Use: {', '.join(METHODS)}.")
    return METHODS[name][1]
