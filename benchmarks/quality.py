"""Whether the best candidate is at least as good as greedy selection and abess, size by size."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import greedy
from benchmarks.peers import PEERS
from benchmarks.problem import EIGHT, Fold, best_value, load_fold
from benchmarks.rows import keep
from experiments.models import fit_models

Subsets = dict[int, NDArray[np.int64]]


def main(options: argparse.Namespace) -> None:
    """One row for each data set, size and rival."""
    for data in options.data or EIGHT:
        fold = load_fold(data, options.data_dir, options.max_features)
        ours = PEERS["sa-fdr"](fold)
        best = {
            size: best_value(fold, candidates)
            for size, candidates in zip(fold.sizes, ours.candidates, strict=True)
        }
        entropy = {len(model.subset): model.cross_entropy for model in ours.models}
        rows = [
            row | {"ours": f"{best[size]:.12g}", "our_cross_entropy": f"{entropy[size]:.9g}"}
            for rival, subsets in rival_subsets(fold).items()
            for size, row in _rows_of(fold, rival, subsets).items()
        ]
        keep("quality", rows, by=("data",), quiet=True)


def rival_subsets(fold: Fold) -> dict[str, Subsets]:
    """What forward greedy, backward greedy and abess choose at each size."""
    found = {
        "forward greedy": greedy.forward(fold.criterion, fold.sizes[-1]),
        "backward greedy": greedy.backward(fold.criterion, fold.sizes[-1]),
        "abess": [model.subset for model in PEERS["abess"](fold).models],
    }
    return {
        rival: {len(s): s for s in subsets if len(s) in fold.sizes}
        for rival, subsets in found.items()
    }


def _rows_of(fold: Fold, rival: str, subsets: Subsets) -> dict[int, dict[str, Any]]:
    models = fit_models(fold.X, fold.y, subsets.values())
    return {
        size: {
            "data": fold.data,
            "size": size,
            "rival": rival,
            "theirs": f"{fold.criterion.value(subsets[size]):.12g}",
            "their_cross_entropy": f"{model.cross_entropy:.9g}",
        }
        for size, model in zip(subsets, models, strict=True)
    }
