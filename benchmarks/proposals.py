"""A proposal in the compiled core against the same in plain NumPy (tests/reference.py)."""

from __future__ import annotations

import argparse

import numpy as np
from sklearn.datasets import load_breast_cancer

import reference
from benchmarks.rows import keep
from benchmarks.timing import take_turns
from safdr._engine.annealing.swap_chains import SwapChains, random_subsets
from safdr._engine.criterion import Criterion, fisher_criterion
from safdr._engine.moments import within_moments

ROUNDS = 7
N_REPLICAS, N_PROPOSALS = 50, 2000
# The reference takes this share of the proposals; per proposal that makes no difference.
REFERENCE_SHARE = 0.002


def main(options: argparse.Namespace) -> None:
    """Measure breast cancer, hot (all accepted) and cold (hardly any), at several sizes."""
    X, y = load_breast_cancer(return_X_y=True)
    criterion = fisher_criterion(within_moments(X, y, 2), ridge=1e-6)
    results = []
    for size in (3, 8, 15, 25):
        for beta in (0.0, 1e6):
            seconds = _seconds_a_proposal(criterion, size, beta, options.rounds or ROUNDS)
            results.append(
                {
                    "data": "breast cancer",
                    "size": size,
                    "beta": beta,
                    "compiled_ns": round(1e9 * seconds["compiled"], 1),
                    "reference_ns": round(1e9 * seconds["reference"]),
                    "ratio": round(seconds["reference"] / seconds["compiled"]),
                }
            )
    keep("proposals", results)


def _seconds_a_proposal(
    criterion: Criterion, size: int, beta: float, rounds: int
) -> dict[str, float]:
    """Processor seconds of each contestant."""
    rng = np.random.default_rng(0)
    start = random_subsets(criterion, size, N_REPLICAS, rng)
    chains = SwapChains(criterion, start, seed=np.random.SeedSequence(0), n_proposals=N_PROPOSALS)
    betas = np.full((1, N_REPLICAS), beta)
    n_reference = int(REFERENCE_SHARE * N_REPLICAS * N_PROPOSALS)
    seconds = take_turns(
        {
            "compiled": lambda: chains.sweep(betas),
            "reference": lambda: reference.sweep(
                start[0], (criterion.A, criterion.D), beta, n_reference, rng
            ),
        },
        rounds=rounds,
    )
    return {
        "compiled": seconds["compiled"].process / (N_REPLICAS * N_PROPOSALS),
        "reference": seconds["reference"].process / n_reference,
    }
