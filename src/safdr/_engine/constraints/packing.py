"""Selections without conflicts by an integer programme, where they are too many to list."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from safdr._engine.arrays import FloatArray, IntArray
from safdr.errors import ParameterError

BoolArray = NDArray[np.bool_]

# Branches of one integer programme (some seconds), and random orders tried before it is asked.
MOST_BRANCHES = 20_000
N_TRIES = 20


class Packing:
    """Feature groups to take from, none of two in conflict together."""

    def __init__(self, groups: IntArray, counts: IntArray, conflicts: BoolArray) -> None:
        self.groups = groups
        self.counts = counts[groups]
        self.conflicts = conflicts[np.ix_(groups, groups)]
        self._cliques = _cliques(self.conflicts)

    def totals(self, most: int) -> list[int]:
        """Which totals up to `most` can be made."""
        count = int(self.counts[0])
        if np.all(self.counts == count):
            # Whatever is taken, any of it can be left: all multiples up to the largest.
            return list(range(0, min(most, self.largest()) + 1, count))
        return [total for total in range(most + 1) if self.solve(total) is not None]

    def largest(self) -> int:
        """The largest total."""
        best = self._optimum(-self.counts.astype(np.float64), 0, int(self.counts.sum()))
        return 0 if best is None else int(self.counts[best].sum())

    def solve(self, total: int, cost: FloatArray | None = None) -> BoolArray | None:
        """The cheapest selection of a given total, as a mask; None if there is none."""
        return self._optimum(np.zeros(len(self.groups)) if cost is None else cost, total, total)

    def draw(self, n_groups: int, total: int, n: int, rng: np.random.Generator) -> BoolArray:
        """Random selections of a total that can be made; all are possible, not all as likely."""
        selections = np.zeros((n, n_groups), dtype=bool)
        for row in selections:
            row[self.groups] = self._draw_one(total, rng)
        return selections

    def _draw_one(self, total: int, rng: np.random.Generator) -> BoolArray:
        """Groups in random order as they fit, or the cheapest selection at random prices."""
        for _ in range(N_TRIES):
            taken = self._greedy(total, rng.permutation(len(self.groups)))
            if taken is not None:
                return taken
        cheapest = self.solve(total, rng.random(len(self.groups)))
        assert cheapest is not None, "the caller asks for a total that can be made"
        return cheapest

    def _greedy(self, total: int, order: IntArray) -> BoolArray | None:
        """Take groups in order where they fit; None if that does not make the total."""
        taken = np.zeros(len(order), dtype=bool)
        left = total
        for i in order:
            if self.counts[i] <= left and not (taken & self.conflicts[i]).any():
                taken[i] = True
                left -= self.counts[i]
        return taken if left == 0 else None

    def _optimum(self, cost: FloatArray, low: int, high: int) -> BoolArray | None:
        """Minimise the cost of a selection whose total is within bounds."""
        found = milp(
            cost,
            integrality=np.ones(len(cost)),
            bounds=Bounds(0, 1),
            constraints=[
                LinearConstraint(self._cliques, -np.inf, 1),
                LinearConstraint(self.counts[None, :], low, high),
            ],
            options={"node_limit": MOST_BRANCHES},
        )
        # Out of branches, the best so far need not be the best; for a given total any will do.
        if found.x is not None and (found.status == 0 or low == high):
            return np.asarray(found.x > 0.5)
        if found.status == 2:
            return None
        raise ParameterError(
            "at_most_one_of",
            f"overlaps so much, over {len(self.groups)} features, that it can't be "
            "told whether a subset of the size exists. Give fewer sets, or sets "
            "without overlap.",
        )


def _cliques(conflicts: BoolArray) -> csr_array:
    """Sets of groups in conflict with each other that cover all conflicts, one a row.

    Sets are grown greedily: the larger they are, the tighter the programme.
    """
    uncovered = np.triu(conflicts)
    rows = []
    while uncovered.any():
        i = int(np.argmax(uncovered.sum(axis=1)))
        clique = np.zeros(len(conflicts), dtype=bool)
        clique[i] = True
        # Conflicts of i that no set covers yet come first.
        for j in np.argsort(~uncovered[i], kind="stable"):
            if conflicts[j][clique].all():
                clique[j] = True
        uncovered[np.ix_(clique, clique)] = False
        rows.append(clique)
    return csr_array(np.array(rows, dtype=np.float64))
