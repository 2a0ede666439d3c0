"""Proofs of the best subset, and lists of near-optimal subsets."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from safdr._engine.annealing.compiled import CompiledChains, subset_values
from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.criterion import Criterion
from safdr._engine.proof.fixed import fixed_features
from safdr._engine.proof.root import Root, make_root
from safdr._engine.proof.rounds import Rounds
from safdr.errors import ParameterError
from safdr.result import NearOptimal, Proof

# Random subsets from which a local search finds a first incumbent; a better one saves steps.
N_STARTS = 20

# Relative error of values up to which a subset is called optimal; closer values are ties.
MAX_ERROR = 1e-5

# Relative difference of the values of one subset, summed in different orders.
SAME = 1e-12


class Prover:
    """A criterion and its allowed subsets of single columns, prepared once for all sizes."""

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
        self._reduced = self.allowed.without(criterion.redundant)
        self._roots: dict[bool, Root] = {}

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
        rounds = self._start(size, incumbent)
        rounds.run(start + seconds, n_threads)
        subset = rounds.subsets[0]
        value, error = float(self._values(subset[None])[0]), rounds.root.error(size)
        optimal = rounds.is_done and error < MAX_ERROR
        upper_bound = value
        if not optimal:
            upper_bound = max(value, rounds.upper_bound)
            # The value of a subset before its cost is at most this plus all costs.
            upper_bound += error * (abs(upper_bound) + float(np.abs(rounds.root.cost).sum()))
        fixed_in, fixed_out = fixed_features(rounds.root, size, value)
        return Proof(
            optimal=optimal,
            value=value,
            upper_bound=upper_bound,
            gap=_gap(value, upper_bound),
            subset=subset,
            n_nodes=rounds.n_steps,
            seconds=time.monotonic() - start,
            fixed_in=fixed_in,
            fixed_out=fixed_out,
        )

    def near_optimal(
        self,
        size: int,
        *,
        rtol: float,
        max_subsets: int,
        seconds: float = 10.0,
        n_threads: int = 1,
    ) -> NearOptimal:
        """Return all subsets of a size whose value is within a share of the best."""
        start = time.monotonic()
        best = self._start(size, None)
        # If time runs out, subsets near the best known one are returned.
        best.run(start + seconds / 2, n_threads)
        threshold = float(np.nextafter(self._lowest(best.subsets[0], rtol), -np.inf))
        near = replace(best, threshold=threshold, improve=False, at_most=max_subsets)
        near.run(start + seconds, n_threads)
        if best.is_done and near.is_done and best.root.error(size) < MAX_ERROR:
            found = near.subsets, near.values, near.n_found
            return NearOptimal(*found, True, near.feature_counts, rtol)
        swapped = self._one_swap_away(best.subsets[0])
        subsets = np.unique(np.vstack([best.subsets, near.subsets, swapped]), axis=0)
        values = self._values(subsets)
        order = np.argsort(-values, kind="stable")
        order = order[values[order] >= self._lowest(subsets[order[0]], rtol)]
        counts = np.bincount(subsets[order].ravel(), minlength=self.criterion.n_features)
        listed = order[:max_subsets]
        return NearOptimal(subsets[listed], values[listed], len(order), False, counts, rtol)

    def _start(self, size: int, incumbent: IntArray | None) -> Rounds:
        """Return the search for a subset better than those of a local search."""
        self.allowed.check_size(size, "size")
        allowed = self._allowed_for(size)
        candidates = self._local_optima(allowed, size)
        if incumbent is not None:
            candidates = np.vstack([candidates, incumbent])
        rounds = Rounds(self._root(allowed), size, threshold=-np.inf, improve=True, at_most=1)
        rounds.keep(candidates, self._values(candidates))
        return rounds

    def _allowed_for(self, size: int) -> AllowedSubsets:
        """Return the constraints without redundant features, unless too few others remain."""
        return self._reduced if self._reduced.has_size(size) else self.allowed

    def _root(self, allowed: AllowedSubsets) -> Root:
        is_reduced = allowed is self._reduced
        if is_reduced not in self._roots:
            conflicts = None
            if allowed.conflicts is not None:
                of_free = allowed.conflicts[np.ix_(allowed.free, allowed.free)]
                conflicts = np.ascontiguousarray(of_free, dtype=np.uint8)
            cost = np.zeros(self.criterion.n_features) if self.cost is None else self.cost
            self._roots[is_reduced] = make_root(
                self.criterion, allowed.include, allowed.free, cost, conflicts
            )
        return self._roots[is_reduced]

    def _local_optima(self, allowed: AllowedSubsets, size: int) -> IntArray:
        """Return the local optima that swaps reach from random subsets."""
        rng = np.random.default_rng(0)
        start = allowed.random(size, N_STARTS, rng)
        seed = np.random.SeedSequence(0)
        chains = CompiledChains(
            self.criterion, start, constraints=allowed, seed=seed, n_proposals=1, cost=self.cost
        )
        return np.unique(chains.local_search()[0], axis=0)

    def _one_swap_away(self, subset: IntArray) -> IntArray:
        allowed = self._allowed_for(len(subset))
        leaving = np.setdiff1d(subset, allowed.include)
        entering = np.setdiff1d(allowed.free, subset)
        fits = np.ones((len(leaving), len(entering)), dtype=bool)
        if allowed.conflicts is not None:
            n_conflicts = allowed.conflicts[np.ix_(subset, entering)].sum(axis=0)
            fits = n_conflicts == allowed.conflicts[np.ix_(leaving, entering)]
        i, j = np.nonzero(fits)
        subsets = np.repeat(subset[None], len(i), axis=0)
        subsets[np.arange(len(i)), np.searchsorted(subset, leaving[i])] = entering[j]
        return np.sort(subsets, axis=1)

    def _values(self, subsets: IntArray) -> FloatArray:
        values = subset_values(self.criterion, subsets)
        return values if self.cost is None else values - self.cost[subsets].sum(axis=1)

    def _lowest(self, best: IntArray, rtol: float) -> float:
        """Return the smallest near-optimal value; costs may make it negative."""
        value = float(self._values(best[None])[0])
        cost = 0.0 if self.cost is None else float(np.abs(self.cost[best]).sum())
        return value - rtol * abs(value) - SAME * (abs(value) + cost)


def check_provable(allowed: AllowedSubsets) -> None:
    """Refuse groups of features and signs of coefficients, which the bounds do not cover."""
    if not allowed.swaps_alone:
        raise ParameterError("groups", "of several columns have no bounds. Prove without groups.")
    if allowed.signs is not None:
        raise ParameterError("signs", "of coefficients have no bounds. Prove without signs.")


def _gap(value: float, upper_bound: float) -> float:
    if upper_bound <= value:
        return 0.0
    return (upper_bound - value) / value if value > 0 else np.inf
