"""The paper's protocol: split, scan the sizes on five folds, choose k*, refit, score."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from experiments.models import Method, SubsetModel
from experiments.task_data import TaskData

RULES = ("one_sd", "one_se")
# Beyond what any AUC of these data can tell apart; it keeps the rows small and readable.
DECIMALS = 6


@dataclass(frozen=True)
class ProtocolSettings:
    """How the experiments are run; the defaults are the paper's, but for the scaling."""

    max_features: int = 30
    n_splits: int = 5
    test_size: float = 0.2
    # Of the rows that are not in the test part.
    validation_size: float = 0.25
    # Rows whose mean and deviation standardise all others: the training rows, or the test part as
    # in the paper, which lets the test part leak in.
    scale_by: Literal["train", "test"] = "train"


@dataclass(frozen=True, eq=False)
class Split:
    """Row numbers and seeds of one repeat: a function of the data's name and the repeat alone."""

    train: NDArray[np.int64]
    test: NDArray[np.int64]
    folds: list[tuple[NDArray[np.int64], NDArray[np.int64]]]
    fold_seeds: list[int]
    refit_seed: int


@dataclass(frozen=True, eq=False)
class Scan:
    """One path of models, scored: an entry for each value of the grid, and its seconds."""

    models: list[SubsetModel]
    train_auc: list[float]
    held_out_auc: list[float]
    seconds: float

    @property
    def cross_entropies(self) -> list[float]:
        """On the training rows."""
        return [round(model.cross_entropy, DECIMALS) for model in self.models]

    @property
    def sizes(self) -> list[int]:
        """Numbers of features."""
        return [len(model.subset) for model in self.models]


def make_split(data: TaskData, repeat: int, settings: ProtocolSettings) -> Split:
    """The rows of each part: the same for every method, so that comparisons are paired."""
    from sklearn.model_selection import StratifiedShuffleSplit, train_test_split

    entropy = np.random.SeedSequence([repeat, *data.name.encode()])
    seeds = [int(seed) for seed in entropy.generate_state(3 + settings.n_splits)]
    train, test = train_test_split(
        np.arange(len(data.y)),
        test_size=settings.test_size,
        stratify=data.y,
        random_state=seeds[0],
    )
    inner = StratifiedShuffleSplit(
        settings.n_splits, test_size=settings.validation_size, random_state=seeds[1]
    )
    folds = [(train[fit], train[held_out]) for fit, held_out in inner.split(train, data.y[train])]
    # scikit-learn and the engine take seeds of 31 bits.
    short = [seed >> 1 for seed in seeds]
    return Split(train, test, folds, fold_seeds=short[3:], refit_seed=short[2])


def run_cell(
    data: TaskData, method: Method, repeat: int, settings: ProtocolSettings
) -> dict[str, Any]:
    """One repeat of one method on one data set, on one core."""
    from threadpoolctl import threadpool_limits

    split = make_split(data, repeat, settings)
    with threadpool_limits(limits=1), counted_warnings() as unconverged:
        scaled = _standardised(data, split.train, split.test, settings)
        grid = method.grid(scaled[split.train], data.y[split.train], settings.max_features)
        scans = []
        for (train, held_out), seed in zip(split.folds, split.fold_seeds, strict=True):
            X = _standardised(data, train, split.test, settings)
            scans.append(_scan(X, data.y, train, held_out, method, grid, seed))
        refit = _scan(scaled, data.y, split.train, split.test, method, grid, split.refit_seed)
    return {
        "grid": grid,
        "folds": _folds_in_numbers(scans),
        "refit": _refit_in_numbers(refit),
        "chosen": {rule: _choose(rule, scans, refit, data) for rule in RULES},
        "convergence_warnings": unconverged[0],
    }


def settings_of(data_sha256: str, method: Method, settings: ProtocolSettings) -> dict[str, Any]:
    """All that the numbers of a row depend on, but for its repeat."""
    return {
        "protocol": asdict(settings),
        "method": method.settings,
        "data": {"sha256": data_sha256},
    }


