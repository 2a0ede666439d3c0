"""The sets of the regression comparison: scikit-learn's with squares and products, and planted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from experiments.task_data import TaskData

Floats = NDArray[np.float64]

N_RELEVANT = 6
# Splits of so many rows hardly share any.
N_ROWS = 10_000


@dataclass(frozen=True)
class RegressionSet:
    """A set, with the number of training rows; None is what the test share leaves."""

    title: str
    make: Callable[[], TaskData]
    n_train: int | None = None
    planted: bool = False


def real(loader: str, target: str | None = None, *, products: bool = True) -> TaskData:
    """Load one of scikit-learn's sets; a target by name is one of its columns.

    Squares and products are those of standardised columns.
    """
    import sklearn.datasets
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler

    bunch = getattr(sklearn.datasets, loader)()
    X, y, names = bunch.data, bunch.target, [str(name) for name in bunch.feature_names]
    if target is not None:
        column = names.index(target)
        X, y, names = (
            np.delete(X, column, axis=1),
            X[:, column],
            names[:column] + names[column + 1 :],
        )
    kept = np.ptp(X, axis=0) > 0
    X, names = X[:, kept], [name for name, keep in zip(names, kept, strict=True) if keep]
    if products:
        made = PolynomialFeatures(2, include_bias=False).fit(X)
        names = list(made.get_feature_names_out(names))
        X = made.transform(StandardScaler().fit_transform(X))
    return TaskData(np.asarray(X, dtype=float), np.asarray(y, dtype=float), tuple(names))


def features(rng: np.random.Generator, kind: str, n_rows: int, n_features: int) -> Floats:
    """Draw columns of variance 1: independent, a chain of neighbours, or blocks of twenty."""
    X = rng.standard_normal((n_rows, n_features))
    if kind == "chain":
        for j in range(1, n_features):
            X[:, j] = 0.7 * X[:, j - 1] + np.sqrt(0.51) * X[:, j]
    elif kind == "blocks":
        common = np.repeat(rng.standard_normal((n_rows, n_features // 20)), 20, axis=1)
        X = np.sqrt(0.7) * common + np.sqrt(0.3) * X
    return X


def planted(kind: str, n_train: int, n_features: int, noise: float) -> TaskData:
    """Draw a target of six features, whose slopes fall by .85, with a share of noise."""
    rng = np.random.default_rng([n_train, n_features, round(100 * noise), len(kind)])
    X = features(rng, kind, N_ROWS, n_features)
    slopes = 0.85 ** np.arange(N_RELEVANT) * rng.choice([-1.0, 1.0], N_RELEVANT)
    signal = X[:, rng.permutation(n_features)[:N_RELEVANT]] @ slopes
    signal /= signal.std()
    errors = rng.standard_normal(len(X))
    y = np.sqrt(1.0 - noise) * signal + np.sqrt(noise) * errors / errors.std()
    return TaskData(X, y, tuple(f"x{j + 1}" for j in range(n_features)))


_REAL = {
    "diabetes": RegressionSet("Diabetes, products", partial(real, "load_diabetes")),
    "wine": RegressionSet("Wine, alcohol, products", partial(real, "load_wine", "alcohol")),
    "cancer": RegressionSet(
        "Cancer, worst concavity, products",
        partial(real, "load_breast_cancer", "worst concavity"),
        150,
    ),
    "cancer_many": RegressionSet(
        "Cancer, worst area", partial(real, "load_breast_cancer", "worst area", products=False)
    ),
    "digits": RegressionSet(
        "Digits, a pixel", partial(real, "load_digits", "pixel_4_4", products=False), 200
    ),
}
_PLANTED = {
    f"{kind}_{n_train}x{n_features}_{round(100 * noise)}": RegressionSet(
        f"{kind.capitalize()}, {noise:.0%} noise",
        partial(planted, kind, n_train, n_features, noise),
        n_train,
        planted=True,
    )
    for kind in ("independent", "chain", "blocks")
    for n_train, n_features in ((250, 60), (80, 600))
    for noise in (0.01, 0.3, 0.6, 0.9)
}
SETS = {**_REAL, **_PLANTED}
