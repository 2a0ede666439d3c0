"""Feature groups of features in the order in which the compiled chains take them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.constraints import AllowedSubsets

BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class RankedGroups:
    """The groups of constraints, those of most columns first (`QuadraticFunction` tells why)."""

    ranked: IntArray
    # Where the columns of each begin in `columns`, and where those of the last end.
    starts: IntArray
    columns: NDArray[np.int32]
    # Places of the groups that are in every selection, and in none.
    include: IntArray
    exclude: IntArray
    # Pairs of places that can't be in together.
    conflicts: NDArray[np.uint8] | None

    @classmethod
    def of(cls, constraints: AllowedSubsets) -> RankedGroups:
        """Rank the groups of constraints."""
        lengths = np.array([len(group) for group in constraints.groups])
        ranked = np.argsort(-lengths, kind="stable")
        place = np.argsort(ranked)
        conflicts = constraints.conflicts
        return cls(
            ranked,
            np.concatenate([[0], np.cumsum(lengths[ranked])]),
            np.concatenate([constraints.groups[u] for u in ranked]).astype(np.int32),
            place[constraints.include],
            place[constraints.exclude],
            None if conflicts is None else conflicts[np.ix_(ranked, ranked)].astype(np.uint8),
        )

    def sums(self, numbers: FloatArray) -> FloatArray:
        """Sum over the columns of each group."""
        return np.add.reduceat(numbers[self.columns], self.starts[:-1])

    def orders(self, selections: BoolArray) -> NDArray[np.int32]:
        """Places of each replica's groups in the kernel's order: members, candidates, excluded.

        Of the members, those that must stay come first.
        """
        rank = np.where(selections[:, self.ranked], 1, 2)
        rank[:, self.include] = 0
        rank[:, self.exclude] = 3
        return np.argsort(rank, axis=1, kind="stable").astype(np.int32)

    def selections(self, members: NDArray[np.int32]) -> BoolArray:
        """Feature groups of each replica, out of the places of its members."""
        selections = np.zeros((len(members), len(self.ranked)), dtype=bool)
        np.put_along_axis(selections, self.ranked[members], True, axis=1)
        return selections
