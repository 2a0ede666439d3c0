"""Made-up sets of the kinds that are hard to come by: wide, short, heavy in the tails, lopsided.

Each is a few thousand rows, of which a split trains on as many as the name says: so the test parts
are large, and hardly share rows from one split to the next.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.task_data import TaskData

Floats = NDArray[np.float64]
Generator = np.random.Generator


@dataclass(frozen=True)
class Recipe:
    """How many rows and features there are, and what makes them and their log-odds."""

    title: str
    n_train: int
    n_features: int
    make: Callable[[Generator, int, int], tuple[Floats, Floats]]
    n_rows: int = 5000
    n_test: int = 500
    positive_share: float = 0.5
    seed: int = 0

    def generate(self) -> TaskData:
        """Always the same rows; exactly the share of them is of class 1."""
        rng = np.random.default_rng(self.seed)
        X, log_odds = self.make(rng, self.n_rows, self.n_features)
        noisy = log_odds + rng.logistic(size=self.n_rows)
        y = np.zeros(self.n_rows, dtype=np.int64)
        y[np.argsort(noisy)[-round(self.positive_share * self.n_rows) :]] = 1
        return TaskData(X, y, tuple(f"x{j + 1}" for j in range(self.n_features)))


def effects(rng: Generator, n_features: int, n_relevant: int, total: float) -> Floats:
    """Slopes that fall off, at random places and with random signs; `total` is their length."""
    slopes = 0.8 ** np.arange(n_relevant) * rng.choice([-1.0, 1.0], n_relevant)
    found = np.zeros(n_features)
    places = rng.permutation(n_features)[:n_relevant]
    found[places] = total * slopes / np.linalg.norm(slopes)
    return found


def independent(rng: Generator, n_rows: int, n_features: int) -> tuple[Floats, Floats]:
    """Six of many unrelated features tell the class."""
    X = rng.standard_normal((n_rows, n_features))
    return X, X @ effects(rng, n_features, 6, 4.0)


def blocks(rng: Generator, n_rows: int, n_features: int) -> tuple[Floats, Floats]:
    """Blocks of 20 features with correlations of 0.7 inside; six features tell the class."""
    common = np.repeat(rng.standard_normal((n_rows, n_features // 20)), 20, axis=1)
    X = np.sqrt(0.7) * common + np.sqrt(0.3) * rng.standard_normal((n_rows, n_features))
    return X, X @ effects(rng, n_features, 6, 4.0)


def factors(rng: Generator, n_rows: int, n_features: int) -> tuple[Floats, Floats]:
    """All features are noisy views of eight factors, which tell the class."""
    hidden = rng.standard_normal((n_rows, 8))
    X = hidden @ rng.standard_normal((8, n_features)) / np.sqrt(8)
    X += rng.standard_normal(X.shape)
    return X, hidden @ effects(rng, 8, 8, 3.0)


def chain(rng: Generator, n_rows: int, n_features: int) -> tuple[Floats, Floats]:
    """Neighbours with a correlation of 0.9, and their differences tell the class."""
    X = rng.standard_normal((n_rows, n_features))
    for j in range(1, n_features):
        X[:, j] = 0.9 * X[:, j - 1] + np.sqrt(1 - 0.9**2) * X[:, j]
    differences = X[:, 1::2] - X[:, ::2]
    return X, differences @ effects(rng, differences.shape[1], 6, 6.0)


def equicorrelated(rng: Generator, n_rows: int, n_features: int) -> tuple[Floats, Floats]:
    """All pairs with a correlation of 0.3; eight features tell the class."""
    X = np.sqrt(0.7) * rng.standard_normal((n_rows, n_features))
    X += np.sqrt(0.3) * rng.standard_normal((n_rows, 1))
    return X, X @ effects(rng, n_features, 8, 2.5)


def log_normal(rng: Generator, n_rows: int, n_features: int) -> tuple[Floats, Floats]:
    """Amounts: the log-odds follow their logarithms, and a table has the amounts."""
    X, log_odds = equicorrelated(rng, n_rows, n_features)
    return np.exp(1.5 * X), log_odds


def cauchy_like(rng: Generator, n_rows: int, n_features: int) -> tuple[Floats, Floats]:
    """Student's t with 1.5 degrees of freedom: no variance; the log-odds are bounded in each."""
    X = rng.standard_t(1.5, (n_rows, n_features))
    return X, np.arctan(X) @ effects(rng, n_features, 12, 2.5)


RECIPES = {
    "wide_70x1000": Recipe("Wide 70 × 1000, independent", 70, 1000, independent, seed=1),
    "wide_100x2000": Recipe("Wide 100 × 2000, blocks", 100, 2000, blocks, seed=2),
    "wide_80x1500": Recipe("Wide 80 × 1500, factors", 80, 1500, factors, seed=3),
    "wide_90x1200": Recipe("Wide 90 × 1200, equicorrelated", 90, 1200, equicorrelated, seed=10),
    "wide_120x800": Recipe("Wide 120 × 800, log-normal", 120, 800, log_normal, seed=11),
    "wide_200x600": Recipe("Wide 200 × 600, chain", 200, 600, chain, seed=12),
    "few_200x40": Recipe("Few rows 200 × 40, equicorrelated", 200, 40, equicorrelated, seed=4),
    "few_150x60": Recipe("Few rows 150 × 60, blocks", 150, 60, blocks, seed=5),
    "few_120x30": Recipe("Few rows 120 × 30, chain", 120, 30, chain, seed=6),
    "tails_log_normal": Recipe(
        "Heavy tails 3000 × 40, log-normal", 3000, 40, log_normal, 10000, 1000, seed=7
    ),
    "tails_cauchy": Recipe(
        "Heavy tails 3000 × 40, Cauchy-like", 3000, 40, cauchy_like, 10000, 1000, seed=8
    ),
    "rare_2_percent": Recipe(
        "Rare class 4000 × 40, 2 %", 4000, 40, equicorrelated, 20000, 4000, 0.02, seed=9
    ),
}
