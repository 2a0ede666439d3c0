"""Logistic regression with an L1 penalty, as in the paper's protocol."""

from benchmarks.peers.run import Run, run_method
from benchmarks.problem import Fold
from experiments.baselines import Lasso


def run(fold: Fold) -> Run:
    """All penalties of the protocol's grid."""
    return run_method(Lasso(), fold)
