"""The work: one fold of the paper's protocol (first repeat, first inner split)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler

from experiments.datasets import get_dataset, load
from experiments.methods import annealing_defaults
from experiments.models import sizes_up_to
from experiments.protocol import ProtocolSettings, make_split
from safdr import Annealing
from safdr._engine.criterion import Criterion, fisher_criterion
from safdr._engine.moments import within_moments

EIGHT = (
    "heart",
    "cancer",
    "ozone",
    "spambase",
    "student",
    "bankruptcy",
    "madelon",
    "card_default",
)
STAND_IN = "loan_default_synthetic"
KAGGLE = "loan_default_kaggle"
# Parameters of the method as published, for two classes.
AS_PUBLISHED: dict[str, Any] = {
    "annealing": Annealing(screen=None),
    "criterion": "fisher",
    "ridge": 1e-6,
    "C": np.inf,
}


@dataclass(frozen=True, eq=False)
class Fold:
    """Training rows of one inner split, standardised, and the sizes to search.

    Attributes
    ----------
    data : str
        Name of the data set.
    X, y : ndarray
        Training rows and labels.
    sizes : list of int
        Numbers of features.
    seed : int
        For the contestants that draw.
    """

    data: str
    X: NDArray[np.float64]
    y: NDArray[np.int64]
    sizes: list[int]
    seed: int

    @cached_property
    def criterion(self) -> Criterion:
        """The criterion on these rows, with the library's default ridge."""
        return fisher_criterion(
            within_moments(self.X, self.y, 2), ridge=annealing_defaults()["ridge"]
        )


def load_fold(name: str, data_dir: Path | None = None, max_features: int = 30) -> Fold:
    """One fold of a data set of the paper.

    Parameters
    ----------
    name : str
        Of the data set.
    data_dir : Path, default=None
        Where its file is; None as in the experiments.
    max_features : int, default=30
        Largest size.

    Returns
    -------
    Fold
    """
    problem = load(name, data_dir)
    split = make_split(problem, 0, ProtocolSettings())
    train, _ = split.folds[0]
    X = np.asarray(StandardScaler().fit_transform(problem.X[train]))
    return Fold(
        name, X, problem.y[train], sizes_up_to(max_features, X.shape[1]), split.fold_seeds[0]
    )


def best_value(fold: Fold, candidates: NDArray[np.int64]) -> float:
    """Largest criterion value of some subsets, each from scratch."""
    return max(fold.criterion.value(subset) for subset in candidates)


def title_of(name: str) -> str:
    """Name of a data set for tables."""
    return get_dataset(name).title
