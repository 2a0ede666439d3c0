"""Rows become means with standard errors, and differences in pairs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from safdr.paper.store import Row


@dataclass(frozen=True)
class Mean:
    """A mean with its standard error, which is NaN for a single value."""

    value: float
    error: float
    n: int

    @classmethod
    def of(cls, values: Iterable[float]) -> Mean:
        """Over independent repeats.

        Parameters
        ----------
        values : iterable of float
            One a repeat.

        Returns
        -------
        Mean
        """
        sample = np.fromiter(values, dtype=np.float64)
        error = sample.std(ddof=1) / np.sqrt(len(sample)) if len(sample) > 1 else np.nan
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

    def curve_auc(self) -> dict[int, float]:
        """AUC on the test part, averaged over all sizes: it does not depend on the choice of k*."""
        return {r: float(np.mean(row["refit"]["test_auc"])) for r, row in self.rows.items()}

    def fold_seconds(self) -> float:
        """Median over folds and repeats, which a busy moment of the machine does not move."""
        return float(np.median([row["folds"]["seconds"] for row in self.rows.values()]))


def group(rows: Iterable[Row]) -> dict[tuple[str, str], Group]:
    """Sort rows by data set and method.

    Parameters
    ----------
    rows : iterable of dict
        In any order.

    Returns
    -------
    dict
        From (data, method) to Group.
    """
    found: dict[tuple[str, str], dict[int, Row]] = {}
    for row in rows:
        found.setdefault((row["data"], row["method"]), {})[row["repeat"]] = row
    return {key: Group(*key, by_repeat) for key, by_repeat in found.items()}


def paired(one: Mapping[int, float], other: Mapping[int, float]) -> Mean | None:
    """Mean of one − other over the repeats that both have.

    Parameters
    ----------
    one, other : mapping
        Value of each repeat.

    Returns
    -------
    Mean or None
        None where they share no repeat.
    """
    common = sorted(one.keys() & other.keys())
    return Mean.of(one[repeat] - other[repeat] for repeat in common) if common else None


def best_within_error(values: Mapping[str, Mapping[int, float]], *, largest: bool) -> set[str]:
    """The best method, and those no further from it than one standard error of the difference.

    Parameters
    ----------
    values : mapping
        From method to the value of each repeat; the differences are taken in pairs.
    largest : bool
        Whether large values are good.

    Returns
    -------
    set of str
    """
    sign = 1.0 if largest else -1.0
    best = max(values, key=lambda method: sign * float(np.mean(list(values[method].values()))))
    chosen = {best}
    for method in values.keys() - chosen:
        behind = paired(values[best], values[method])
        if behind is not None and sign * behind.value <= (0 if behind.n < 2 else behind.error):
            chosen.add(method)
    return chosen
