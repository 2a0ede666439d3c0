"""The quadratic criterion of subsets of any length, as `FunctionChains` take it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from safdr import _core
from safdr._engine.annealing.swap_chains import is_collinear
from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.criterion import Criterion, CriterionStack, stack_criteria


class QuadraticFunction:
    """A quadratic criterion over subsets that differ in length, by the compiled core.

    Subsets are filled up with dummy features that change nothing: they have variance one, and
    neither covariance with others nor anything to explain.

    A subset in which a group is a linear combination of the others, on all rows, gets minus
    infinity. A group of several columns is one if each of them is: that some are, as when dummy
    columns cover all levels of a category, is no harm. The longest groups come first: a single
    column that adds nothing to a group is refused, whatever the order of the columns.
    """

    def __init__(
        self,
        criterion: Criterion,
        stack: CriterionStack | None = None,
        *,
        constraints: AllowedSubsets | None = None,
        refuse_collinear: bool = True,
        n_threads: int = 1,
    ) -> None:
        self.criterion = criterion
        self.stack = stack
        self.refuse_collinear = refuse_collinear
        self.n_threads = n_threads
        every = np.arange(criterion.n_features)
        group_of = every if constraints is None else constraints.group_of
        length = np.bincount(group_of)[group_of]
        self._order = np.lexsort((group_of, -length))
        self._rank = np.argsort(self._order)
        self._group_of, self._length = group_of[self._order], length[self._order]
        self._in_order = bool((self._order == every).all())
        self._n_dummies = -1

    def __call__(self, subsets: IntArray, which: IntArray) -> FloatArray:
        """Values of subsets filled up with -1, each on its batch."""
        members = self._members(subsets)
        A, D = self._all_rows
        left = np.empty(members.shape) if self.refuse_collinear else None
        values = _core.subset_values(A, D, members, n_threads=self.n_threads, left=left)
        if self.stack is not None:
            for batch in np.unique(which[which >= 0]):
                rows = np.flatnonzero(which == batch)
                A, D = self._batches[0][batch], self._batches[1][batch]
                values[rows] = _core.subset_values(A, D, members[rows], n_threads=self.n_threads)
        if left is not None:
            values[self._refused(members, left)] = -np.inf
        return values

    def _members(self, subsets: IntArray) -> NDArray[np.int32]:
        """Places in the order of the criteria, sorted; dummies come last, no two the same."""
        n_features, width = len(self._rank), subsets.shape[1]
        padding = subsets < 0
        self._add_dummies(width if padding.any() else 0)
        places = np.where(padding, n_features + np.arange(width), self._rank[subsets])
        return (places if self._in_order else np.sort(places, axis=1)).astype(np.int32)

    def _add_dummies(self, n_dummies: int) -> None:
        """Put the criteria in order, with as many dummy features as some subset needs."""
        if n_dummies <= self._n_dummies:
            return
        self._n_dummies = n_dummies
        one = stack_criteria([self.criterion])
        (A,), (D,) = _with_dummies(*one, self._order, n_dummies)
        self._all_rows, self._variance = (A, D), np.diag(A)
        if self.stack is not None:
            self._batches = _with_dummies(*self.stack, self._order, n_dummies)

    def _refused(self, members: NDArray[np.int32], left: FloatArray) -> IntArray:
        """Rows with a group of which each column is a linear combination of those before it."""
        rows, columns = np.nonzero(
            is_collinear(left, self._variance[members], self.criterion.collinear_tol)
        )
        places = members[rows, columns]
        keys = rows * len(self._group_of) + self._group_of[places]
        _, first, n_collinear = np.unique(keys, return_index=True, return_counts=True)
        return rows[first[n_collinear == self._length[places[first]]]]


def _with_dummies(
    A: FloatArray, D: FloatArray, order: IntArray, n_dummies: int
) -> tuple[FloatArray, FloatArray]:
    """Criteria with their features in a given order, and dummy features behind them."""
    n_criteria, n_features, n_columns = D.shape
    n = n_features + n_dummies
    more_A = np.tile(np.eye(n), (n_criteria, 1, 1))
    more_A[:, :n_features, :n_features] = A[:, order[:, None], order]
    more_D = np.zeros((n_criteria, n, n_columns))
    more_D[:, :n_features] = D[:, order]
    return more_A, more_D
