"""Where replicas move: the allowed subsets of one size, and the chains that walk over them."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from safdr._engine.annealing.chains import Chains, SwapChains, random_subsets, subset_values
from safdr._engine.annealing.complement import Complement
from safdr._engine.annealing.complement_chains import ComplementChains
from safdr._engine.annealing.function_chains import Evaluate, ObjectiveChains, finite_start
from safdr._engine.annealing.group_chains import UnitChains
from safdr._engine.annealing.quadratic_function import QuadraticObjective
from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.criterion import Criterion, CriterionStack


class ClimbingChains(Chains, Protocol):
    """Chains that can also go uphill, and know how far rounding has taken them."""

    drift: float

    def climbed(self) -> tuple[IntArray, FloatArray]:
        """Where each replica would end by going uphill on all rows, and the values there."""


class Space(Protocol):
    """The allowed subsets of one size. Points of it are what `random` and `every` return."""

    def random(self, n: int, rng: np.random.Generator) -> NDArray[Any]:
        """Some points at random."""

    def every(self, at_most: int) -> NDArray[Any] | None:
        """All points, or None if there are more than so many."""

    def subsets(self, points: NDArray[Any]) -> IntArray:
        """Sorted features of each point, filled up with -1."""

    def values(self, points: NDArray[Any]) -> FloatArray:
        """Criterion value of each point on all rows."""

    def chains(self, start: NDArray[Any], seed: np.random.SeedSequence) -> ClimbingChains:
        """Replicas at the given points."""


@dataclass(frozen=True, eq=False)
class SwapSpace:
    """Every feature is on its own, and the criterion is quadratic: the compiled chains serve.

    A point is a row of sorted features. With a complement, the chains walk over what is left out.
    """

    criterion: Criterion
    batches: CriterionStack | None
    constraints: AllowedSubsets
    size: int
    n_proposals: int
    cost: FloatArray | None
    complement: Complement | None
    n_threads: int

    def random(self, n: int, rng: np.random.Generator) -> IntArray:
        """Some points at random."""
        allowed = self.constraints
        if allowed.conflicts is None:
            return random_subsets(
                self.criterion, self.size, n, rng, allowed.include, allowed.exclude
            )
        return _members(allowed.random(self.size, n, rng), self.size)

    def every(self, at_most: int) -> IntArray | None:
        """All points, or None if there are more than so many."""
        allowed = self.constraints
        n_free = allowed.n_features - len(allowed.include) - len(allowed.exclude)
        many = comb(n_free, self.size - len(allowed.include)) > at_most
        if many and allowed.conflicts is None:
            return None
        selections = allowed.every(self.size, at_most)
        return None if selections is None else _members(selections, self.size)

    def subsets(self, points: IntArray) -> IntArray:
        """Sorted features of each point."""
        return points

    def values(self, points: IntArray) -> FloatArray:
        """Criterion value of each point on all rows."""
        values = subset_values(self.criterion, points, self.n_threads)
        return values if self.cost is None else values - self.cost[points].sum(axis=1)

    def chains(self, start: IntArray, seed: np.random.SeedSequence) -> ClimbingChains:
        """Replicas at the given points."""
        if self.complement is not None:
            return ComplementChains(
                self.criterion,
                self.complement,
                start,
                seed=seed,
                n_proposals=self.n_proposals,
                include=self.constraints.include,
                n_threads=self.n_threads,
            )
        return SwapChains(
            self.criterion,
            start,
            seed=seed,
            n_proposals=self.n_proposals,
            batches=self.batches,
            include=self.constraints.include,
            exclude=self.constraints.exclude,
            conflicts=self.constraints.conflicts,
            cost=self.cost,
            n_threads=self.n_threads,
        )


@dataclass(frozen=True, eq=False)
class UnitSpace:
    """Features come in groups, or the objective is any function.

    A point is a mask over the units.
    """

    evaluate: Evaluate
    n_batches: int
    constraints: AllowedSubsets
    size: int
    n_proposals: int
    climb: bool

    def random(self, n: int, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Some points at random, of finite value if there are such."""
        return finite_start(self.evaluate, self.constraints, self.size, n, rng)

    def every(self, at_most: int) -> NDArray[np.bool_] | None:
        """All points that the objective can judge, or None if there are more than so many."""
        points = self.constraints.every(self.size, at_most)
        if points is None:
            return None
        # What is collinear, or refused by a criterion of one's own, must not win by its loss.
        judged = np.isfinite(self.values(points))
        return points[judged] if judged.any() else points

    def subsets(self, points: NDArray[np.bool_]) -> IntArray:
        """Sorted features of each point, filled up with -1."""
        width = self.constraints.max_columns(self.size)
        return self.constraints.subsets_of(points, width)

    def values(self, points: NDArray[np.bool_]) -> FloatArray:
        """Criterion value of each point on all rows."""
        return self.evaluate(self.subsets(points), np.full(len(points), -1))

    def chains(self, start: NDArray[np.bool_], seed: np.random.SeedSequence) -> ClimbingChains:
        """Replicas at the given points."""
        return ObjectiveChains(
            self.evaluate,
            start,
            constraints=self.constraints,
            size=self.size,
            seed=seed,
            n_proposals=self.n_proposals,
            n_batches=self.n_batches,
            climb=self.climb,
        )


@dataclass(frozen=True, eq=False)
class GroupSpace(UnitSpace):
    """Features come in groups that count the same, and the criterion is quadratic.

    The compiled chains for units serve. `evaluate` is asked about all rows only.
    """

    quadratic: QuadraticObjective
    batches: CriterionStack | None
    cost: FloatArray | None
    n_threads: int

    def chains(self, start: NDArray[np.bool_], seed: np.random.SeedSequence) -> UnitChains:
        """Replicas at the given points."""
        return UnitChains(
            self.quadratic.criterion,
            start,
            constraints=self.constraints,
            size=self.size,
            seed=seed,
            n_proposals=self.n_proposals,
            batches=self.batches,
            cost=self.cost,
            refuse_collinear=self.quadratic.refuse_collinear,
            n_threads=self.n_threads,
        )


def _members(selections: NDArray[np.bool_], size: int) -> IntArray:
    """Rows of features out of masks with `size` features each."""
    return np.nonzero(selections)[1].reshape(len(selections), size).astype(np.int64)


def less_cost(evaluate: Evaluate, cost: FloatArray) -> Evaluate:
    """The objective less the cost of the features in a subset."""
    padded = np.append(cost, 0.0)  # -1, which fills up rows, costs nothing

    def dearer(subsets: IntArray, which: IntArray) -> FloatArray:
        return evaluate(subsets, which) - padded[subsets].sum(axis=1)

    return dearer
