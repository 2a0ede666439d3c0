"""scikit-learn's recursive elimination, as in the paper's protocol."""

from benchmarks.peers.run import Run, run_method
from benchmarks.problem import Fold
from experiments.baselines import RFE


def run(fold: Fold) -> Run:
    """All sizes of the fold."""
    return run_method(RFE(), fold)
