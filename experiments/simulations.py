"""The simulations of Hastie, Tibshirani and Tibshirani (2020).

Best Subset, Forward Stepwise or Lasso? Statistical Science 35, 579-592. Models are tuned on a
second sample of the same size. The error is exact: covariance and noise are known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import lasso_path

from experiments.errors import ExperimentError
from experiments.methods import Subset, forward_least_squares, published, selector
from safdr import anneal_path

Floats = NDArray[np.float64]

# Rows, features and relevant features.
PROBLEMS = {
    "low": (100, 10, 5),
    "medium": (500, 100, 5),
    "high-5": (50, 1000, 5),
    "high-10": (100, 1000, 10),
}
PATTERNS = (1, 2)
CORRELATIONS = (0.0, 0.35, 0.7)
RATIOS = tuple(np.round(np.geomspace(0.05, 6.0, 10), 4).tolist())
SIZES = (*range(1, 11), 12, 15, 20)
# Penalties of the Lasso, their range, and blends with least squares, as in the article.
N_PENALTIES, RANGE, N_BLENDS = 50, 100.0, 10
# Factors on the slopes of the recipe, tuned like the blends.
FACTORS = (0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True)
class Simulation:
    """One setting. Features i and j have the correlation ρ^|i − j|, each has variance 1."""

    name: str
    n_rows: int
    n_features: int
    n_relevant: int
    pattern: int
    correlation: float

    @property
    def slopes(self) -> Floats:
        """Ones at equally spaced positions (pattern 1) or at the first positions (pattern 2)."""
        slopes = np.zeros(self.n_features)
        if self.pattern == 1:
            spaced = np.linspace(0, self.n_features - 1, self.n_relevant)
            slopes[np.round(spaced).astype(int)] = 1.0
        else:
            slopes[: self.n_relevant] = 1.0
        return slopes

    def variance(self, slopes: Floats) -> float:
        """Return the population variance of X @ slopes."""
        nonzero = np.flatnonzero(slopes)
        distances = np.abs(nonzero[:, None] - nonzero)
        return float(slopes[nonzero] @ self.correlation**distances @ slopes[nonzero])

    def samples(self, repeat: int, ratio: float) -> tuple[list[tuple[Floats, Floats]], float]:
        """Return training and validation rows, and the variance of the noise.

        All ratios of a repeat share features and noise.
        """
        rng = np.random.default_rng(np.random.SeedSequence([repeat, *self.name.encode()]))
        noise_variance = self.variance(self.slopes) / ratio
        samples = []
        for noise in rng.standard_normal((2, self.n_rows)):
            X = rng.standard_normal((self.n_rows, self.n_features))
            for j in range(1, self.n_features):
                X[:, j] *= np.sqrt(1 - self.correlation**2)
                X[:, j] += self.correlation * X[:, j - 1]
            samples.append((X, X @ self.slopes + noise_variance**0.5 * noise))
        return samples, noise_variance

    def relative_test_error(self, intercept: float, slopes: Floats, noise: float) -> float:
        """Return the expected squared error on new rows over that of the true model."""
        return 1.0 + (self.variance(slopes - self.slopes) + intercept**2) / noise


def _names() -> dict[str, Simulation]:
    found = {}
    for problem, size in PROBLEMS.items():
        for pattern in PATTERNS:
            for rho in CORRELATIONS:
                name = f"{problem}-pattern{pattern}-rho{rho:g}"
                found[name] = Simulation(name, *size, pattern, rho)
    return found


SIMULATIONS = _names()


def load(name: str) -> Simulation:
    """Return a setting by name."""
    if name not in SIMULATIONS:
        raise ExperimentError(f"No simulation is called {name!r}. Use: {', '.join(SIMULATIONS)}.")
    return SIMULATIONS[name]


def least_squares(X: Floats, y: Floats, subset: Subset) -> Floats:
    """Return the slopes of least squares on a subset, 0 elsewhere."""
    slopes = np.zeros(X.shape[1])
    columns = X[:, subset] - X[:, subset].mean(axis=0)
    slopes[subset] = np.linalg.lstsq(columns, y - y.mean(), rcond=None)[0]
    return slopes


def _refitted(X: Floats, y: Floats, subsets: Sequence[Subset]) -> Floats:
    return np.array([least_squares(X, y, subset) for subset in subsets])


def recipe(X: Floats, y: Floats, sizes: Sequence[int]) -> Floats:
    """Fit least squares on the subsets of the default selector."""
    return _refitted(X, y, [r.subset for r in anneal_path(selector(y, 0), X, y, sizes)])


def scaled(X: Floats, y: Floats, sizes: Sequence[int]) -> Floats:
    """Multiply the slopes of the recipe by common factors."""
    models = recipe(X, y, sizes)
    return np.vstack([factor * models for factor in FACTORS])


def unscreened(X: Floats, y: Floats, sizes: Sequence[int]) -> Floats:
    """Fit least squares on the subsets of the search as published."""
    return _refitted(X, y, [r.subset for r in anneal_path(published(y, 0), X, y, sizes)])


def lasso(X: Floats, y: Floats, sizes: Sequence[int]) -> Floats:
    """Return the slopes of the Lasso at each penalty."""
    del sizes
    centred, target = X - X.mean(axis=0), y - y.mean()
    largest = np.abs(target @ centred).max() / len(X)
    penalties = largest * np.geomspace(1.0, 1.0 / RANGE, N_PENALTIES)
    return np.asarray(lasso_path(centred, target, alphas=penalties, max_iter=10000)[1].T)


def relaxed(X: Floats, y: Floats, sizes: Sequence[int]) -> Floats:
    """Blend the slopes of the Lasso with least squares on its features."""
    models = []
    for slopes in lasso(X, y, sizes):
        full = least_squares(X, y, np.flatnonzero(slopes))
        models += [w * slopes + (1.0 - w) * full for w in np.linspace(0.0, 1.0, N_BLENDS)]
    return np.array(models)


def forward(X: Floats, y: Floats, sizes: Sequence[int]) -> Floats:
    """Fit least squares on the subsets of forward selection."""
    return _refitted(X, y, forward_least_squares(X, y, sizes))


METHODS: dict[str, tuple[str, Callable[[Floats, Floats, Sequence[int]], Floats]]] = {
    "recipe": ("safdr", recipe),
    "scaled": ("safdr, slopes scaled", scaled),
    "unscreened": ("safdr, no screen, no shrinkage", unscreened),
    "lasso": ("Lasso", lasso),
    "relaxed": ("relaxed Lasso", relaxed),
    "forward": ("forward selection", forward),
}
TITLES = {name: title for name, (title, _) in METHODS.items()}


def run(simulation: Simulation, name: str, repeat: int) -> dict[str, Any]:
    """Return the relative test error of one method at every ratio."""
    sizes = [size for size in SIZES if size <= simulation.n_features]
    errors = []
    for ratio in RATIOS:
        (train, validation), noise = simulation.samples(repeat, ratio)
        models = METHODS[name][1](*train, sizes)
        errors.append(
            round(simulation.relative_test_error(*tuned(models, train, validation), noise), 6)
        )
    return {"errors": errors}


def tuned(
    models: Floats, train: tuple[Floats, Floats], validation: tuple[Floats, Floats]
) -> tuple[float, Floats]:
    """Return the model with the least squared error on the validation rows.

    The constant model is a candidate of every method.
    """
    slopes = np.vstack([np.zeros(train[0].shape[1]), models])
    intercepts = train[1].mean() - slopes @ train[0].mean(axis=0)
    residuals = validation[1][:, None] - validation[0] @ slopes.T - intercepts
    best = int(np.argmin((residuals**2).mean(axis=0)))
    return float(intercepts[best]), slopes[best]
