"""What the diagonal bound is worth, on the sizes that the paper's rules chose.

Beside ours: our search with the losses of single features alone, and plain leaps and bounds, whose
only bound is the value of all features of a node. All start from the best subset, so that nodes can
be compared; the seconds of the last can't, since it is NumPy.
"""

from __future__ import annotations

import argparse
import time
from functools import partial
from unittest.mock import patch

import numpy as np

from benchmarks.problem import EIGHT, KAGGLE
from benchmarks.proofs import chosen_sizes, criterion_of
from benchmarks.rows import keep
from benchmarks.table_parts import SAME
from benchmarks.timing import timed
from safdr._engine.arrays import FloatArray
from safdr._engine.criterion import Criterion
from safdr._engine.proof.prover import Prover

# Seconds for the search without the diagonal, and processor seconds for leaps and bounds.
LIMIT, LEAPS_LIMIT = 30.0, 10.0


def main(options: argparse.Namespace) -> None:
    """One row for each data set and size."""
    for data in options.data or [*EIGHT, KAGGLE]:
        criterion = criterion_of(data, options.data_dir)
        ours = Prover(criterion).prepare()
        with patch("safdr._engine.proof.root.diagonal", _no_diagonal):
            provers = {"ours": ours, "singles": Prover(criterion).prepare()}
        rows = []
        for size in sorted(set(chosen_sizes(data).values())):
            row: dict[str, object] = {"data": data, "size": size}
            for name, prover in provers.items():
                proof, seconds = timed(partial(prover.prove, size, seconds=LIMIT))
                row[f"{name}_nodes"] = _count(proof.n_nodes, proof.optimal)
                row[f"{name}_s"] = round(seconds.process, 3)
            _, n_nodes, ended = leaps(criterion, size, proof.value, LEAPS_LIMIT)
            rows.append(row | {"leaps_nodes": _count(n_nodes, ended)})
        keep("leaps", rows, by=("data", "size"))


def _no_diagonal(A: FloatArray, _: FloatArray) -> FloatArray:
    return np.zeros(len(A))


def _count(n_nodes: int, ended: bool) -> str:
    return str(n_nodes) if ended else f"> {n_nodes}"


def leaps(criterion: Criterion, size: int, best: float, seconds: float) -> tuple[float, int, bool]:
    """The best value, the number of nodes, and whether nothing is left or time was up."""
    inverse = np.linalg.inv(criterion.A)
    solved = inverse @ criterion.D
    everything = float(np.sum(criterion.D * solved))
    nodes = [(np.arange(len(inverse)), inverse, solved, everything, 0)]
    n_nodes, end = 0, time.process_time() + seconds
    while nodes and time.process_time() < end:
        here, P, beta, value, n_in = nodes.pop()
        n_nodes += 1
        losses = np.sum(beta**2, axis=1) / np.diag(P)
        # Those that cost most to leave out come first: their children have the most below them.
        order = np.concatenate([np.arange(n_in), n_in + np.argsort(-losses[n_in:])])
        here, P, beta, losses = here[order], P[np.ix_(order, order)], beta[order], losses[order]
        best = max(best, criterion.value(here[:size]))
        for j in range(n_in, size if len(P) > size else 0):
            if value - losses[j] > best * (1 + SAME):
                others = np.delete(np.arange(len(P)), j)
                factor = P[others, j] / P[j, j]
                left = P[np.ix_(others, others)] - np.outer(factor, P[j, others])
                solved = beta[others] - np.outer(factor, beta[j])
                nodes.append((here[others], left, solved, value - losses[j], j))
    return best, n_nodes, not nodes
