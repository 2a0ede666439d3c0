"""Class moments against the bare product X'X, which is the least that they can cost."""

from __future__ import annotations

import argparse
from functools import partial

import numpy as np

from benchmarks.rows import keep
from benchmarks.timing import take_turns
from safdr._engine.moments import within_moments

ROUNDS = 11


def main(options: argparse.Namespace) -> None:
    """Measure 100 000 rows of 400 features, in both memory orders."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(100_000, 400))
    codes = (rng.random(len(rows)) < 0.3).astype(np.int64)
    results = []
    for order, X in {"C": rows, "F": np.asfortranarray(rows)}.items():
        seconds = take_turns(
            {
                "product": partial(np.matmul, X.T, X),
                "moments": partial(within_moments, X, codes, 2),
            },
            rounds=options.rounds or ROUNDS,
        )
        results.append(
            {
                "order": order,
                "product_s": round(seconds["product"].process, 4),
                "moments_s": round(seconds["moments"].process, 4),
                "ratio": round(seconds["moments"].process / seconds["product"].process, 3),
            }
        )
    keep("moments", results)
