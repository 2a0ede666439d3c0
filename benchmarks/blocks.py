"""Synthetic rows with correlated blocks of features."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Problem(NamedTuple):
    """Rows with a name."""

    name: str
    X: NDArray[np.float64]
    y: NDArray[Any]


def blocks(n_rows: int, n_features: int, seed: int = 0) -> Problem:
    """Return blocks of 50 features with one factor in common; twenty features make the label."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features), dtype=np.float32)
    for start in range(0, n_features, 50):
        X[:, start : start + 50] += rng.standard_normal((n_rows, 1), dtype=np.float32)
    relevant = rng.choice(n_features, 20, replace=False)
    slopes = rng.choice([-1.0, 1.0], 20) * (0.3 + rng.exponential(size=20)) / np.sqrt(20)
    y = (X[:, relevant] @ slopes + rng.logistic(size=n_rows) > 0).astype(int)
    return Problem(f"{n_rows} × {n_features}", X, y)
