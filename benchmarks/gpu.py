"""The search on a card beside the compiled one: `python -m benchmarks.gpu`, where there is a card.

Blocks of 50 features have one factor in common (correlation 1/2); twenty features, anywhere, decide
the label with logistic noise. All sizes up to a number. Seconds are on the wall, with the way of
the rows to the card, the fits and the choice of the winner. The compiled search has one core.
"""

from __future__ import annotations

import argparse
import os
import time
from typing import Any

import numpy as np
import torch

from benchmarks.rows import keep
from safdr import Annealing, anneal_path

BLOCK, PLANTED = 50, 20
# Rows, features, and the largest size.
PROBLEMS = ((2000, 500, 10), (5000, 2000, 10), (5000, 5000, 10), (20_000, 20_000, 20))


def problem(n_rows: int, n_features: int, seed: int = 0) -> tuple[Any, Any, Any]:
    """Rows in single precision, labels, and the features that decide them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features), dtype=np.float32)
    for start in range(0, n_features, BLOCK):
        X[:, start : start + BLOCK] += rng.standard_normal((n_rows, 1), dtype=np.float32)
    planted = np.sort(rng.choice(n_features, PLANTED, replace=False))
    slopes = rng.normal(size=PLANTED)
    slopes = np.sign(slopes) * (0.3 + np.abs(slopes)) / np.sqrt(PLANTED)
    y = X[:, planted] @ slopes + rng.logistic(size=n_rows) > 0
    return X, y.astype(int), planted


def main() -> None:
    """A row for each problem and way to search it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--problems", type=int, nargs="*", default=range(len(PROBLEMS)))
    options = parser.parse_args()
    anneal_path(*problem(200, 100)[:2], [2], device=options.device)  # what a first call loads
    for which in options.problems:
        n_rows, n_features, largest = PROBLEMS[which]
        X, y, planted = problem(n_rows, n_features)
        ways: dict[str, tuple[Any, dict[str, Any]]] = {
            "card": (X, {"device": options.device}),
            "card, rows there": (
                torch.as_tensor(X, device=options.device),
                {"device": options.device},
            ),
            "card, 1024 replicas": (
                X,
                {"device": options.device, "annealing": Annealing(n_replicas=1024)},
            ),
            "compiled": (X, {}),
        }
        rows, best = [], {}
        for name, (data, how) in ways.items():
            began = time.perf_counter()
            results = anneal_path(data, y, range(1, largest + 1), random_state=0, **how)
            seconds = time.perf_counter() - began
            best[name] = np.array([np.nanmax(result.criterion_values) for result in results])
            found = len(np.intersect1d(results[-1].subset, planted))
            rows.append({"way": name, "seconds": round(seconds, 2), "planted_found": found})
        for row in rows:
            below = best[row["way"]] < best["compiled"] * (1 - 1e-9)
            row["sizes_below_compiled"] = int(below.sum())
            row["sizes_above"] = int((best[row["way"]] > best["compiled"] * (1 + 1e-9)).sum())
        shape = {"rows": n_rows, "features": n_features, "largest_size": largest}
        card = torch.cuda.get_device_name(0) if torch.cuda.is_available() else "none"
        told = {"card": card, "torch": torch.__version__, "cores": os.cpu_count()}
        keep("gpu", [{**shape, **row, **told} for row in rows], by=("rows", "features", "way"))


if __name__ == "__main__":
    main()
