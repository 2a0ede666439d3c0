"""A subset with its logistic model: what every method hands to the protocol."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from safdr import evaluate_subsets


@dataclass(frozen=True, eq=False)
class SubsetModel:
    """A logistic model on some of the columns; the cross-entropy is that of the training rows.

    With a penalty it includes it, as a share of the rows, and a value beyond all that the model was
    fitted to counts as the nearest of them, as in the selectors.
    """

    subset: NDArray[np.int64]
    coefficients: NDArray[np.float64]
    intercept: float
    cross_entropy: float
    low: NDArray[np.float64] | float = -np.inf
    high: NDArray[np.float64] | float = np.inf

    def decide(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Log-odds of class 1."""
        values = np.clip(X[:, self.subset], self.low, self.high)
        return np.asarray(values @ self.coefficients + self.intercept)


class Method(Protocol):
    """A way to choose features, at each value of what controls their number."""

    @property
    def name(self) -> str:
        """On the command line and in the rows."""

    @property
    def settings(self) -> dict[str, object]:
        """All that its answer depends on besides the data and the seed."""

    def grid(
        self, X: NDArray[np.float64], y: NDArray[np.int64], max_features: int
    ) -> list[float] | list[int]:
        """Values to try, from few features to many."""

    def path(
        self,
        X: NDArray[np.float64],
        y: NDArray[np.int64],
        grid: list[float] | list[int],
        seed: int,
    ) -> list[SubsetModel]:
        """A model for each value of the grid."""


def sizes_up_to(max_features: int, n_features: int) -> list[int]:
    """1, 2, … up to `max_features`, or all features where there are fewer."""
    return list(range(1, min(max_features, n_features) + 1))


def fit_models(
    X: NDArray[np.float64],
    y: NDArray[np.int64],
    subsets: Iterable[NDArray[np.int64]],
    C: float = np.inf,
) -> list[SubsetModel]:
    """The logistic model of each subset, unpenalised unless told; equal subsets are fitted once.

    All methods are refitted here, so that they differ in the subsets alone. An empty subset gives
    the model that knows the class share only.
    """
    known: dict[tuple[int, ...], SubsetModel] = {}
    models = []
    for subset in subsets:
        key = tuple(int(j) for j in subset)
        if key not in known:
            known[key] = _fit(X, y, np.array(key, dtype=np.int64), C)
        models.append(known[key])
    return models


def _fit(
    X: NDArray[np.float64], y: NDArray[np.int64], subset: NDArray[np.int64], C: float
) -> SubsetModel:
    if len(subset) == 0 or np.all(X[0, subset] == X[:, subset]):
        share = y.mean()
        entropy = -(share * np.log(share) + (1 - share) * np.log(1 - share))
        return SubsetModel(subset, np.zeros(len(subset)), np.log(share / (1 - share)), entropy)
    # The columns alone: the moments of all the others would be computed for nothing.
    columns = X[:, subset]
    fits = evaluate_subsets(columns, y, [range(len(subset))], C=C).fits
    model = SubsetModel(
        subset, fits.coefficients[0], float(fits.intercepts[0]), float(fits.losses[0])
    )
    if np.isinf(C):
        return model
    return replace(model, low=columns.min(axis=0), high=columns.max(axis=0))
