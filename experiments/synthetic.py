"""Synthetic sets: more features than rows, few rows, heavy tails, a rare class, many classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Generator = np.random.Generator

# A split of so many rows shares few test rows with the next.
N_REGRESSION_ROWS = 10_000
N_CLASS_ROWS = 8_000
N_RELEVANT = 6


@dataclass(frozen=True)
class SyntheticSet:
    """A set that is generated: always the same rows."""

    title: str
    generate: Callable[[], tuple[Floats, NDArray[np.generic]]]
    n_train: int
    n_test: int = 1000


def independent(rng: Generator, n_rows: int, n_features: int) -> tuple[Floats, Floats]:
    """Return uncorrelated features; six of them make the log-odds."""
    X = rng.standard_normal((n_rows, n_features))
    return X, X @ _effects(rng, n_features, 6, 4.0)


def blocks(rng: Generator, n_rows: int, n_features: int) -> tuple[Floats, Floats]:
    """Return blocks of 20 features with correlations of 0.7."""
    common = np.repeat(rng.standard_normal((n_rows, n_features // 20)), 20, axis=1)
    X = np.sqrt(0.7) * common + np.sqrt(0.3) * rng.standard_normal((n_rows, n_features))
    return X, X @ _effects(rng, n_features, 6, 4.0)


def factors(rng: Generator, n_rows: int, n_features: int) -> tuple[Floats, Floats]:
    """Return noisy copies of eight factors, which make the log-odds."""
    hidden = rng.standard_normal((n_rows, 8))
    X = hidden @ rng.standard_normal((8, n_features)) / np.sqrt(8)
    X += rng.standard_normal(X.shape)
    return X, hidden @ _effects(rng, 8, 8, 3.0)


def chain(rng: Generator, n_rows: int, n_features: int) -> tuple[Floats, Floats]:
    """Return neighbours with a correlation of 0.9, whose differences make the log-odds."""
    X = rng.standard_normal((n_rows, n_features))
    for j in range(1, n_features):
        X[:, j] = 0.9 * X[:, j - 1] + np.sqrt(1 - 0.9**2) * X[:, j]
    differences = X[:, 1::2] - X[:, ::2]
    return X, differences @ _effects(rng, differences.shape[1], 6, 6.0)


def equicorrelated(rng: Generator, n_rows: int, n_features: int) -> tuple[Floats, Floats]:
    """Return features whose pairs have a correlation of 0.3."""
    X = np.sqrt(0.7) * rng.standard_normal((n_rows, n_features))
    X += np.sqrt(0.3) * rng.standard_normal((n_rows, 1))
    return X, X @ _effects(rng, n_features, 8, 2.5)


def log_normal(rng: Generator, n_rows: int, n_features: int) -> tuple[Floats, Floats]:
    """Return amounts; the log-odds are linear in their logarithms."""
    X, log_odds = equicorrelated(rng, n_rows, n_features)
    return np.exp(1.5 * X), log_odds


def cauchy_like(rng: Generator, n_rows: int, n_features: int) -> tuple[Floats, Floats]:
    """Return Student's t with 1.5 degrees of freedom, which has no variance."""
    X = rng.standard_t(1.5, (n_rows, n_features))
    return X, np.arctan(X) @ _effects(rng, n_features, 12, 2.5)


def _effects(rng: Generator, n_features: int, n_relevant: int, length: float) -> Floats:
    """Return slopes at random positions with random signs that fall by 0.8."""
    slopes = 0.8 ** np.arange(n_relevant) * rng.choice([-1.0, 1.0], n_relevant)
    found = np.zeros(n_features)
    positions = rng.permutation(n_features)[:n_relevant]
    found[positions] = length * slopes / np.linalg.norm(slopes)
    return found


def _two_classes(
    title: str,
    n_train: int,
    n_features: int,
    make: Callable[[Generator, int, int], tuple[Floats, Floats]],
    n_rows: int = 5000,
    n_test: int = 500,
    positive_share: float = 0.5,
    *,
    seed: int,
) -> SyntheticSet:
    """Return a set whose share of class 1 is exact."""

    def generate() -> tuple[Floats, NDArray[np.int64]]:
        rng = np.random.default_rng(seed)
        X, log_odds = make(rng, n_rows, n_features)
        noisy = log_odds + rng.logistic(size=n_rows)
        y = np.zeros(n_rows, dtype=np.int64)
        y[np.argsort(noisy)[-round(positive_share * n_rows) :]] = 1
        return X, y

    return SyntheticSet(title, generate, n_train, n_test)


