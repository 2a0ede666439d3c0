"""The first working set: columns that look promising before anything is annealed."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from safdr import _core
from safdr._engine.annealing.swap_chains import is_collinear
from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.wide.criterion import WideCriterion
from safdr._engine.wide.forward import ForwardPath, Rest
from safdr._engine.wide.largest import largest

# Columns with the largest value alone.
N_STRONGEST = 150

# Pairs that tell more together, of so many columns that are strong alone: of 160 problems 6 ended
# below the search of all columns without them, none with them.
N_PARTNERED = 150
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
        some = [self._strong, *self.forward.up_to(min(size, MOST_STEPS), N_NEXT)]
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
        """The columns with the largest value alone."""
        values = self._criterion.own_values[self.usable]
        if self._cost is not None:
            values = values - self._cost[self.usable]
        return self.usable[largest(values, N_STRONGEST)]

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
        columns = largest(own, N_PARTNERED)
        columns = columns[possible[columns]]
        more, gain = np.full((2, len(columns)), -np.inf)
        partner = columns.copy()
        own_alone = np.where(possible, own, np.inf)
        for some, rows in self._criterion.against_all(columns):
            rows -= rest.explained[:, columns].T @ rest.explained[:, some]
            _core.best_partners(
                rows,
                rest.variance[columns],
                rest.D[columns],
                rest.variance[some],
                own_alone[some],
                np.ascontiguousarray(rest.D[some].T),
                self._criterion.diagonal[some] + self._criterion.ridge,
                collinear_tol=self._criterion.collinear_tol,
                first=some.start,
                more=more,
                gain=gain,
                place=partner,
            )
        values = own[columns] + gain
        if self._cost is not None:
            values -= self._cost[columns] + self._cost[partner]
        best = largest(values, N_PAIRS)
        return np.union1d(columns[best], partner[best])
