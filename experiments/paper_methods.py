"""The methods under the paper's protocol: a path of logistic models for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments import methods
from experiments.errors import ExperimentError
from experiments.methods import Floats, Subset
from safdr import AnnealingSelector, anneal_path, evaluate_subsets

Labels = NDArray[np.int64]

MAX_FEATURES = 30
# Values of the L1 penalty in three decades.
LASSO_VALUES = 30


@dataclass(frozen=True, eq=False)
class SubsetModel:
    """A logistic model on some columns, with the cross-entropy of its training rows."""

    subset: Subset
    coefficients: Floats
    intercept: float
    cross_entropy: float
    # Penalised models clip values to the training range.
    low: Floats | float = -np.inf
    high: Floats | float = np.inf

    def decide(self, X: Floats) -> Floats:
        """Return the log-odds of class 1."""
        values = np.clip(X[:, self.subset], self.low, self.high)
        return np.asarray(values @ self.coefficients + self.intercept)


class PathMethod:
    """A method with a grid that controls the number of features: by default the sizes."""

    def grid(self, X: Floats, y: Labels) -> list[Any]:
        """Return the values to try, from few features to many."""
        return list(range(1, min(MAX_FEATURES, X.shape[1]) + 1))

    def path(self, X: Floats, y: Labels, grid: list[Any], seed: int) -> list[SubsetModel]:
        """Return a model for each value of the grid."""
        raise NotImplementedError


@dataclass(frozen=True)
class Annealed(PathMethod):
    """A selector of safdr."""

    selector: Any
    clips: bool = False

    def path(self, X: Floats, y: Labels, grid: list[Any], seed: int) -> list[SubsetModel]:
        """See `PathMethod`."""
        models = []
        for result in anneal_path(self.selector.set_params(random_state=seed), X, y, grid):
            columns = X[:, result.subset]
            limits = (columns.min(axis=0), columns.max(axis=0)) if self.clips else (-np.inf, np.inf)
            assert result.coefficients is not None
            assert result.intercepts is not None
            slopes, intercept = result.coefficients[result.best], result.intercepts[result.best]
            loss = float(result.losses[result.best])
            models.append(SubsetModel(result.subset, slopes, float(intercept), loss, *limits))
        return models


class Elimination(PathMethod):
    """Recursive elimination of scikit-learn with its default model."""

    def path(self, X: Floats, y: Labels, grid: list[Any], seed: int) -> list[SubsetModel]:
        """See `PathMethod`."""
        return refit(X, y, methods.rfe(X, y, grid, seed))


class Lasso(PathMethod):
    """Logistic regression with an L1 penalty, refitted without a penalty."""

    def grid(self, X: Floats, y: Labels) -> list[Any]:
        """See `PathMethod`."""
        return methods.lasso_grid(X, y, LASSO_VALUES).tolist()

    def path(self, X: Floats, y: Labels, grid: list[Any], seed: int) -> list[SubsetModel]:
        """See `PathMethod`."""
        # scikit-learn sums the loss over the rows: a refit has a third more rows than a fold.
        fits = (methods.lasso_model(value / len(X), seed).fit(X, y) for value in grid)
        return refit(X, y, [np.flatnonzero(fit.coef_[0]) for fit in fits])


class Abess(PathMethod):
    """Best subset by splicing (abess)."""

    def path(self, X: Floats, y: Labels, grid: list[Any], seed: int) -> list[SubsetModel]:
        """See `PathMethod`."""
        return refit(X, y, [subset for subset, _ in methods.abess_path(X, y, grid)])


def refit(X: Floats, y: Labels, subsets: Sequence[Subset]) -> list[SubsetModel]:
    """Fit the unpenalised logistic model to each subset; equal subsets are fitted once."""
    known: dict[tuple[int, ...], SubsetModel] = {}
    for subset in subsets:
        key = tuple(subset.tolist())
        if key not in known:
            known[key] = _fit(X, y, subset)
    return [known[tuple(subset.tolist())] for subset in subsets]


def _fit(X: Floats, y: Labels, subset: Subset) -> SubsetModel:
    columns = X[:, subset]
    if len(subset) == 0 or not np.ptp(columns, axis=0).any():
        share = y.mean()
        loss = -(share * np.log(share) + (1 - share) * np.log(1 - share))
        return SubsetModel(subset, np.zeros(len(subset)), np.log(share / (1 - share)), loss)
    how = AnnealingSelector(C=np.inf, shrinkage=None)
    fits = evaluate_subsets(how, columns, y, [range(len(subset))])
    assert fits.coefficients is not None
    assert fits.intercepts is not None
    return SubsetModel(
        subset, fits.coefficients[0], float(fits.intercepts[0]), float(fits.losses[0])
    )


TITLES = {
    "sa-fdr": "SA-FDR",
    "rfe": "RFE",
    "lasso": "Lasso",
    "abess": "abess",
    "recipe": "safdr",
}
# Batch settings of the ablation: no batches, then one change at a time, then many small ones.
ABLATION = (
    "sa-fdr",
    "sa-fdr+batch_fraction=1.0+n_batches=1",
    "sa-fdr+n_batches=2",
    "sa-fdr+n_batches=10",
    "sa-fdr+n_batches=20",
    "sa-fdr+batch_fraction=0.25",
    "sa-fdr+batch_fraction=0.75",
    "sa-fdr+batch_fraction=0.25+n_batches=20",
)


def get(name: str) -> PathMethod:
    """Return a method by name; sa-fdr may be followed by settings, such as +n_batches=10."""
    kind, *changes = name.split("+")
    if kind == "sa-fdr":
        settings: dict[str, Any] = {
            key: float(value) for key, value in (c.split("=") for c in changes)
        }
        if "n_batches" in settings:
            settings["n_batches"] = int(settings["n_batches"])
        nested = {f"annealing__{key}": value for key, value in settings.items()}
        return Annealed(AnnealingSelector.as_published().set_params(**nested))
    simple: dict[str, PathMethod] = {
        "recipe": Annealed(AnnealingSelector(), clips=True),
        "rfe": Elimination(),
        "lasso": Lasso(),
        "abess": Abess(),
    }
    if name not in simple:
        raise ExperimentError(f"No method is called {name!r}. Use: {', '.join(TITLES)}.")
    return simple[name]
