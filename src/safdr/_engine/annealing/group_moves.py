"""Random moves between selections of groups that keep their count, for many replicas at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from safdr._engine.annealing.trades import below, draw_group, plan_trade
from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.constraints import AllowedSubsets

BoolArray = NDArray[np.bool_]

# Share of the moves that trade one group for several smaller ones, or back, where counts differ.
TRADES = 0.3


@dataclass(frozen=True, eq=False)
class Proposal:
    """Where the replicas might go: a row for each."""

    selections: BoolArray
    # Whether there is such a move, and it keeps to the constraints.
    possible: BoolArray
    # Logarithm of the chance of the way back over that of the way there.
    log_ratio: FloatArray
    # Members of each class after the move.
    n_in: IntArray
    # Place of the member that a swap exchanges with the group behind it; -1 for other moves.
    border: IntArray


class GroupMoves:
    """Selections of groups, and moves that keep what they count.

    A swap replaces a member by another group of the same count. Where counts differ, a trade
    replaces one member by several smaller groups of the same total, or the other way round. Moves
    from several groups to several others are not made: from three groups of two columns to two of
    three there is no way unless single columns lie between. Nor is there always a way around
    conflicts: with two pairs of which each group of one excludes those of the other, no single swap
    leads from pair to pair.

    Groups of one count are a class. In `order` the free groups stand class by class, members first,
    so that a random member or other group of a class is a random place. The order among members, or
    among the others, means nothing: groups that are drawn move to the border between them.
    """

    def __init__(self, selections: BoolArray, constraints: AllowedSubsets) -> None:
        free, counts = constraints.free, constraints.counts
        self.selections = selections.copy()
        self._conflicts = constraints.conflicts
        self.counts, kind = np.unique(counts[free], return_inverse=True)
        self._sizes = np.bincount(kind, minlength=len(self.counts))
        self._starts = np.cumsum(self._sizes) - self._sizes
        members = selections[:, free]
        self._order = free[np.argsort(2 * kind + ~members, axis=1, kind="stable")]
        self._n_in = members.astype(np.int64) @ np.eye(len(self.counts), dtype=np.int64)[kind]

    @property
    def n_draws(self) -> int:
        """Random numbers that a move of one replica takes: kind, group, partners."""
        return 3 if len(self.counts) < 2 else 2 + int(self.counts[-1] // self.counts[0])

    def take(self, indices: IntArray) -> None:
        """Replace the replicas by copies of those at `indices`."""
        self.selections = self.selections[indices]
        self._order = self._order[indices]
        self._n_in = self._n_in[indices]

    def propose(self, draws: FloatArray) -> Proposal:
        """A random move of each replica."""
        n = len(self.selections)
        proposal = Proposal(
            self.selections.copy(),
            np.zeros(n, dtype=bool),
            np.zeros(n),
            self._n_in.copy(),
            np.full(n, -1),
        )
        trades = TRADES if len(self.counts) > 1 else 0.0
        self._swap(proposal, np.flatnonzero(draws[:, 0] >= trades), draws[:, 1:])
        if trades:
            rows = np.flatnonzero(draws[:, 0] < trades)
            self._trade(proposal, rows, draws[rows, 1:], draws[rows, 0] < trades / 2)
        if self._conflicts is not None:
            self._refuse_conflicts(proposal, self._conflicts)
        return proposal

    def accept(self, proposal: Proposal, accepted: BoolArray) -> None:
        """Make the proposed moves of some replicas."""
        self.selections[accepted] = proposal.selections[accepted]
        self._n_in[accepted] = proposal.n_in[accepted]
        rows = np.flatnonzero(accepted & (proposal.border >= 0))
        self._exchange(rows, proposal.border[rows], proposal.border[rows] + 1)

    def _swap(self, proposal: Proposal, rows: IntArray, draws: FloatArray) -> None:
        """A random free member for a random other group of its class.

        The way back is as likely: no swap changes how many of a class are in.
        """
        kind, within = draw_group(self._n_in[rows], draws[rows, 0])
        n_in = self._n_in[rows, kind]
        n_out = self._sizes[kind] - n_in
        there = (n_in > 0) & (n_out > 0)
        rows, kind, within, n_in, n_out = (x[there] for x in (rows, kind, within, n_in, n_out))
        border = self._starts[kind] + n_in - 1
        self._exchange(rows, self._starts[kind] + within, border)
        self._exchange(rows, border + 1 + below(draws[rows, 1], n_out), border + 1)
        proposal.selections[rows, self._order[rows, border]] = False
        proposal.selections[rows, self._order[rows, border + 1]] = True
        proposal.possible[rows] = True
        proposal.border[rows] = border

    def _trade(
        self, proposal: Proposal, rows: IntArray, draws: FloatArray, leaves: BoolArray
    ) -> None:
        """One group leaves for several smaller ones, or comes in for them."""
        n_in = self._n_in[rows]
        own = np.where(leaves[:, None], n_in, self._sizes - n_in)
        trade = plan_trade(own, self._sizes - own, self.counts, draws)
        proposal.possible[rows] = trade.possible
        proposal.log_ratio[rows] = trade.log_ratio
        keep = trade.possible
        self._pick(proposal, rows[keep], trade.kind[keep], trade.within[keep], leaves[keep])
        for kind, place in zip(trade.steps.T, trade.places.T, strict=True):
            keep = trade.possible & (kind >= 0)
            if not keep.any():
                break
            self._pick(proposal, rows[keep], kind[keep], place[keep], ~leaves[keep])

    def _pick(
        self,
        proposal: Proposal,
        rows: IntArray,
        kind: IntArray,
        within: IntArray,
        leaves: BoolArray,
    ) -> None:
        """A member leaves, or another group comes in; it moves to the border of its class.

        Feature groups picked before it lie between it and the border, and are not picked again.
        """
        # Those picked before have shifted the border: down where they leave, up where they come in.
        after = self._starts[kind] + proposal.n_in[rows, kind]
        target = np.where(leaves, after - 1, after)
        self._exchange(rows, np.where(leaves, self._starts[kind], target) + within, target)
        proposal.selections[rows, self._order[rows, target]] = ~leaves
        proposal.n_in[rows, kind] += np.where(leaves, -1, 1)

    def _refuse_conflicts(self, proposal: Proposal, conflicts: BoolArray) -> None:
        """Moves that bring a group in which is in conflict with a member are impossible."""
        rows, entering = np.nonzero(proposal.selections & ~self.selections)
        refused = (conflicts[entering] & proposal.selections[rows]).any(axis=1)
        proposal.possible[rows[refused]] = False

    def _exchange(self, rows: IntArray, a: IntArray, b: IntArray) -> None:
        """Feature groups at places a and b change places."""
        at_a = self._order[rows, a]
        self._order[rows, a] = self._order[rows, b]
        self._order[rows, b] = at_a
