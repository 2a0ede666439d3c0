"""Subsets whose coefficients have given signs: where to look for them, and which models have them.

J+(S) is the criterion with the signs asked of w = A_SS⁻¹ d_S: the largest 2 d'w - w'A_SS w over
the w that have them. It is J(S) where w has them by itself; else a member is held at zero, and
J+(S) is that of a smaller subset. So climbing on J+ trades members of the wrong sign for others.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from safdr import _core
from safdr._engine.annealing.quadratic_function import QuadraticFunction
from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.criterion import Criterion
from safdr._engine.interrupt import look_up
from safdr.errors import Columns, NoSubsetError

BoolArray = NDArray[np.bool_]

# Places to climb from: most lead to the same summit.
N_STARTS = 8

# Neighbours of a subset that are looked at (some 10 ms); of more, those that the slopes call for.
MOST_NEIGHBOURS = 2000

# Subsets whose models are all fitted before it is said that none has the signs (some seconds).
MOST_SUBSETS = 500

# A rise by less than this share may be rounding error, and lead round in circles.
SMALLEST_RISE = 1e-9


def wrong_signs(subsets: IntArray, coefficients: FloatArray, signs: FloatArray) -> BoolArray:
    """Whether each coefficient has another sign than it must; rows may be filled up with -1."""
    asked = np.append(signs, 0.0)[subsets]
    coefficients = coefficients.reshape(asked.shape)  # one output may have a dimension of its own
    return np.asarray(asked * np.where(np.isnan(coefficients), -asked, coefficients) < 0)


def signed_values(
    criterion: Criterion, subsets: IntArray, signs: FloatArray, n_threads: int = 1
) -> tuple[FloatArray, IntArray]:
    """J+ of each subset, and the number of coefficients that have the wrong sign in J."""
    members = np.ascontiguousarray(subsets, dtype=np.int32)
    values, n_wrong = _core.signed_values(
        criterion.A, criterion.D, signs, members, n_threads=n_threads
    )
    return values, n_wrong.astype(np.int64)


def no_subset(size: int, columns: IntArray, allowed: AllowedSubsets) -> NoSubsetError:
    """What to say where none was found; these columns had the wrong sign."""
    return NoSubsetError(
        "signs",
        f"cannot be kept: no subset of {size} features has these signs. The sign of "
        f"{Columns(columns, allowed.labels)} was wrong in every candidate.",
    )


class SignedClimb:
    """Goes uphill on J+, less the cost, over the selections of one size that are allowed."""

    def __init__(
        self,
        criterion: Criterion,
        allowed: AllowedSubsets,
        cost: FloatArray | None,
        n_threads: int = 1,
    ) -> None:
        assert allowed.signs is not None
        self._criterion = criterion
        self._allowed = allowed
        self._signs = allowed.signs
        self._cost = np.zeros(allowed.n_features + 1) if cost is None else np.append(cost, 0.0)
        self._n_threads = n_threads
        self._quadratic = QuadraticFunction(criterion, constraints=allowed, n_threads=n_threads)

    def candidates(self, selections: BoolArray, at_most: int) -> IntArray:
        """Subsets that have the signs by the criterion: the summits around, then the best near one.

        Where there are none, the summits.
        """
        selections = np.unique(selections, axis=0)
        # Where every subset has features that add nothing, they are no reason to refuse one.
        self._quadratic.refuse_collinear = True
        if not np.isfinite(self._measure(selections)[0]).any():
            self._quadratic.refuse_collinear = False
        values, n_wrong = self._measure(selections)
        start = selections[np.argsort(-values, kind="stable")[:N_STARTS]]
        ends = self._summits(start, by_count=False)
        values, n_wrong = self._measure(ends)
        if n_wrong.all():
            # The best subsets with these signs are smaller: so any that have them.
            ends = np.unique(np.vstack([ends, self._summits(start, by_count=True)]), axis=0)
            values, n_wrong = self._measure(ends)
        if n_wrong.all():
            return self._subsets(ends)
        ends, values = ends[n_wrong == 0], values[n_wrong == 0]
        around = self._neighbours(ends[np.argmax(values)])
        theirs, n_wrong = self._measure(around)
        right = np.flatnonzero((n_wrong == 0) & (theirs > -np.inf))
        right = right[np.argsort(-theirs[right], kind="stable")[: at_most - len(ends)]]
        return self._subsets(np.vstack([ends, around[right]]))

    def every(self, size: int) -> IntArray:
        """All subsets of a size that can be judged; none where they are too many to fit models."""
        selections = self._allowed.every(size, MOST_SUBSETS)
        if selections is None:
            return np.empty((0, 0), dtype=np.int64)
        values, _ = self._measure(selections)
        return self._subsets(
            selections[np.isfinite(values)] if np.isfinite(values).any() else selections
        )

    def _subsets(self, selections: BoolArray) -> IntArray:
        width = int(selections[:, self._allowed.group_of].sum(axis=1).max(initial=0))
        return self._allowed.subsets_of(selections, width)

    def _measure(self, selections: BoolArray) -> tuple[FloatArray, IntArray]:
        """J+ less the cost, and the number of coefficients of the wrong sign in J."""
        if not len(selections):
            return np.empty(0), np.empty(0, dtype=np.int64)
        subsets = self._subsets(selections)
        free = self._quadratic(subsets, np.full(len(subsets), -1))
        values, n_wrong = signed_values(self._criterion, subsets, self._signs, self._n_threads)
        values = values - self._cost[subsets].sum(axis=1)
        return np.where(free > -np.inf, values, -np.inf), n_wrong

    def _summits(self, start: BoolArray, *, by_count: bool) -> BoolArray:
        """Where paths uphill end; with `by_count` fewer wrong signs count before all else."""
        ends: dict[bytes, BoolArray] = {}
        for selection in start:
            end, path = selection, []
            while (key := end.tobytes()) not in ends:
                look_up()
                path.append(key)
                better = self._better(end, by_count)
                if better is None:
                    ends[key] = end
                else:
                    end = better
            ends.update(dict.fromkeys(path, ends[key]))
        return np.unique(np.array(list(ends.values())), axis=0)

    def _better(self, selection: BoolArray, by_count: bool) -> BoolArray | None:
        """The best neighbour, if it is better."""
        around = np.vstack([selection[None], self._neighbours(selection)])
        values, n_wrong = self._measure(around)
        counts = n_wrong if by_count else np.zeros(len(values))
        best = int(np.lexsort((-values, counts))[0])
        if by_count and counts[best] < counts[0] and values[best] > -np.inf:
            return np.asarray(around[best])
        least = values[0] + SMALLEST_RISE * abs(values[0]) if np.isfinite(values[0]) else values[0]
        return np.asarray(around[best]) if values[best] > least else None

    # ---- Neighbours -----------------------------------------------------------------------------

    def _neighbours(self, selection: BoolArray) -> BoolArray:
        """Selections that differ by a swap of two groups of the same count."""
        allowed = self._allowed
        is_in = selection[allowed.free]
        members, others = allowed.free[is_in], allowed.free[~is_in]
        possible = allowed.counts[members][:, None] == allowed.counts[others]
        if allowed.conflicts is not None:
            rivals = allowed.conflicts[np.ix_(members, others)]
            # Those that are in every subset have kept their rivals out already.
            possible &= rivals.sum(axis=0) - rivals == 0
        if possible.sum() > MOST_NEIGHBOURS:
            possible &= self._promising(selection, members, others, possible)
        leaving, entering = np.nonzero(possible)
        around = np.repeat(selection[None], len(leaving), axis=0)
        rows = np.arange(len(leaving))
        around[rows, members[leaving]] = False
        around[rows, others[entering]] = True
        return around

    def _promising(
        self, selection: BoolArray, members: IntArray, others: IntArray, possible: BoolArray
    ) -> BoolArray:
        """For each member the groups whose columns would raise J most in its place."""
        gains = np.full(possible.shape, -np.inf)
        for i, member in enumerate(members):
            rest = selection.copy()
            rest[member] = False
            of_columns = self._gains(self._allowed.columns_of(rest))
            of_groups = np.bincount(self._allowed.group_of, of_columns)
            gains[i] = np.where(possible[i], of_groups[others], -np.inf)
        each = max(1, MOST_NEIGHBOURS // len(members))
        order = np.argsort(-gains, axis=1, kind="stable")[:, :each]
        chosen = np.zeros(possible.shape, dtype=bool)
        np.put_along_axis(chosen, order, True, axis=1)
        return chosen

    def _gains(self, rest: IntArray) -> FloatArray:
        """What each column would add to J, less its cost; nothing, where its sign is wrong."""
        A, d, cost = self._criterion.A, self._criterion.D[:, 0], self._cost[:-1]
        among, to_all = A[np.ix_(rest, rest)], A[rest]
        solved = np.linalg.solve(among, np.column_stack([d[rest], to_all]))
        slope = d - to_all.T @ solved[:, 0]
        own = np.maximum(np.diag(A) - np.sum(to_all * solved[:, 1:], axis=0), np.diag(A) * 1e-6)
        gains: FloatArray = np.where(self._signs * slope < 0, 0.0, slope**2 / own) - cost
        return gains
