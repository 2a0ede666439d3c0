"""Best subset by splicing, as in the paper's protocol."""

from benchmarks.peers.run import Run, run_method
from benchmarks.problem import Fold
from experiments.baselines import Abess


def run(fold: Fold) -> Run:
    """All sizes of the fold."""
    return run_method(Abess(), fold)
