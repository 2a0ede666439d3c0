"""Class moments against the bare product X'X, which is the least that they can cost."""

from __future__ import annotations

import numpy as np

from benchmarks.timing import keep, take_turns
from safdr.moments import class_moments


def main() -> None:
    """Measure 100 000 rows of 400 features, in both memory orders."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(100_000, 400))
    codes = (rng.random(len(rows)) < 0.3).astype(np.int64)
    results = []
    for order in "CF":
        X = np.asarray(rows, order=order)
        seconds = take_turns(
            {"product": lambda X=X: X.T @ X, "moments": lambda X=X: class_moments(X, codes, 2)},
            rounds=11,
        )
        results.append(
            {
                "order": order,
                "product_s": round(seconds["product"], 4),
                "moments_s": round(seconds["moments"], 4),
                "ratio": round(seconds["moments"] / seconds["product"], 3),
            }
        )
    keep("moments", results)