def _features(rng: Generator, kind: str, n_rows: int, n_features: int) -> Floats:
    """Return columns of variance 1: independent, a chain of neighbours, or blocks of twenty."""
    X = rng.standard_normal((n_rows, n_features))
    if kind == "chain":
        for j in range(1, n_features):
            X[:, j] = 0.7 * X[:, j - 1] + np.sqrt(0.51) * X[:, j]
    elif kind == "blocks":
        common = np.repeat(rng.standard_normal((n_rows, n_features // 20)), 20, axis=1)
        X = np.sqrt(0.7) * common + np.sqrt(0.3) * X
    return X


def _regression(kind: str, n_train: int, n_features: int, noise: float) -> SyntheticSet:
    """Return a set with a target of six features and a share of noise."""

    def generate() -> tuple[Floats, Floats]:
        rng = np.random.default_rng([n_train, n_features, round(100 * noise), len(kind)])
        X = _features(rng, kind, N_REGRESSION_ROWS, n_features)
        slopes = 0.85 ** np.arange(N_RELEVANT) * rng.choice([-1.0, 1.0], N_RELEVANT)
        signal = X[:, rng.permutation(n_features)[:N_RELEVANT]] @ slopes
        errors = rng.standard_normal(len(X))
        y = np.sqrt(1 - noise) * signal / signal.std() + np.sqrt(noise) * errors / errors.std()
        return X, y

    return SyntheticSet(f"{kind.capitalize()}, {noise:.0%} noise", generate, n_train)


def _many_classes(
    kind: str, n_classes: int, n_train: int, n_features: int, n_relevant: int
) -> SyntheticSet:
    """Return a set whose class means differ in some features."""

    def generate() -> tuple[Floats, NDArray[np.int64]]:
        rng = np.random.default_rng([n_classes, n_train, n_features, len(kind)])
        X = _features(rng, kind, N_CLASS_ROWS, n_features)
        y = rng.integers(n_classes, size=N_CLASS_ROWS)
        relevant = rng.permutation(n_features)[:n_relevant]
        X[:, relevant] += rng.standard_normal((n_classes, n_relevant))[y]
        return X, y

    title = f"{kind.capitalize()}, {n_classes} classes"
    return SyntheticSet(title, generate, n_train)


SETS: dict[str, SyntheticSet] = {
    "wide_70x1000": _two_classes("Wide 70 × 1000, independent", 70, 1000, independent, seed=1),
    "wide_100x2000": _two_classes("Wide 100 × 2000, blocks", 100, 2000, blocks, seed=2),
    "wide_80x1500": _two_classes("Wide 80 × 1500, factors", 80, 1500, factors, seed=3),
    "wide_90x1200": _two_classes(
        "Wide 90 × 1200, equicorrelated", 90, 1200, equicorrelated, seed=10
    ),
    "wide_120x800": _two_classes("Wide 120 × 800, log-normal", 120, 800, log_normal, seed=11),
    "wide_200x600": _two_classes("Wide 200 × 600, chain", 200, 600, chain, seed=12),
    "few_200x40": _two_classes(
        "Few rows 200 × 40, equicorrelated", 200, 40, equicorrelated, seed=4
    ),
    "few_150x60": _two_classes("Few rows 150 × 60, blocks", 150, 60, blocks, seed=5),
    "few_120x30": _two_classes("Few rows 120 × 30, chain", 120, 30, chain, seed=6),
    "tails_log_normal": _two_classes(
        "Heavy tails 3000 × 40, log-normal", 3000, 40, log_normal, 10000, 1000, seed=7
    ),
    "tails_cauchy": _two_classes(
        "Heavy tails 3000 × 40, Cauchy-like", 3000, 40, cauchy_like, 10000, 1000, seed=8
    ),
    "rare_2_percent": _two_classes(
        "Rare class 4000 × 40, 2 %", 4000, 40, equicorrelated, 20000, 4000, 0.02, seed=9
    ),
    "classes_4": _many_classes("chain", 4, 400, 30, 8),
    "classes_8": _many_classes("blocks", 8, 600, 80, 12),
    "classes_26": _many_classes("blocks", 26, 900, 300, 25),
    **{
        f"{kind}_{n_train}x{n_features}_{round(100 * noise)}": _regression(
            kind, n_train, n_features, noise
        )
        for kind in ("independent", "chain", "blocks")
        for n_train, n_features in ((250, 60), (80, 600))
        for noise in (0.01, 0.3, 0.6, 0.9)
    },
}
