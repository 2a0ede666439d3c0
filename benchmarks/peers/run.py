"""What a contestant hands back."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from benchmarks.problem import Fold
from benchmarks.timing import Seconds, timed
from experiments.models import Method, SubsetModel


@dataclass(frozen=True, eq=False)
class Run:
    """One contestant on one fold.

    Attributes
    ----------
    seconds : Seconds
        For all sizes.
    models : list of SubsetModel
        One a size (Lasso: one a penalty); none where the run was not whole.
    candidates : list of ndarray of shape (n_candidates, size)
        The subsets that each model was picked from.
    parts : dict
        Processor seconds by part of the work, where they are known.
    extrapolated : bool
        Whether the seconds stand for more work than was done.
    """

    seconds: Seconds
    models: list[SubsetModel] = field(default_factory=list)
    candidates: list[NDArray[np.int64]] = field(default_factory=list)
    parts: dict[str, float] = field(default_factory=dict)
    extrapolated: bool = False


def run_method(method: Method, fold: Fold) -> Run:
    """A method of the paper's protocol, as the protocol runs it; its grid is part of the work."""

    def path() -> list[SubsetModel]:
        grid = method.grid(fold.X, fold.y, fold.sizes[-1])
        return method.path(fold.X, fold.y, grid, fold.seed)

    models, seconds = timed(path)
    return Run(seconds, models, [model.subset[None] for model in models])
