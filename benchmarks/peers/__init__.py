"""The contestants, one a file, all with the signature `run(fold) -> Run`."""

from collections.abc import Callable

from benchmarks.peers import abess, lasso, numpy_reference, ours, rfe
from benchmarks.peers.run import Run
from benchmarks.problem import Fold

PEERS: dict[str, Callable[[Fold], Run]] = {
    "sa-fdr": ours.run,
    "rfe": rfe.run,
    "lasso": lasso.run,
    "abess": abess.run,
    "reference": numpy_reference.run,
}
