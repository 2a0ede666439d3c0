"""Replicas that sweep over selections of groups that all count the same, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from safdr import _core
from safdr._engine.annealing.function_chains import (
    Evaluate,
    check_selections,
    every_judged,
    less_cost,
    sample_values,
)
from safdr._engine.annealing.quadratic_function import QuadraticFunction
from safdr._engine.annealing.ranked_groups import BoolArray, RankedGroups
from safdr._engine.annealing.swap_chains import (
    LONG_SWEEP,
    SWEEPS_AT_ONCE,
    WORTH_A_THREAD,
    check_sweeps,
    check_taken,
    checked_cost,
)
from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.criterion import Criterion, CriterionStack, stack_criteria


class GroupChains:
    """Metropolis swap chains over selections of groups on a quadratic criterion, compiled.

    A move takes one group in for another, so all groups that may be in or out must count the same.
    A selection in which a group is a linear combination of the others, as `QuadraticFunction`
    tells it, is never gone to.

    All state is in arrays, so that a set of chains can be copied and pickled.
    """

    drift = 0.0

    def __init__(
        self,
        criterion: Criterion,
        selections: BoolArray,
        *,
        constraints: AllowedSubsets,
        size: int,
        seed: np.random.SeedSequence,
        n_proposals: int,
        batches: CriterionStack | None = None,
        cost: FloatArray | None = None,
        refuse_collinear: bool = True,
        n_threads: int = 1,
    ) -> None:
        check_selections(selections, constraints, size)
        _check_counts(constraints)
        self.constraints = constraints
        self.size = size
        self.n_proposals = n_proposals
        self.width = constraints.max_columns(size)
        self._tol = criterion.collinear_tol
        every = _with_filler(*stack_criteria([criterion]))
        self._A, self._D = every if batches is None else _with_filler(*batches)
        self._A_all, self._D_all = every[0][0], every[1][0]
        self.n_batches = len(self._A)
        self._groups = RankedGroups.of(constraints)
        costs = checked_cost(cost, criterion.n_features)
        self._cost = None if costs is None else self._groups.sums(costs)
        self._redundant = self._count_redundant() if refuse_collinear else None
        self._order = self._groups.orders(selections)
        self._n_members = int(selections[0].sum())
        words: NDArray[Any] = seed.generate_state(4 * len(selections), np.uint64)
        self._streams = words.reshape(len(selections), 4)
        work = len(selections) * n_proposals * self.width**2
        self.n_threads = n_threads if work > WORTH_A_THREAD else 1
        self.sweeps_at_once = SWEEPS_AT_ONCE if work < LONG_SWEEP else 1
        # Of each replica on all rows, from scratch.
        self.values = self._values_of(self._order)
        self._criterion, self._feature_cost, self._refuse = criterion, cost, refuse_collinear

    @property
    def _evaluate(self) -> Evaluate:
        """Values of any subsets."""
        function = QuadraticFunction(
            self._criterion,
            constraints=self.constraints,
            refuse_collinear=self._refuse,
            n_threads=self.n_threads,
        )
        return less_cost(function, self._feature_cost)

    @property
    def can_move(self) -> bool:
        """Whether there may be another selection to go to."""
        n_usable = self._order.shape[1] - len(self._groups.exclude)
        return bool(len(self._groups.include) < self._n_members < n_usable)

    @property
    def selections(self) -> BoolArray:
        """Feature groups of each replica."""
        return self._groups.selections(self._members(self._order))

    @property
    def subsets(self) -> IntArray:
        """Sorted columns of each replica, filled up with -1 at the end."""
        return self._subsets_of(self._order)

    def sweep(
        self, beta: FloatArray, which: IntArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Sweep once for each row of `beta`: values on all rows, from scratch, and acceptance."""
        check_sweeps(beta, which, len(self._order), self.n_batches)
        if not self.can_move:
            return np.tile(self.values, (len(beta), 1)), np.zeros(beta.shape)
        accepted, values = _core.sweep_groups(
            self._A,
            self._D,
            self._A_all,
            self._D_all,
            self._groups.starts,
            self._groups.columns,
            self._redundant,
            self._order,
            self._streams,
            np.ascontiguousarray(beta, dtype=np.float64),
            None if which is None else np.ascontiguousarray(which, dtype=np.int64),
            n_proposals=self.n_proposals,
            **self._limits(),
        )
        self.values = values[-1]
        return values, accepted / self.n_proposals

    def climbed(self) -> tuple[IntArray, FloatArray]:
        """Where each replica would end by going uphill on all rows: subsets and their values.

        No swap of one group raises the value of such a subset. The replicas stay where they are.
        """
        if not self.can_move:
            return self.subsets, self.values
        # Replicas in the same place climb the same way.
        _, first, again = np.unique(self.selections, axis=0, return_index=True, return_inverse=True)
        order = np.ascontiguousarray(self._order[first])
        values = _core.climb_groups(
            self._A_all,
            self._D_all,
            self._groups.starts,
            self._groups.columns,
            self._redundant,
            order,
            **self._limits(),
        )
        again = again.reshape(-1)
        return self._subsets_of(order)[again], values[again]

    def sample(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Values of random subsets on all rows."""
        return sample_values(self._evaluate, self.constraints, self.size, n, rng)

    def every(self, at_most: int) -> tuple[IntArray, FloatArray] | None:
        """All subsets that can be judged and their values; None if there are more than so many."""
        return every_judged(self._evaluate, self.constraints, self.size, at_most)

    def take(self, indices: IntArray) -> None:
        """Replace the replicas by copies of those at `indices`.

        The random streams stay where they are, so that copies part at once.
        """
        check_taken(indices, len(self._streams))
        self._order = np.ascontiguousarray(self._order[indices])
        self.values = self.values[indices]

    # ---- What the core takes and gives ----------------------------------------------------------

    def _limits(self) -> dict[str, Any]:
        """What keeps the replicas within bounds."""
        return {
            "width": self.width,
            "size": self._n_members,
            "n_fixed": len(self._groups.include),
            "n_usable": self._order.shape[1] - len(self._groups.exclude),
            "collinear_tol": self._tol,
            "n_threads": self.n_threads,
            "conflicts": self._groups.conflicts,
            "cost": self._cost,
        }

    def _count_redundant(self) -> IntArray:
        """How many columns of each group are linear combinations of the others in it."""
        groups = self._groups
        return _core.count_redundant(
            self._A_all, self._D_all, groups.starts, groups.columns, collinear_tol=self._tol
        )

    def _members(self, order: NDArray[np.int32]) -> NDArray[np.int32]:
        return order[:, : self._n_members]

    def _subsets_of(self, order: NDArray[np.int32]) -> IntArray:
        """Sorted columns, filled up with -1 at the end."""
        selections = self._groups.selections(self._members(order))
        return self.constraints.subsets_of(selections, self.width)

    def _values_of(self, order: NDArray[np.int32]) -> FloatArray:
        """Criterion values on all rows less the cost."""
        subsets = self._subsets_of(order)
        columns = np.where(subsets < 0, len(self._A_all) - 1, subsets).astype(np.int32)
        values = _core.subset_values(self._A_all, self._D_all, columns, n_threads=self.n_threads)
        return (
            values if self._cost is None else values - self._cost[self._members(order)].sum(axis=1)
        )


def all_count_the_same(constraints: AllowedSubsets) -> bool:
    """Whether swaps of one group for another lead from any selection to any other of its count."""
    return len(np.unique(constraints.counts[constraints.free])) < 2


def _check_counts(constraints: AllowedSubsets) -> None:
    """The core knows no other moves than swaps."""
    if not all_count_the_same(constraints):
        counts = np.unique(constraints.counts[constraints.free]).tolist()
        raise ValueError(
            f"constraints must have groups that all count the same; got counts of {counts}. "
            "FunctionChains can trade groups of different counts."
        )


def _with_filler(A: FloatArray, D: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Criteria with one more feature, all zeros: the core fills up rows with it."""
    return np.pad(A, ((0, 0), (0, 1), (0, 1))), np.pad(D, ((0, 0), (0, 1), (0, 0)))
