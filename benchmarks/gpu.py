"""The search on a CUDA device beside the compiled one, without a screen."""

from __future__ import annotations

import time

import numpy as np

from benchmarks.blocks import blocks
from benchmarks.rows import write
from safdr import Annealing, AnnealingSelector, anneal_path

# Rows, features and the largest size.
SHAPES = ((5000, 2000, 10), (5000, 5000, 10), (20_000, 20_000, 20))


def main() -> None:
    """Write one row for each shape and device."""
    import torch

    rows = []
    warm = blocks(200, 100)
    _path(warm, 2, "cuda")
    for n_rows, n_features, largest in SHAPES:
        problem = blocks(n_rows, n_features)
        best = {}
        for device in ("cuda", None):
            start = time.perf_counter()
            results = _path(problem, largest, device)
            seconds = time.perf_counter() - start
            best[device] = np.array([np.nanmax(r.criterion_values) for r in results])
            rows.append(
                {
                    "rows": n_rows,
                    "features": n_features,
                    "sizes": largest,
                    "device": torch.cuda.get_device_name(0) if device else "one core",
                    "wall_s": round(seconds, 2),
                    "worst_value_over_cuda": f"{(best[device] / best['cuda']).min():.9f}",
                }
            )
    write("gpu", rows)


def _path(problem: object, largest: int, device: str | None) -> list[object]:
    annealing = Annealing(screen=None, device=device)
    selector = AnnealingSelector(annealing=annealing, random_state=0)
    return anneal_path(selector, problem.X, problem.y, range(1, largest + 1))
