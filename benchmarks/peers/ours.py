"""This library, the method as published; the timers inside cost some microseconds a size."""

from benchmarks.peers.run import Run
from benchmarks.problem import AS_PUBLISHED, Fold
from benchmarks.split import split_time
from benchmarks.timing import timed
from experiments.models import SubsetModel
from safdr import AnnealingResult, anneal_path


def run(fold: Fold) -> Run:
    """All sizes of the fold."""
    with split_time() as parts:
        results, seconds = timed(
            lambda: anneal_path(fold.X, fold.y, fold.sizes, random_state=fold.seed, **AS_PUBLISHED)
        )
    parts["rest"] = seconds.process - sum(parts.values())
    models = [_winner(result) for result in results]
    return Run(seconds, models, [result.subsets for result in results], parts)


def _winner(result: AnnealingResult) -> SubsetModel:
    """The model that was chosen, which is a logistic one."""
    assert result.coefficients is not None
    assert result.intercepts is not None
    best = result.best
    return SubsetModel(
        result.subset, result.coefficients[best], float(result.intercepts[best]), result.loss
    )
