"""Differences in pairs: one method's subsets minus another's, on the same splits at the same k."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.equal.sets import TITLES
from experiments.store import Row, check_comparable
from experiments.summary import Mean, group

# Which way is better.
METRICS = {"auc": 1.0, "log_loss": -1.0}
METRIC_TITLES = {"auc": "AUC", "log_loss": "log-loss"}
# Training rows up to which a set counts as one of few rows.
FEW_ROWS = 500


class Model(NamedTuple):
    """A method's subsets with their models of one penalty."""

    method: str
    penalty: str


@dataclass(frozen=True)
class Score:
    """Cells (data set × k) won and lost, of how many."""

    wins: int = 0
    losses: int = 0
    cells: int = 0

    def __add__(self, other: Score) -> Score:
        wins, losses = self.wins + other.wins, self.losses + other.losses
        return Score(wins, losses, self.cells + other.cells)

    def __str__(self) -> str:
        return f"{self.wins} : {self.losses} of {self.cells}"


@dataclass(frozen=True, eq=False)
class Contrast:
    """One − other in one metric on one data set: the mean over the sizes, and at each."""

    metric: str
    mean: Mean
    by_size: list[Mean]

    @property
    def ahead(self) -> float:
        """By how much one is better than the other."""
        return METRICS[self.metric] * self.mean.value

    @property
    def score(self) -> Score:
        """A cell is won or lost where the difference is beyond its standard error."""
        better = METRICS[self.metric]
        return Score(
            sum(better * each.value > each.error for each in self.by_size),
            sum(-better * each.value > each.error for each in self.by_size),
            len(self.by_size),
        )


class Comparison:
    """All rows, by data set and method."""

    def __init__(self, rows: Iterable[Row]) -> None:
        kept = list(rows)
        check_comparable(kept)
        self._rows = {key: found.rows for key, found in group(kept).items()}
        # What is the same in all rows of a data set, by any of them.
        self._any = {row["data"]: row for row in kept}
        self.data = [name for name in TITLES if name in self._any]

    def has(self, data: str, *methods: str) -> bool:
        """Whether there are rows of all these methods."""
        return all((data, method) in self._rows for method in methods)

    def kind(self, data: str) -> str:
        """Wide, few or many."""
        n_train = self._any[data]["rows"]["train"]
        if self._any[data]["n_features"] > n_train:
            return "wide"
        return "few" if n_train <= FEW_ROWS else "many"

    def sizes(self, data: str) -> list[int]:
        """The sizes compared."""
        return list(self._any[data]["sizes"])

    def seconds(self, data: str, method: str) -> float:
        """Median over the splits."""
        rows = self._rows[data, method].values()
        return float(np.median([row["selection_seconds"] for row in rows]))

    def losses(self, data: str, model: Model) -> NDArray[np.float64]:
        """Log-losses, splits by sizes."""
        return np.array(list(self._values(data, model, "log_loss").values()))

    def constant(self, data: str) -> float:
        """Mean log-loss of the model that knows the class share alone, over the splits."""
        by_split = {
            repeat: row["constant_log_loss"]
            for (name, _), rows in self._rows.items()
            if name == data
            for repeat, row in rows.items()
        }
        return float(np.mean(list(by_split.values())))

    def contrast(self, data: str, one: Model, other: Model, metric: str) -> Contrast | None:
        """One − other over the splits that both have; None with fewer than two."""
        if not self.has(data, one.method, other.method):
            return None
        ours, theirs = (self._values(data, model, metric) for model in (one, other))
        common = sorted(ours.keys() & theirs.keys())
        if len(common) < 2:
            return None
        differences = np.array([ours[repeat] - theirs[repeat] for repeat in common])
        overlap = self._overlap(data)
        by_size = [Mean.of(column, overlap) for column in differences.T]
        return Contrast(metric, Mean.of(differences.mean(axis=1), overlap), by_size)

    def _values(self, data: str, model: Model, metric: str) -> Mapping[int, NDArray[np.float64]]:
        """By repeat, an entry for each size."""
        rows = self._rows[data, model.method]
        return {r: np.array(row["scores"][model.penalty][metric]) for r, row in rows.items()}

    def _overlap(self, data: str) -> float:
        """Test rows over all others: over the training rows, where these are all the others."""
        n = self._any[data]["rows"]
        return float(n["test"] / (n["all"] - n["test"]))
