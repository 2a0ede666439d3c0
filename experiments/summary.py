"""Rows become means with standard errors, and differences in pairs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from experiments.store import Row


@dataclass(frozen=True)
class Mean:
    """A mean with its standard error, which is NaN for a single value."""

    value: float
    error: float
    n: int

    @classmethod
    def of(cls, values: Iterable[float], overlap: float = 0.0) -> Mean:
        """Over repeats: independent ones, or splits whose test parts overlap.

        The overlap is the share of test rows over that of the others, by which Nadeau and Bengio
        (2003) correct the variance of a mean over splits of the same rows.
        """
        sample = np.fromiter(values, dtype=np.float64)
        n = len(sample)
        error = sample.std(ddof=1) * np.sqrt(1 / n + overlap) if n > 1 else np.nan
        return cls(float(sample.mean()), float(error), len(sample))


@dataclass(frozen=True)
class Group:
    """The rows of one method on one data set, by repeat."""

    data: str
    method: str
    rows: Mapping[int, Row]

    def k(self, rule: str) -> dict[int, float]:
        """k* of each repeat."""
        return {repeat: row["chosen"][rule]["k"] for repeat, row in self.rows.items()}

    def auc(self, rule: str) -> dict[int, float]:
        """AUC on the test part at k*, of each repeat."""
        return {repeat: row["chosen"][rule]["test_auc"] for repeat, row in self.rows.items()}

    def refit_k(self, rule: str) -> dict[int, float]:
        """Number of features of the refitted model at k*; the Lasso's can differ from k*."""
        return {
            repeat: float(len(row["refit"]["subsets"][row["chosen"][rule]["index"]]))
            for repeat, row in self.rows.items()
        }

    def validation_auc(self, rule: str) -> dict[int, float]:
        """AUC on the validation rows at k*, mean over the folds, of each repeat."""
        return {
            repeat: float(
                np.mean(row["folds"]["validation_auc"], axis=0)[row["chosen"][rule]["index"]]
            )
            for repeat, row in self.rows.items()
        }

    def validation_curve(self) -> dict[int, float]:
        """The same averaged over all sizes: it does not depend on the choice of k*."""
        return {r: float(np.mean(row["folds"]["validation_auc"])) for r, row in self.rows.items()}

    def test_curve(self) -> dict[int, float]:
        """AUC on the test part, averaged over all sizes."""
        return {r: float(np.mean(row["refit"]["test_auc"])) for r, row in self.rows.items()}

    def fold_seconds(self) -> float:
        """Median over folds and repeats, which a busy moment of the machine does not move."""
        return float(np.median([row["folds"]["seconds"] for row in self.rows.values()]))


def group(rows: Iterable[Row]) -> dict[tuple[str, str], Group]:
    """Sort rows by data set and method."""
    found: dict[tuple[str, str], dict[int, Row]] = {}
    for row in rows:
        found.setdefault((row["data"], row["method"]), {})[row["repeat"]] = row
    return {key: Group(*key, by_repeat) for key, by_repeat in found.items()}


def paired(one: Mapping[int, float], other: Mapping[int, float]) -> Mean | None:
    """Mean of one − other over the repeats that both have."""
    common = sorted(one.keys() & other.keys())
    return Mean.of(one[repeat] - other[repeat] for repeat in common) if common else None


def best_within_error(values: Mapping[str, Mapping[int, float]], *, largest: bool) -> set[str]:
    """The best method, and those no further from it than one standard error of the difference."""
    sign = 1.0 if largest else -1.0
    common = sorted(set.intersection(*(set(by_repeat) for by_repeat in values.values())))
    if not common:
        return set()
    shared = {m: np.array([v[repeat] for repeat in common]) for m, v in values.items()}
    best = max(shared, key=lambda method: sign * float(shared[method].mean()))
    behind = {m: Mean.of(sign * (shared[best] - sample)) for m, sample in shared.items()}
    return {m for m, mean in behind.items() if mean.value <= (0 if mean.n < 2 else mean.error)}
