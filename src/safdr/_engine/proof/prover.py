"""A criterion, prepared once, whose best subsets of any size are proven."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from safdr._engine.annealing.compiled import CompiledChains, subset_values
from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.criterion import Criterion, is_collinear
from safdr._engine.proof.root import Root, make_root, rounding
from safdr._engine.proof.rounds import Rounds
from safdr._engine.proof.settled import settled
from safdr._engine.proof.swaps import one_swap_away
from safdr.errors import ParameterError
from safdr.result import NearTies, Proof

# Random subsets that climb to a first incumbent; any would do, a better one saves steps.
N_STARTS = 20

# A claim of "the best" is about values that are known to this share: what comes closer is a tie.
KNOWN = 1e-6

# Values of the same subset differ by this, relatively, when they are summed up in another order.
SAME = 1e-12


class Prover:
    """A criterion, and which subsets of single columns are allowed; sizes share the preparation."""

    def __init__(
        self,
        criterion: Criterion,
        allowed: AllowedSubsets | None = None,
        cost: FloatArray | None = None,
    ) -> None:
        self.criterion = criterion
        self.cost = cost
        self.allowed = (
            AllowedSubsets.without_limits(criterion.n_features) if allowed is None else allowed
        )
        check_provable(self.allowed)
        self._lean = self.allowed.without(criterion.redundant)
        self._roots: dict[bool, Root] = {}

    def prepare(self) -> Prover:
        """Compute ahead what all sizes share, and return itself."""
        self._root(self._lean)
        return self

    def prove(
        self,
        size: int,
        *,
        incumbent: IntArray | None = None,
        seconds: float = 10.0,
        n_threads: int = 1,
    ) -> Proof:
        """Prove the best subset of a size, or bound it."""
        start = time.monotonic()
        rounds = self._started(size, incumbent)
        try:
            rounds.run(start + seconds, n_threads)
        except KeyboardInterrupt as error:
            error.add_note(f"So far: {self._proof(rounds, start)}")
            raise
        return self._proof(rounds, start)

    def near_ties(
        self,
        size: int,
        *,
        within: float | None,
        at_most: int,
        seconds: float = 10.0,
        n_threads: int = 1,
    ) -> NearTies:
        """All subsets of a size whose value is within a share of the best; None: the best."""
        start = time.monotonic()
        known = self._started(size, None)
        # If time is too short for the best, what is near the best known is worth as much.
        known.run(start + seconds / 2, n_threads)
        near = replace(
            known,
            threshold=self._threshold(known, within, at_most),
            improve=within is None,
            at_most=at_most,
        )
        near.run(start + seconds, n_threads)
        error = self._error(known, known.subsets[0])
        if not (known.is_done and near.is_done and error < KNOWN):
            return self._some_ties(known, near, within, at_most)
        if within is None:
            return self._listed(near.subsets, near.values, exact=True)
        return NearTies(near.subsets, near.values, near.n_found, True, near.feature_counts, within)

    # ---- Where to start -------------------------------------------------------------------------

    def _started(self, size: int, incumbent: IntArray | None) -> Rounds:
        """The search for a subset better than the best that climbing finds.

        Collinear subsets don't count, as for the replicas, unless no other is known.
        """
        self.allowed.check_size(size, "size")
        allowed = self._allowed_for(size)
        root = self._root(allowed)
        candidates = self._climbed(allowed, size)
        if incumbent is not None:
            candidates = np.vstack([candidates, incumbent])
        counts = np.array([is_independent(self.criterion, subset) for subset in candidates])
        rounds = Rounds(
            replace(root, conflicts=_with_copies(root)),
            size,
            threshold=-np.inf,
            collinear_tol=self.criterion.collinear_tol,
            improve=True,
            at_most=1,
        )
        rounds.keep(candidates[counts], self._values(candidates[counts]))
        if not counts.any():
            # Climbing may miss the few that count.
            rounds.run(np.inf, 1, n_rounds=1)
        if not len(rounds.subsets):
            rounds = replace(rounds, root=root, collinear_tol=0.0)
            rounds.keep(candidates, self._values(candidates))
        return rounds

    def _allowed_for(self, size: int) -> AllowedSubsets:
        """Without the features that no subset needs, unless there are too few others."""
        return self._lean if self._lean.has_size(size) else self.allowed

    def _threshold(self, known: Rounds, within: float | None, at_most: int) -> float:
        """What near-ties are above."""
        if within is not None:
            return float(np.nextafter(self._lowest(known.subsets[0], within), -np.inf))
        # So many are at least as good as the last of these.
        others = self._swapped(known, at_most)
        if len(others) < at_most:
            return -np.inf
        return float(np.nextafter(self._lowest(others[-1], 0.0), -np.inf))

    def _swapped(self, known: Rounds, at_most: int) -> IntArray:
        """The best that are one swap from the best known subset, of those that count."""
        others = one_swap_away(known.subsets[0], self._allowed_for(known.size))
        others = others[np.argsort(-self._values(others), kind="stable")]
        if known.collinear_tol > 0:
            counting = (i for i, s in enumerate(others) if is_independent(self.criterion, s))
            others = others[np.fromiter(islice(counting, at_most), dtype=np.int64)]
        return others[:at_most]

    def _root(self, allowed: AllowedSubsets) -> Root:
        lean = allowed is self._lean
        if lean not in self._roots:
            conflicts = None
            if allowed.conflicts is not None:
                of_free = allowed.conflicts[np.ix_(allowed.free, allowed.free)]
                conflicts = np.ascontiguousarray(of_free, dtype=np.uint8)
            cost = np.zeros(self.criterion.n_features) if self.cost is None else self.cost
            self._roots[lean] = make_root(
                self.criterion, allowed.include, allowed.free, cost, conflicts
            )
        return self._roots[lean]

    def _climbed(self, allowed: AllowedSubsets, size: int) -> IntArray:
        """Subsets that no swap improves."""
        rng = np.random.default_rng(0)
        start = allowed.random(size, N_STARTS, rng)
        seed = np.random.SeedSequence(0)
        chains = CompiledChains(
            self.criterion, start, constraints=allowed, seed=seed, n_proposals=1, cost=self.cost
        )
        return np.unique(chains.local_search()[0], axis=0)

    # ---- What came out --------------------------------------------------------------------------

    def _proof(self, rounds: Rounds, start: float) -> Proof:
        subset = rounds.subsets[0]
        value = float(self._values(subset[None])[0])
        error = self._error(rounds, subset)
        optimal = rounds.is_done and error < KNOWN
        upper_bound = value
        if not optimal:
            upper_bound = max(value, rounds.upper_bound)
            # Of a subset before its cost, which is no more than all costs together.
            upper_bound += error * (abs(upper_bound) + float(np.abs(rounds.root.cost).sum()))
        must_include, never_useful = settled(rounds.root, rounds.size, value)
        return Proof(
            optimal=optimal,
            value=value,
            upper_bound=upper_bound,
            gap=_gap(value, upper_bound),
            subset=subset,
            n_nodes=rounds.n_steps,
            seconds=time.monotonic() - start,
            must_include=must_include,
            never_useful=never_useful,
        )

    def _error(self, rounds: Rounds, subset: IntArray) -> float:
        """What share of the values rounding may change: those of subsets that count."""
        everything = np.concatenate([rounds.root.included, rounds.root.free])
        return rounding(self.criterion, subset if rounds.collinear_tol > 0 else everything)

    def _values(self, subsets: IntArray) -> FloatArray:
        """Criterion value of each subset, less its cost."""
        values = subset_values(self.criterion, subsets)
        return values if self.cost is None else values - self.cost[subsets].sum(axis=1)

    def _lowest(self, best: IntArray, within: float) -> float:
        """What is still within a share of the best, which costs may make negative."""
        value = float(self._values(best[None])[0])
        cost = 0.0 if self.cost is None else float(np.abs(self.cost[best]).sum())
        return value - within * abs(value) - SAME * (abs(value) + cost)

    def _some_ties(
        self, known: Rounds, near: Rounds, within: float | None, at_most: int
    ) -> NearTies:
        """Those that were found before time was up, and what is one swap from the best."""
        swapped = self._swapped(known, at_most)
        subsets = np.unique(np.vstack([known.subsets, near.subsets, swapped]), axis=0)
        values = self._values(subsets)
        order = np.argsort(-values, kind="stable")
        if within is None:
            order = order[:at_most]
        else:
            order = order[values[order] >= self._lowest(subsets[order[0]], within)]
        ties = self._listed(subsets[order], values[order], exact=False)
        subsets, values = ties.subsets[:at_most], ties.values[:at_most]
        return replace(ties, subsets=subsets, values=values, within=within)

    def _listed(self, subsets: IntArray, values: FloatArray, *, exact: bool) -> NearTies:
        counts = np.bincount(subsets.ravel(), minlength=self.criterion.n_features)
        return NearTies(subsets, values, len(subsets), exact, counts, within=None)


def check_provable(allowed: AllowedSubsets) -> None:
    """Refuse feature groups and signs of coefficients, which the bounds are not of."""
    if not allowed.swaps_alone:
        raise ParameterError(
            "groups",
            "of several columns can't be proven: the bounds are of single columns. Do without "
            "{groups}, or without a proof.",
        )
    if allowed.signs is not None:
        raise ParameterError(
            "signs",
            "of coefficients can't be proven: the bounds are of subsets whose coefficients have "
            "any signs. Do without {signs}, or without a proof.",
        )


def _gap(value: float, upper_bound: float) -> float:
    """By what share the bound is above the value."""
    if upper_bound <= value:
        return 0.0
    return (upper_bound - value) / value if value > 0 else np.inf


def is_independent(criterion: Criterion, subset: IntArray) -> bool:
    """Whether a subset counts: its members can be taken up in some order without a collinear one.

    What can be reached so is true of parts of a subset as well; so the order is found from its end,
    and any member that has variance of its own beside all others may be the last.
    """
    A = criterion.A[np.ix_(subset, subset)]
    while len(A):
        try:
            own = 1.0 / np.diag(np.linalg.inv(A))
        except np.linalg.LinAlgError:
            return False
        last = np.flatnonzero(~is_collinear(own, np.diag(A), criterion.collinear_tol))
        if len(last) == len(A):
            return True
        if not last.size:
            return False
        others = np.delete(np.arange(len(A)), last[0])
        A = A[np.ix_(others, others)]
    return True


def _with_copies(root: Root) -> NDArray[np.uint8] | None:
    """The conflicts, and pairs of features that are copies of each other, but for their scale."""
    A = root.criterion.A[np.ix_(root.free, root.free)]
    variance, tol = np.diag(A), root.criterion.collinear_tol
    own = variance - A**2 / variance[:, None]
    pairs = is_collinear(own, variance, tol)
    pairs &= pairs.T
    np.fill_diagonal(pairs, False)
    if not pairs.any():
        return root.conflicts
    if root.conflicts is not None:
        pairs |= root.conflicts.astype(bool)
    return pairs.astype(np.uint8)
