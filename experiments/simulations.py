"""The simulations of Hastie, Tibshirani and Tibshirani (2020): rows, coefficients and errors.

Best Subset, Forward Stepwise or Lasso? Statistical Science 35, 579-592. Models are tuned on a
second sample of the same size. The error is exact: the covariance and the noise are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.errors import UnknownDataError
from experiments.protocol import DECIMALS
from experiments.run import Experiment
from experiments.simulated_methods import Models, SimulatedMethod, get_method

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
# Ten values from .05 to 6, equally spaced on a logarithmic scale.
RATIOS = tuple(np.round(np.geomspace(0.05, 6.0, 10), 4).tolist())


@dataclass(frozen=True)
class SimulationSettings:
    """What is compared: the signal-to-noise ratios and the sizes of the subsets."""

    ratios: tuple[float, ...] = RATIOS
    sizes: tuple[int, ...] = (*range(1, 11), 12, 15, 20)


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows with their outputs."""

    X: Floats
    y: Floats


@dataclass(frozen=True)
class Simulation:
    """One of the settings: its size, the pattern of its slopes and the correlation of neighbours.

    Features i and j have the correlation ρ^|i − j|, and each has mean 0 and variance 1.
    """

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

    def draw(self, rng: np.random.Generator, noise: Floats, deviation: float) -> Sample:
        """Draw features; add the noise, scaled to a standard deviation."""
        X = rng.standard_normal((len(noise), self.n_features))
        for j in range(1, self.n_features):
            X[:, j] = self.correlation * X[:, j - 1] + np.sqrt(1 - self.correlation**2) * X[:, j]
        return Sample(X, X @ self.slopes + deviation * noise)

    def samples(self, repeat: int, ratio: float) -> tuple[Sample, Sample, float]:
        """Return training rows, validation rows and the variance of the noise.

        Ratios of a repeat share features and noise, so that they differ in its scale alone.
        """
        rng = np.random.default_rng(np.random.SeedSequence([repeat, *self.name.encode()]))
        noise_variance = self.variance(self.slopes) / ratio
        noises = rng.standard_normal((2, self.n_rows))
        train, validation = (self.draw(rng, noise, noise_variance**0.5) for noise in noises)
        return train, validation, noise_variance

    def relative_test_error(self, intercept: float, slopes: Floats, noise_variance: float) -> float:
        """Return the expected squared error on new rows over that of the true model."""
        excess = self.variance(slopes - self.slopes) + intercept**2
        return 1.0 + excess / noise_variance


def _name(problem: str, pattern: int, correlation: float) -> str:
    return f"{problem}-pattern{pattern}-rho{correlation:g}"


SIMULATIONS = {
    _name(problem, pattern, correlation): Simulation(
        _name(problem, pattern, correlation), *PROBLEMS[problem], pattern, correlation
    )
    for problem in PROBLEMS
    for pattern in PATTERNS
    for correlation in CORRELATIONS
}


def names_of(problems: Sequence[str]) -> list[str]:
    """Return the settings of some problems, or settings as they are named."""
    names = []
    for name in problems:
        members = [each for each in SIMULATIONS if each == name or each.startswith(f"{name}-pat")]
        if not members:
            raise UnknownDataError(
                f"No simulation is called {name!r}. Use {', '.join(PROBLEMS)}, or one setting "
                f"such as {next(iter(SIMULATIONS))}."
            )
        names += members
    return names


def load(name: str, data_dir: Path | None = None) -> Simulation:
    """Return a setting by name; its rows are drawn in each cell."""
    del data_dir
    return SIMULATIONS[names_of([name])[0]]


def run_cell(
    data: Simulation, method: SimulatedMethod, repeat: int, settings: SimulationSettings
) -> dict[str, Any]:
    """Run one repeat of one method at every ratio, on one core."""
    from threadpoolctl import threadpool_limits

    sizes = [size for size in settings.sizes if size <= data.n_features]
    errors, n_nonzero = [], []
    with threadpool_limits(limits=1):
        for ratio in settings.ratios:
            train, validation, noise_variance = data.samples(repeat, ratio)
            models = method.models(train.X, train.y, sizes)
            intercept, slopes = tuned(models, train, validation)
            error = data.relative_test_error(intercept, slopes, noise_variance)
            errors.append(round(error, DECIMALS))
            n_nonzero.append(int(np.count_nonzero(slopes)))
    return {"problem": asdict(data), "errors": errors, "n_nonzero": n_nonzero}


def tuned(models: Models, train: Sample, validation: Sample) -> tuple[float, Floats]:
    """Return the model with the least squared error on the validation rows.

    The constant model is a candidate of every method. Ties go to the first.
    """
    slopes = np.vstack([np.zeros(train.X.shape[1]), models])
    intercepts = train.y.mean() - slopes @ train.X.mean(axis=0)
    residuals = validation.y[:, None] - validation.X @ slopes.T - intercepts
    best = int(np.argmin((residuals**2).mean(axis=0)))
    return float(intercepts[best]), slopes[best]


def is_made_up(name: str) -> bool:
    """Return True: all rows are drawn."""
    del name
    return True


EXPERIMENT = Experiment(load, is_made_up, get_method, run_cell)
