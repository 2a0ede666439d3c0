"""The first working set: columns that look promising before anything is annealed."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safdr._engine.annealing.swap_chains import is_collinear
from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.wide.criterion import WideCriterion
from safdr._engine.wide.forward import ForwardPath, Rest

# Columns with the largest value alone.
N_STRONGEST = 150

# Pairs that tell more together, of so many columns that are strong alone: without them 6 of 100
# searches missed what a search of all columns finds, with them 2, by a thousandth.
N_PARTNERED = 300
N_PAIRS = 100
BESIDE = (0, 2, 5)

# Columns that forward selection would take next, at each of its steps.
N_NEXT = 20
MOST_STEPS = 100


class FirstColumns:
    """What a criterion takes into the first working set."""

    def __init__(
        self, criterion: WideCriterion, allowed: AllowedSubsets, cost: FloatArray | None
    ) -> None:
        self._criterion = criterion
        self._allowed = allowed
        self._cost = cost
        self._known_pairs: dict[int, IntArray] = {}

    def up_to(self, size: int) -> IntArray:
        """For subsets of a size: what sizes below take is among it."""
        some = [self._strong[:N_STRONGEST], *self.forward.up_to(min(size, MOST_STEPS), N_NEXT)]
        some += [self._pairs(n) for n in BESIDE if n + 2 <= size]
        return np.unique(np.concatenate(some))

    @cached_property
    def usable(self) -> IntArray:
        """Columns that may be in or out."""
        return np.flatnonzero(self._may_enter)

    @cached_property
    def forward(self) -> ForwardPath:
        """The way of forward selection."""
        return ForwardPath(self._criterion, self._allowed, self.usable, self._cost)

    @cached_property
    def _may_enter(self) -> NDArray[np.bool_]:
        usable = self._criterion.scale > 0
        fixed = np.concatenate([self._allowed.include, self._allowed.exclude])
        usable[np.isin(self._allowed.group_of, fixed)] = False
        return usable

    @cached_property
    def _strong(self) -> IntArray:
        """Columns in order of their value alone."""
        values = self._criterion.own_values[self.usable]
        if self._cost is not None:
            values = values - self._cost[self.usable]
        return self.usable[np.argsort(-values, kind="stable")]

    def _pairs(self, n_members: int) -> IntArray:
        """Columns of pairs that tell more together than alone, beside the first on the path.

        Each column is looked at with the partner that adds most to what both are worth alone: what
        only two together tell is seen by neither.
        """
        if n_members not in self._known_pairs:
            self._known_pairs[n_members] = self._find_pairs(self.forward.after(n_members))
        return self._known_pairs[n_members]

    def _find_pairs(self, rest: Rest) -> IntArray:
        possible = self._may_enter & ~is_collinear(
            rest.variance, self._criterion.diagonal, self._criterion.collinear_tol
        )
        possible &= rest.variance > 0
        own = np.sum(rest.D**2, axis=1) / np.where(possible, rest.variance, 1.0)
        own[~possible] = -np.inf
        columns = np.argsort(-own, kind="stable")[:N_PARTNERED]
        columns = columns[possible[columns]]
        most = np.full(len(columns), -np.inf)
        partner, values = columns.copy(), most.copy()
        for some, rows in self._criterion.against_all(columns):
            rows -= rest.explained[:, columns].T @ rest.explained[:, some]
            gains = self._gains(rest, columns, some, rows)
            gains[:, ~possible[some]] = -np.inf
            more = gains - np.where(possible[some], own[some], 0.0)
            found = np.argmax(more, axis=1)
            at = np.arange(len(columns)), found
            better = more[at] > most
            most[better] = more[at][better]
            partner[better] = some.start + found[better]
            values[better] = (own[columns] + gains[at])[better]
        if self._cost is not None:
            values -= self._cost[columns] + self._cost[partner]
        best = np.argsort(-values, kind="stable")[:N_PAIRS]
        return np.union1d(columns[best], partner[best])

    def _gains(self, rest: Rest, columns: IntArray, some: slice, rows: FloatArray) -> FloatArray:
        """What each column of a block adds to each of the given ones."""
        slopes = rows / rest.variance[columns, None]
        left = rest.variance[some] - rows * slopes
        gains: Any = 0.0
        for D in rest.D.T:
            gains = gains + (D[some] - slopes * D[columns, None]) ** 2
        variance = self._criterion.diagonal[some] + self._criterion.ridge
        refused = is_collinear(left, variance, self._criterion.collinear_tol) | (left <= 0)
        return np.where(refused, -np.inf, gains / np.where(refused, 1.0, left))
