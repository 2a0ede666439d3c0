"""Seconds to prove the best subset of each size on all rows of each data set."""

from __future__ import annotations

import time

from benchmarks import problems
from benchmarks.rows import write
from experiments import data
from safdr import AnnealingSelector, prove

SIZES = (2, 5, 10, 15, 20)
TIME_LIMIT = 60.0


def main() -> None:
    """Write one row for each data set and size."""
    rows = []
    for name in problems.available():
        found = data.load(name)
        for size in (size for size in SIZES if size < found.X.shape[1]):
            selector = AnnealingSelector.as_published(size, random_state=0)
            start = time.perf_counter()
            proof = prove(selector, found.X, found.y, size=size, time_limit=TIME_LIMIT)
            rows.append(
                {
                    "data": name,
                    "size": size,
                    "optimal": proof.optimal,
                    "gap": f"{proof.gap:.3g}",
                    "nodes": proof.n_nodes,
                    "wall_s": round(time.perf_counter() - start, 3),
                }
            )
    write("proofs", rows)
