"""One split: every method's subset of each size, refitted by the same code, scored on test rows."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.equal import sets
from experiments.equal.generated import RECIPES
from experiments.equal.methods import EqualMethod, get_method
from experiments.models import SubsetModel, fit_models
from experiments.protocol import DECIMALS, counted_warnings
from experiments.run import Experiment
from experiments.task_data import TaskData

# Of the models: none, as in the paper, and a mild one. The names are those in the rows.
PENALTIES = {"inf": math.inf, "1": 1.0}


@dataclass(frozen=True)
class EqualSettings:
    """How subsets are compared at equal k."""

    sizes: tuple[int, ...] = (1, 2, 3, 5, 8, 12, 20)
    test_share: float = 0.25
    # More rows hardly change who is ahead (all methods see the same ones), and 20 splits of the
    # large sets would take most of the time of the whole.
    max_train: int = 5000
    max_test: int = 20000


@dataclass(frozen=True, eq=False)
class Split:
    """Row numbers, and the seed of the method: a function of the data's name and the repeat."""

    train: NDArray[np.int64]
    test: NDArray[np.int64]
    seed: int


def make_split(data: TaskData, repeat: int, settings: EqualSettings) -> Split:
    """Stratified; rows beyond the limits are in neither part."""
    from sklearn.model_selection import train_test_split

    n_train, n_test = _numbers_of_rows(data, settings)
    entropy = np.random.SeedSequence([repeat, *data.name.encode()])
    # scikit-learn and the engine take seeds of 31 bits.
    seeds = [int(seed) >> 1 for seed in entropy.generate_state(2)]
    train, test = train_test_split(
        np.arange(len(data.y)),
        train_size=n_train,
        test_size=n_test,
        stratify=data.y,
        random_state=seeds[0],
    )
    return Split(train, test, seeds[1])


def _numbers_of_rows(data: TaskData, settings: EqualSettings) -> tuple[int, int]:
    """Training and test rows; made-up sets say themselves how many."""
    if data.name in RECIPES:
        return RECIPES[data.name].n_train, RECIPES[data.name].n_test
    n_test = math.ceil(settings.test_share * len(data.y))
    return min(len(data.y) - n_test, settings.max_train), min(n_test, settings.max_test)


def run_cell(
    data: TaskData, method: EqualMethod, repeat: int, settings: EqualSettings
) -> dict[str, Any]:
    """One split of one data set by one method, on one core."""
    from sklearn.preprocessing import StandardScaler
    from threadpoolctl import threadpool_limits

    split = make_split(data, repeat, settings)
    y, y_test = data.y[split.train], data.y[split.test]
    sizes = [size for size in settings.sizes if size <= data.X.shape[1]]
    with threadpool_limits(limits=1), counted_warnings() as unconverged:
        scaler = StandardScaler().fit(data.X[split.train])
        X, X_test = (scaler.transform(data.X[rows]) for rows in (split.train, split.test))
        start = time.process_time()
        subsets = method.subsets(X, y, sizes, split.seed)
        seconds = time.process_time() - start
        models = {name: fit_models(X, y, subsets, C) for name, C in PENALTIES.items()}
    return {
        "rows": {"all": len(data.y), "train": len(y), "test": len(y_test)},
        "n_features": data.X.shape[1],
        "sizes": sizes,
        "subsets": [subset.tolist() for subset in subsets],
        "scores": {name: _scores(each, X_test, y_test) for name, each in models.items()},
        "constant_log_loss": round(log_loss(y_test, _constant(y, y_test)), DECIMALS),
        "selection_seconds": round(seconds, 4),
        "convergence_warnings": unconverged[0],
    }


def _constant(y: NDArray[np.int64], y_test: NDArray[np.int64]) -> NDArray[np.float64]:
    """Log-odds of a model that knows the class share of the training rows alone."""
    return np.full(len(y_test), math.log(y.mean() / (1 - y.mean())))


def _scores(
    models: Sequence[SubsetModel], X: NDArray[np.float64], y: NDArray[np.int64]
) -> dict[str, list[float]]:
    """Of each model, on the test rows."""
    from sklearn.metrics import roc_auc_score

    log_odds = [model.decide(X) for model in models]
    return {
        "auc": [round(float(roc_auc_score(y, each)), DECIMALS) for each in log_odds],
        "log_loss": [round(log_loss(y, each), DECIMALS) for each in log_odds],
    }


def log_loss(y: NDArray[np.int64], log_odds: NDArray[np.float64]) -> float:
    """Mean log-loss, from the log-odds: nothing is clipped, and it is finite where they are."""
    return float(np.mean(np.logaddexp(0.0, np.where(y == 1, -log_odds, log_odds))))


EQUAL = Experiment(sets.load, sets.is_made_up, get_method, run_cell)
