"""Proposal for proposal: the library's annealing against plain NumPy."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from benchmarks.peers.numpy_reference import (
    count_proposals,
    measured_sizes,
    seconds_a_proposal,
)
from benchmarks.problem import EIGHT, Fold, load_fold
from benchmarks.rows import keep
from benchmarks.split import split_time
from safdr import anneal_path

ROUNDS = 5


def main(options: argparse.Namespace) -> None:
    """One row for each data set and size."""
    for data in options.data or EIGHT:
        fold = load_fold(data, options.data_dir, options.max_features)
        sizes = options.sizes or measured_sizes(fold)
        rows = [_row(fold, size, options.rounds or ROUNDS) for size in sizes]
        keep("reference", rows, by=("data", "size"))


def _row(fold: Fold, size: int, rounds: int) -> dict[str, Any]:
    rng = np.random.default_rng(fold.seed)
    pairs = [(_library(fold, size, seed), _reference(fold, size, rng)) for seed in range(rounds)]
    library, numpy = np.median(pairs, axis=0)
    return {
        "data": fold.data,
        "size": size,
        "library_ns": round(1e9 * library, 1),
        "reference_ns": round(1e9 * numpy),
        "ratio": round(numpy / library),
        "rounds": rounds,
    }


def _library(fold: Fold, size: int, seed: int) -> float:
    """Processor seconds a proposal over a whole annealing, from hot to cold."""
    with split_time() as parts:
        [result] = anneal_path(fold.X, fold.y, [size], C=np.inf, random_state=seed)
    return parts["annealing"] / count_proposals(result, fold.X.shape[1])


def _reference(fold: Fold, size: int, rng: np.random.Generator) -> float:
    return seconds_a_proposal(fold, size, rng).process
