"""Seconds of the cross-validated selectors for each kind of task and constraint."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import problems
from benchmarks.rows import take_turns, write
from safdr import (
    AnnealingRegressorSelectorCV,
    AnnealingSelectorCV,
    Constraints,
    PopulationAnnealing,
    near_optimal,
    stability,
    substitutes,
)

ROUNDS = 3


def main() -> None:
    """Write one row for each task."""
    seconds = take_turns(_tasks(), ROUNDS)
    write("tasks", [{"task": name, "s": round(value, 3)} for name, value in seconds.items()])


def _tasks() -> dict[str, Callable[[], object]]:
    _, X, y = problems.whole("digits_8")
    digits, regression = problems.digits(), problems.whole("diabetes")
    signs = Constraints(signs={int(j): 1 for j in np.flatnonzero(np.arange(X.shape[1]) % 2)})
    pairs = Constraints(groups={f"pair {j}": [j, j + 1] for j in range(0, 40, 2)})
    selector = AnnealingSelectorCV(10, random_state=0).fit(X, y)

    def fit(kind: Any, X: Any, y: Any, **parameters: Any) -> Callable[[], object]:
        return lambda: kind(10, random_state=0, **parameters).fit(X, y)

    return {
        "two classes": fit(AnnealingSelectorCV, X, y),
        "ten classes": fit(AnnealingSelectorCV, digits.X, digits.y),
        "regression": fit(AnnealingRegressorSelectorCV, regression.X, regression.y),
        "signs": fit(AnnealingSelectorCV, X, y, constraints=signs),
        "groups": fit(AnnealingSelectorCV, X, y, constraints=pairs),
        "population": fit(AnnealingSelectorCV, X, y, annealing=PopulationAnnealing()),
        "stability, 50 half-samples": lambda: stability(selector, X, y, random_state=0),
        "substitutes": lambda: substitutes(selector, X, y),
        "near-optimal subsets": lambda: near_optimal(selector, X, y),
    }
