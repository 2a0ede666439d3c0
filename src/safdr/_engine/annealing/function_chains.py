"""Replicas that sweep over selections of groups under any function, in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from safdr._engine.annealing.group_moves import GroupMoves
from safdr._engine.annealing.swap_chains import check_sweeps, check_taken
from safdr._engine.annealing.trades import below
from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.constraints import AllowedSubsets

BoolArray = NDArray[np.bool_]

# Values of subsets, each on one batch: subsets are sorted columns, one a row, filled up with -1;
# batches are numbers, or -1 for all rows. Minus infinity or NaN means never to go there.
Evaluate: TypeAlias = Callable[[IntArray, IntArray], FloatArray]

# A move that raises the value by less than this share may be rounding error: a climb that followed
# it could go round in circles.
SMALLEST_RISE = 1e-9

# Random numbers of a proposal besides those of the move: the batch, and whether it is accepted.
N_DRAWS = 2

# Draws of a start before a value of minus infinity is put up with.
MOST_DRAWS = 20


class FunctionChains:
    """Metropolis chains over the selections that constraints allow, on any function.

    Moves are those of `GroupMoves`: swaps of groups that count the same and, where counts differ,
    trades of one group for several. At a fixed inverse temperature a replica visits each selection
    that moves lead to in proportion to exp(beta · value).
    """

    sweeps_at_once = 1
    drift = 0.0

    def __init__(
        self,
        evaluate: Evaluate,
        selections: BoolArray,
        *,
        constraints: AllowedSubsets,
        size: int,
        seed: np.random.SeedSequence,
        n_proposals: int,
        n_batches: int = 0,
        climb: bool = True,
    ) -> None:
        check_selections(selections, constraints, size)
        self.constraints = constraints
        self.size = size
        self.n_proposals = n_proposals
        self.n_batches = max(n_batches, 1)
        self.width = constraints.max_columns(size)
        # None stands for more than one selection, or too many to count.
        self.can_move = constraints.every(size, 1) is None
        self._evaluate = evaluate
        self._on_batches = n_batches > 0
        self._climb = climb
        self._moves = GroupMoves(selections, constraints)
        keys = seed.generate_state(2 * len(selections), np.uint64).reshape(-1, 2)
        self._streams = [np.random.Generator(np.random.Philox(key=key)) for key in keys]
        self._values: FloatArray | None = None

    @property
    def selections(self) -> BoolArray:
        """Feature groups of each replica."""
        return self._moves.selections.copy()

    @property
    def subsets(self) -> IntArray:
        """Sorted columns of each replica, filled up with -1 at the end."""
        return self.constraints.subsets_of(self._moves.selections, self.width)

    @property
    def values(self) -> FloatArray:
        """Value of each replica on all rows."""
        if self._values is None:
            self._values = self._values_of(self._moves.selections, None)
        return self._values

    def sweep(
        self, beta: FloatArray, which: IntArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Sweep once for each row of `beta`: values on all rows, and share of accepted moves."""
        check_sweeps(beta, which, len(self._moves.selections), self.n_batches)
        values, accepted = np.empty(beta.shape), np.zeros(beta.shape)
        for t in range(len(beta)):
            if self.can_move:
                accepted[t] = self._sweep_once(beta[t], None if which is None else which[t])
            values[t] = self.values
        return values, accepted / self.n_proposals

    def take(self, indices: IntArray) -> None:
        """Replace the replicas by copies of those at `indices`.

        The random streams stay where they are, so that copies part at once.
        """
        check_taken(indices, len(self._streams))
        self._moves.take(indices)
        self._values = None

    def climbed(self) -> tuple[IntArray, FloatArray]:
        """Where each replica would end by going uphill on all rows: subsets and their values.

        No swap of one group for another of the same count raises the value of such a subset. The
        replicas stay where they are.
        """
        if not (self._climb and self.can_move):
            return self.subsets, self.values
        selections, values = self.selections, self.values.copy()
        ends: dict[bytes, tuple[BoolArray, float]] = {}
        for i in range(len(selections)):
            selections[i], values[i] = self._summit(selections[i], float(values[i]), ends)
        return self.constraints.subsets_of(selections, self.width), values

    def sample(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Values of random subsets on all rows."""
        return sample_values(self._evaluate, self.constraints, self.size, n, rng)

    def every(self, at_most: int) -> tuple[IntArray, FloatArray] | None:
        """All subsets that can be judged and their values; None if there are more than so many."""
        return every_judged(self._evaluate, self.constraints, self.size, at_most)

    # ---- Sweeps ---------------------------------------------------------------------------------

    def _sweep_once(self, beta: FloatArray, which: IntArray | None) -> IntArray:
        """One sweep of all replicas; how many proposals each has accepted."""
        n_accepted = np.zeros(len(beta), dtype=np.int64)
        batch = which if self._on_batches else None
        now = None
        for draw in self._draws(len(beta)):
            if self._on_batches and which is None:
                batch, now = below(draw[:, 0], self.n_batches), None
            if now is None:
                now = self._values_of(self._moves.selections, batch)
            now, accepted = self._step(now, beta, batch, draw[:, 1], draw[:, N_DRAWS:])
            n_accepted += accepted
        self._values = None if self._on_batches else now
        return n_accepted

    def _draws(self, n_replicas: int) -> FloatArray:
        """Uniform random numbers for one sweep, of shape (n_proposals, n_replicas, n_draws)."""
        shape = (self.n_proposals, N_DRAWS + self._moves.n_draws)
        return np.stack([stream.random(shape) for stream in self._streams[:n_replicas]], axis=1)

    def _step(
        self,
        now: FloatArray,
        beta: FloatArray,
        batch: IntArray | None,
        draw: FloatArray,
        draws: FloatArray,
    ) -> tuple[FloatArray, BoolArray]:
        """One proposal to each replica: values after it, and who has accepted."""
        proposal = self._moves.propose(draws)
        rows = np.flatnonzero(proposal.possible)
        then = np.full(len(now), -np.inf)
        their_batch = None if batch is None else batch[rows]
        then[rows] = self._values_of(proposal.selections[rows], their_batch)
        # Infinity less infinity, or times zero: a replica that starts where it should not be may go
        # anywhere else, and any two equal values are equal at any temperature.
        with np.errstate(invalid="ignore"):
            exponent = beta * (then - now)
        exponent = np.where(np.isnan(exponent), 0.0, exponent) + proposal.log_ratio
        accepted = (then > -np.inf) & (draw < np.exp(np.minimum(exponent, 0.0)))
        self._moves.accept(proposal, accepted)
        return np.where(accepted, then, now), accepted

    def _values_of(self, selections: BoolArray, batch: IntArray | None) -> FloatArray:
        """Values of selections on their batches, None for all rows; NaN is minus infinity."""
        return _values(self._evaluate, self.constraints, selections, self.width, batch)

    # ---- Climbing -------------------------------------------------------------------------------

    def _summit(
        self, selection: BoolArray, value: float, ends: dict[bytes, tuple[BoolArray, float]]
    ) -> tuple[BoolArray, float]:
        """Go to the best neighbour as long as that raises the value; `ends` knows earlier paths."""
        path = [selection.tobytes()]
        while path[-1] not in ends:
            around = self._neighbours(selection)
            values = self._values_of(around, None)
            best = int(np.argmax(values)) if len(values) else -1
            least = value + SMALLEST_RISE * abs(value) if np.isfinite(value) else value
            if best < 0 or not values[best] > least:
                ends[path[-1]] = selection, value
            else:
                selection, value = around[best], float(values[best])
                path.append(selection.tobytes())
        end = ends[path[-1]]
        ends.update(dict.fromkeys(path, end))
        return end

    def _neighbours(self, selection: BoolArray) -> BoolArray:
        """All selections that a swap of two groups of the same count leads to."""
        free, counts = self.constraints.free, self.constraints.counts
        members, others = free[selection[free]], free[~selection[free]]
        equal = counts[members][:, None] == counts[others]
        conflicts = self.constraints.conflicts
        if conflicts is not None:
            rivals = conflicts[np.ix_(members, others)]
            # Those that are in every subset have kept their rivals out already.
            equal &= rivals.sum(axis=0) - rivals == 0
        leaving, entering = np.nonzero(equal)
        around = np.repeat(selection[None], len(leaving), axis=0)
        rows = np.arange(len(leaving))
        around[rows, members[leaving]] = False
        around[rows, others[entering]] = True
        return around


def finite_start(
    evaluate: Evaluate, constraints: AllowedSubsets, size: int, n: int, rng: np.random.Generator
) -> BoolArray:
    """Random selections of finite value on all rows, as far as a few draws find them."""
    width = constraints.max_columns(size)
    selections = constraints.random(size, n, rng)
    for _ in range(MOST_DRAWS):
        values = _values(evaluate, constraints, selections, width, None)
        bad = np.flatnonzero(~np.isfinite(values))
        if not bad.size:
            break
        selections[bad] = constraints.random(size, len(bad), rng)
    return selections


def sample_values(
    evaluate: Evaluate, constraints: AllowedSubsets, size: int, n: int, rng: np.random.Generator
) -> FloatArray:
    """Values of random subsets on all rows, finite ones as far as a few draws find them."""
    selections = finite_start(evaluate, constraints, size, n, rng)
    return evaluate(
        constraints.subsets_of(selections, constraints.max_columns(size)), np.full(n, -1)
    )


def every_judged(
    evaluate: Evaluate, constraints: AllowedSubsets, size: int, at_most: int
) -> tuple[IntArray, FloatArray] | None:
    """All subsets of finite value, and their values; None if there are more than so many."""
    selections = constraints.every(size, at_most)
    if selections is None:
        return None
    subsets = constraints.subsets_of(selections, constraints.max_columns(size))
    values = evaluate(subsets, np.full(len(subsets), -1))
    # What is collinear, or refused by a function of one's own, must not win by its loss.
    judged = np.isfinite(values)
    return (subsets[judged], values[judged]) if judged.any() else (subsets, values)


def less_cost(evaluate: Evaluate, cost: FloatArray | None) -> Evaluate:
    """The function less the cost of the features in a subset."""
    if cost is None:
        return evaluate
    padded = np.append(cost, 0.0)  # -1, which fills up rows, costs nothing

    def with_cost(subsets: IntArray, which: IntArray) -> FloatArray:
        return evaluate(subsets, which) - padded[subsets].sum(axis=1)

    return with_cost


def _values(
    evaluate: Evaluate,
    constraints: AllowedSubsets,
    selections: BoolArray,
    width: int,
    batch: IntArray | None,
) -> FloatArray:
    """Values of selections on their batches, None for all rows; NaN is minus infinity."""
    which = np.full(len(selections), -1) if batch is None else batch
    if not len(selections):
        return np.empty(0)
    values = np.asarray(
        evaluate(constraints.subsets_of(selections, width), which), dtype=np.float64
    )
    return np.where(np.isnan(values), -np.inf, values)


def check_selections(selections: BoolArray, constraints: AllowedSubsets, size: int) -> None:
    """Raise an error where a start breaks the constraints: moves keep to them if the start does."""
    if selections.ndim != 2 or selections.shape[1] != constraints.n_groups:
        raise ValueError(
            f"selections must have one column for each of {constraints.n_groups} groups; got shape "
            f"{selections.shape}."
        )
    good = constraints.allows_each(selections) & (selections @ constraints.counts == size)
    if not good.all():
        raise ValueError(
            f"selections must keep to the constraints and count {size}; row {good.argmin()} does "
            "not."
        )
