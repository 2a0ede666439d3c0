"""What SA-FDR is compared with: elimination, the Lasso and splicing, each refitted unpenalised."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safdr.paper.models import SubsetModel, fit_unpenalised, sizes_up_to


@dataclass(frozen=True)
class RFE:
    """scikit-learn's recursive elimination, ranked by its default (penalised) logistic model."""

    name = "rfe"

    @property
    def settings(self) -> dict[str, object]:
        """Nothing to set."""
        return {"method": self.name}

    def grid(self, X: NDArray[np.float64], y: NDArray[np.int64], max_features: int) -> list[int]:
        """Sizes."""
        return sizes_up_to(max_features, X.shape[1])

    def path(
        self, X: NDArray[np.float64], y: NDArray[np.int64], grid: Any, seed: int
    ) -> list[SubsetModel]:
        """One elimination down to one feature gives the subsets of every size."""
        from sklearn.feature_selection import RFE as Elimination
        from sklearn.linear_model import LogisticRegression

        ranking = Elimination(LogisticRegression(), n_features_to_select=1).fit(X, y).ranking_
        return fit_unpenalised(X, y, (np.flatnonzero(ranking <= size) for size in grid))


@dataclass(frozen=True)
class Lasso:
    """Logistic regression with an L1 penalty, over a grid of C; the grid is not in the paper.

    Parameters
    ----------
    n_values : int
        Values of C, evenly spaced on a log scale.
    span : float
        Ratio of the largest to the smallest. At three decades the best mean validation AUC lay
        inside the grid on each of the eight UCI sets (one or two repeats each); the full model is
        not always reached.
    """

    n_values: int = 30
    span: float = 1e3
    name = "lasso"

    @property
    def settings(self) -> dict[str, object]:
        """The grid."""
        return {"method": self.name, **asdict(self)}

    def grid(self, X: NDArray[np.float64], y: NDArray[np.int64], max_features: int) -> list[float]:
        """From the smallest C that lets a feature in: 1 over the steepest slope at zero."""
        smallest = 1.0 / np.abs(X.T @ (y - y.mean())).max()
        return [float(C) for C in smallest * np.geomspace(1.0, self.span, self.n_values)]

    def path(
        self, X: NDArray[np.float64], y: NDArray[np.int64], grid: Any, seed: int
    ) -> list[SubsetModel]:
        """The features with a slope at each C."""
        return fit_unpenalised(X, y, (self._support(X, y, C, seed) for C in grid))

    @staticmethod
    def _support(
        X: NDArray[np.float64], y: NDArray[np.int64], C: float, seed: int
    ) -> NDArray[np.int64]:
        from sklearn.linear_model import LogisticRegression

        # liblinear penalises the intercept too; scaled by 100, it hardly matters.
        model = LogisticRegression(
            C=C, l1_ratio=1.0, solver="liblinear", intercept_scaling=100.0, random_state=seed
        )
        return np.flatnonzero(model.fit(X, y).coef_[0])


@dataclass(frozen=True)
class Abess:
    """Best subset of the logistic model by splicing (abess); a fresh fit for each size."""

    name = "abess"

    @property
    def settings(self) -> dict[str, object]:
        """Nothing to set."""
        return {"method": self.name}

    def grid(self, X: NDArray[np.float64], y: NDArray[np.int64], max_features: int) -> list[int]:
        """Sizes."""
        return sizes_up_to(max_features, X.shape[1])

    def path(
        self, X: NDArray[np.float64], y: NDArray[np.int64], grid: Any, seed: int
    ) -> list[SubsetModel]:
        """Columns that don't vary stay out: abess refuses them."""
        varying = np.flatnonzero(np.ptp(X, axis=0) > 0)
        supports = (self._support(X[:, varying], y, size) for size in grid)
        return fit_unpenalised(X, y, (varying[support] for support in supports))

    @staticmethod
    def _support(X: NDArray[np.float64], y: NDArray[np.int64], size: int) -> NDArray[np.int64]:
        from abess import LogisticRegression

        model = LogisticRegression(support_size=[min(size, X.shape[1])])
        return np.flatnonzero(model.fit(X, y).coef_)
