"""Features as people count them: groups of columns that enter together, and single columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Columns in the name of a group that has none.
MOST_NAMED = 3


@dataclass(frozen=True, eq=False)
class Units:
    """The units of a selector: what is in or out as a whole.

    Attributes
    ----------
    columns : tuple of ndarray of int
        Columns of each unit, in order of the first.
    names : tuple of str
        Of each unit: that of its group, or of its column.
    unit_of : ndarray of shape (n_columns,)
        The unit of each column.
    n_features : int
        Number of features, as the selector counts them.
    largest : int
        Most features that the constraints allow at once.
    """

    columns: tuple[IntArray, ...]
    names: tuple[str, ...]
    unit_of: IntArray
    n_features: int
    largest: int

    @property
    def groups(self) -> list[int]:
        """Units of more than one column."""
        return [u for u, columns in enumerate(self.columns) if len(columns) > 1]

    def group_name(self, column: int) -> str | None:
        """Name of the group of a column; None if it is on its own."""
        unit = int(self.unit_of[column])
        return self.names[unit] if len(self.columns[unit]) > 1 else None


def units_of(selector: Any, names: Sequence[Any] | NDArray[Any]) -> Units:
    """Find the units of a fitted selector.

    Parameters
    ----------
    selector : AnnealingSelector or another
        Fitted.
    names : sequence
        Of all columns.

    Returns
    -------
    Units
    """
    constraints = selector._constraints()
    titles = _titles(selector)
    return Units(
        columns=constraints.units,
        names=tuple(
            titles.get(int(unit[0])) or _joined([str(names[j]) for j in unit])
            if len(unit) > 1
            else str(names[unit[0]])
            for unit in constraints.units
        ),
        unit_of=constraints.unit_of,
        n_features=int(constraints.counts.sum()),
        largest=max(constraints.sizes(), default=0),
    )


def random_subsets(selector: Any, n: int, rng: np.random.Generator) -> list[IntArray]:
    """Draw random subsets of the chosen size, as the constraints allow.

    Parameters
    ----------
    selector : AnnealingSelector or another
        Fitted.
    n : int
        How many.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    list of ndarray of int
        Columns of each.
    """
    constraints = selector._constraints()
    selections = constraints.random(int(selector.n_features_), n, rng)
    return [constraints.columns_of(selection) for selection in selections]


def costs_of(selector: Any, subsets: Sequence[IntArray]) -> FloatArray:
    """What the cost of their features takes off the criterion of subsets.

    Parameters
    ----------
    selector : AnnealingSelector or another
        Fitted.
    subsets : sequence of ndarray of int
        Columns of each.

    Returns
    -------
    ndarray of shape (n_subsets,)
    """
    cost = selector._cost()
    if cost is None:
        return np.zeros(len(subsets))
    return np.array([cost[subset].sum() for subset in subsets])


def row_weights(selector: Any, X: Any, y: Any, sample_weight: Any) -> Any:
    """Weights of rows as the selector saw them: those given, times those of the classes.

    Parameters
    ----------
    selector : AnnealingSelector or another
        Fitted.
    X, y : array-like
        Rows.
    sample_weight : array-like or None
        Their weights.

    Returns
    -------
    ndarray of shape (n_samples,) or None
    """
    class_weight = getattr(selector, "class_weight", None)
    if class_weight is None:
        return sample_weight
    # The check of rows writes to the selector, so that a copy does it.
    rows = clone(selector)._validate_rows(X, y, sample_weight)
    return rows.weighted(class_weight).sample_weight


def _titles(selector: Any) -> dict[int, str]:
    """Names of groups that have one, by their first column."""
    if not isinstance(selector.groups, Mapping):
        return {}
    sets = selector._features().sets(selector.groups, "groups")
    return {int(one[0]): str(name) for name, one in zip(selector.groups, sets, strict=True)}


def _joined(names: list[str]) -> str:
    more = len(names) - MOST_NAMED
    return " + ".join(names[:MOST_NAMED]) + (f" + {more} more" if more > 0 else "")
