"""Seconds, memory and found features with many more features than rows."""

from __future__ import annotations

import time

import numpy as np

from benchmarks.memory import peak_megabytes
from benchmarks.rows import write

SHAPES = ((200, 10_000), (200, 100_000), (100, 1_000_000), (2000, 20_000))
SIZE = 10

CODE = """
import time
from benchmarks.blocks import blocks
from safdr import AnnealingSelector
problem = blocks({n_rows}, {n_features})
start = time.perf_counter()
AnnealingSelector({size}, random_state=0).fit(problem.X, problem.y)
print(time.perf_counter() - start)
"""


def main() -> None:
    """Write one row for each shape."""
    rows = []
    for n_rows, n_features in SHAPES:
        start = time.perf_counter()
        peak, printed = peak_megabytes(CODE.format(n_rows=n_rows, n_features=n_features, size=SIZE))
        rows.append(
            {
                "rows": n_rows,
                "features": n_features,
                "data_mb": round(n_rows * n_features * np.dtype(np.float32).itemsize / 1e6),
                "fit_s": round(float(printed), 2),
                "peak_mb": round(peak),
                "process_s": round(time.perf_counter() - start, 1),
            }
        )
    write("wide", rows)