def _standardised(
    data: TaskData,
    train: NDArray[np.int64],
    test: NDArray[np.int64],
    settings: ProtocolSettings,
) -> NDArray[np.float64]:
    """All rows, by the mean and deviation of some."""
    from sklearn.preprocessing import StandardScaler

    reference = train if settings.scale_by == "train" else test
    scaler = StandardScaler().fit(data.X[reference])
    return np.asarray(scaler.transform(data.X))


def _scan(
    X: NDArray[np.float64],
    y: NDArray[np.int64],
    train: NDArray[np.int64],
    held_out: NDArray[np.int64],
    method: Method,
    grid: Any,
    seed: int,
) -> Scan:
    """Fit on the training rows at every value of the grid; score on both."""
    from sklearn.metrics import roc_auc_score

    rows, labels = X[train], y[train]
    # Of the processor, so that what else the machine does leaves the figure alone; of the method
    # alone, since what surrounds it is ours and the same for all.
    start = time.process_time()
    models = method.path(rows, labels, grid, seed)
    seconds = round(time.process_time() - start, 4)

    def auc(rows: NDArray[np.int64]) -> list[float]:
        part, labels = X[rows], y[rows]
        scores = (roc_auc_score(labels, model.decide(part)) for model in models)
        return [round(float(score), DECIMALS) for score in scores]

    return Scan(models, auc(train), auc(held_out), seconds)


def first_as_good(rule: str, scores: NDArray[np.float64]) -> int:
    """First position whose scores, one row a fold, are as good as those of the best mean.

    one_sd: the mean is within one standard deviation of the best one's scores. one_se: the mean
    difference to the best, fold by fold, is within one standard error.
    """
    means = scores.mean(axis=0)
    best = means.argmax()
    if rule == "one_sd":
        as_good = means >= means[best] - scores[:, best].std()
    else:
        behind = scores[:, [best]] - scores
        as_good = behind.mean(axis=0) <= behind.std(axis=0, ddof=1) / np.sqrt(len(scores))
    return int(as_good.argmax())


def _choose(rule: str, scans: list[Scan], refit: Scan, data: TaskData) -> dict[str, Any]:
    """k* by a rule, and what the refitted model at it scores.

    Positions in the grid stand for sizes: a Lasso has no other order than that of C. Its k* is the
    mean number of features over the folds, as in the paper.
    """
    index = first_as_good(rule, np.array([scan.held_out_auc for scan in scans]))
    return {
        "index": index,
        "k": float(np.mean([scan.sizes[index] for scan in scans])),
        "test_auc": refit.held_out_auc[index],
        "features": [data.feature_names[j] for j in refit.models[index].subset],
    }


def _folds_in_numbers(scans: list[Scan]) -> dict[str, Any]:
    """One list for each fold."""
    return {
        "n_features": [scan.sizes for scan in scans],
        "train_cross_entropy": [scan.cross_entropies for scan in scans],
        "train_auc": [scan.train_auc for scan in scans],
        "validation_auc": [scan.held_out_auc for scan in scans],
        "seconds": [scan.seconds for scan in scans],
    }


def _refit_in_numbers(refit: Scan) -> dict[str, Any]:
    """One entry for each value of the grid."""
    return {
        "subsets": [model.subset.tolist() for model in refit.models],
        "train_cross_entropy": refit.cross_entropies,
        "train_auc": refit.train_auc,
        "test_auc": refit.held_out_auc,
    }


@contextmanager
def counted_warnings() -> Iterator[list[int]]:
    """Count solvers that gave up instead of printing it each time; pass other warnings on.

    The fits inside RFE and the Lasso stop at scikit-learn's default number of steps, as the
    paper's did; a row tells how often.
    """
    from sklearn.exceptions import ConvergenceWarning

    count = [0]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        yield count
    for warning in caught:
        if issubclass(warning.category, ConvergenceWarning):
            count[0] += 1
        else:
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )
