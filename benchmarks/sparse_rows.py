"""Sparse rows, 20 000 × 5 000 at 1 %: seconds and memory of a fresh process."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from statistics import median

from benchmarks.rows import keep

ROUNDS = 3
PROGRAM = """
import json, time
import numpy as np
from scipy import sparse
from safdr import {selector}
from benchmarks.memory import high_water

rng = np.random.default_rng(0)
X = sparse.random_array((20_000, 5_000), density=0.01, format="csr", rng=rng)
signal = 3.0 * X[:, :20].sum(axis=1) + rng.normal(size=20_000)
y = {target}
before, start = high_water(), time.process_time()
{selector}.as_published(10, random_state=0).fit(X, y)
taken = time.process_time() - start
print(json.dumps({{"s": taken, "before": before, "peak": high_water()}}))
"""
TASKS = {
    "two classes": ("AnnealingSelector", "signal > np.median(signal)"),
    "five classes": (
        "AnnealingSelector",
        "np.searchsorted(np.quantile(signal, [0.2, 0.4, 0.6, 0.8]), signal)",
    ),
    "regression": ("AnnealingRegressorSelector", "signal"),
}


def main(options: argparse.Namespace) -> None:
    """A search for ten features: two classes, five, and regression."""
    rows = []
    for title, (selector, target) in TASKS.items():
        program = PROGRAM.format(selector=selector, target=target)
        runs = [_run(program) for _ in range(options.rounds or ROUNDS)]
        rows.append(
            {
                "task": title,
                "process_s": round(median(run["s"] for run in runs), 2),
                "before_mb": round(median(run["before"] for run in runs)),
                "peak_mb": round(median(run["peak"] for run in runs)),
            }
        )
    keep("sparse", rows)


def _run(program: str) -> dict[str, float]:
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result
