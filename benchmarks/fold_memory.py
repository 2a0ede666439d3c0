"""Peak memory of five splits beside that of a search at one size, each in a fresh process."""

from __future__ import annotations

import argparse
import subprocess
import sys

from benchmarks.rows import keep

PROGRAM = """
import warnings
import numpy as np
from safdr import AnnealingSelector, AnnealingSelectorCV
from benchmarks.memory import high_water

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.normal(size=({rows}, {features}))
y = X[:, :12] @ rng.normal(size=12) + rng.normal(size={rows}) > 0
{call}.fit(X, y)
print(high_water())
"""
SHAPES = ((500_000, 60), (100, 4000))
# Models of more features read more columns at a time, so each range has the size that it ends with
# beside it.
RANGES = ((7, 8), (29, 30))
JOBS = (1, 2)


def main(options: argparse.Namespace) -> None:
    """A row for each shape and range of sizes: one size, and five splits with one job and two."""
    del options
    for least, most in RANGES:
        for shape in SHAPES:
            alone = _peak(shape, f"AnnealingSelector({most}, random_state=0)")
            sizes = f"min_features={least}, max_features={most}"
            splits = [
                _peak(shape, f"AnnealingSelectorCV({sizes}, n_jobs={n}, random_state=0)")
                for n in JOBS
            ]
            row = {
                "rows": shape[0],
                "features": shape[1],
                "sizes": f"{least} and {most}",
                "one_size_mb": round(alone),
                "splits_mb": round(splits[0]),
                "ratio": round(splits[0] / alone, 2),
                "two_jobs_mb": round(splits[1]),
                "two_jobs_ratio": round(splits[1] / alone, 2),
            }
            keep("fold_memory", [row], by=("rows", "features", "sizes"))


def _peak(shape: tuple[int, int], call: str) -> float:
    """Megabytes, with the rows and the packages."""
    program = PROGRAM.format(rows=shape[0], features=shape[1], call=call)
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return float(done.stdout)
