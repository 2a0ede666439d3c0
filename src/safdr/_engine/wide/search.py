"""Search many columns: explore all, then anneal with batches in a few of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np

from safdr._engine.annealing.chains import Dynamics
from safdr._engine.arrays import IntArray
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.proof.prover import Prover
from safdr._engine.search import Annealed, Search, is_better, padded
from safdr._engine.wide.criterion import WideCriterion
from safdr._engine.wide.explore import Explored, Explorer, whole_groups
from safdr._engine.wide.start import FirstColumns
from safdr._engine.wide.swaps import Swaps
from safdr.result import AnnealingResult
from safdr.trace import WorkingSet

# Subsets with more than this share of the columns are searched among all of them.
LARGEST_SHARE = 0.2

# Columns at random in the first working set.
N_RANDOM = 50


class WorkingSetSearch:
    """As `Search`, for many columns: the answer of a search in a working set of them.

    No swap of one column, of all there are, raises the value of the best subset that was found.
    """

    def __init__(
        self,
        among: Callable[[IntArray], Search],
        swaps: Sequence[Swaps],
        prover: Callable[[], Prover],
        *,
        constraints: AllowedSubsets,
        settings: Dynamics,
        seed: int,
    ) -> None:
        self._among = among
        # One for each criterion that the search is by; they bring in no column that none needs.
        self._swaps = swaps
        self._first = [FirstColumns(one.criterion, one.allowed, one.cost) for one in swaps]
        self._settings = settings
        self._prover = prover
        self.constraints = constraints
        self.seed = seed

    @property
    def criterion(self) -> WideCriterion:
        """What is maximised."""
        return self._swaps[0].criterion

    def prepare(self, size: int) -> WorkingSetSearch:
        """Compute ahead what sizes up to this share."""
        if self._is_large(size):
            self._of_all.prepare(size)
            return self
        for first in self._first:
            first.up_to(size)
        return self

    def run(self, size: int, *, n_threads: int = 1, prove: float | None = None) -> AnnealingResult:
        """Search for the best subset of `size` features, and prove it for so many seconds."""
        self.constraints.check_size(size)
        if self._is_large(size):
            return self._of_all.run(size, n_threads=n_threads, prove=prove)
        # Kept for this size alone, so that no other decides what they round to.
        swaps = [one.keeping_rows() for one in self._swaps]
        first = self._first_working_set(size)
        how = (self.constraints, self._settings, self.seed)
        explored = [Explorer(one, *how).run(first, size, n_threads) for one in swaps]
        rounds, best = self._settle(swaps, explored, size, n_threads)
        proof = None
        if prove is not None:
            prover, value = self._prover(), self._swaps[0].value(best[0])
            proof = prover.prove(size, incumbent=best[0], seconds=prove, n_threads=n_threads)
            if is_better(proof, np.array([value])):
                best.append(proof.subset)
                rounds.append(self._round(rounds[-1].with_columns(proof.subset), size, n_threads))
        n_rounds = len(rounds) + max(one.n_rounds for one in explored)
        working = WorkingSet(rounds[-1].working, n_rounds, self.constraints.n_features)
        result = self._judged(rounds[-1], best, n_threads)
        return replace(result, proof=proof, working_set=working)

    def _is_large(self, size: int) -> bool:
        return size > self.constraints.n_features * LARGEST_SHARE

    @cached_property
    def _of_all(self) -> Search:
        """The search among all columns; too many for the memory are an error at once."""
        return self._among(np.arange(self.constraints.n_features))

    def _settle(
        self, each_swaps: list[Swaps], explored: list[Explored], size: int, n_threads: int
    ) -> tuple[list[_Round], list[IntArray]]:
        """Rounds until no swap of all there are is better; and the best subset by each criterion.

        It ends: each round but the last has found a column that those before had not.
        """
        rounds: list[_Round] = []
        found = zip(each_swaps, explored, strict=True)
        best = [swaps.climbed(one.subset) for swaps, one in found]
        working = self._whole(np.concatenate([*best, *(one.working for one in explored)]))
        while not rounds or len(working) > len(rounds[-1].working):
            rounds.append(self._round(working, size, n_threads))
            ends = [one.best for one in rounds[-1].found]
            best = [
                swaps.climbed(new) if swaps.value(new) > swaps.value(old) else old
                for swaps, old, new in zip(each_swaps, best, ends, strict=True)
            ]
            working = rounds[-1].with_columns(np.concatenate(best))
        return rounds, best

    def around(self, subset: IntArray, n_best: int) -> tuple[IntArray, Search]:
        """The subset with the columns that come next in the place of each member; their search."""
        columns = np.union1d(subset, self._swaps[0].closest(subset, n_best))
        return columns, self._among(columns)

    def candidates(self, size: int, *, n_threads: int = 1) -> IntArray:
        """Subsets that may win."""
        return self.run(size, n_threads=n_threads).subsets

    def _first_working_set(self, size: int) -> IntArray:
        usable = self._first[0].usable
        rng = np.random.default_rng(np.random.SeedSequence([self.seed, size], spawn_key=(3,)))
        drawn = rng.choice(usable, size=min(N_RANDOM + size, len(usable)), replace=False)
        promising = [first.up_to(size) for first in self._first]
        allowed = self._swaps[0].allowed
        enough = allowed.has_size(size)
        if allowed.conflicts is not None or not enough:
            # Some subset of this size must be among them, if only with columns that none needs.
            selection = (allowed if enough else self.constraints).random(size, 1, rng)[0]
            drawn = np.append(drawn, allowed.columns_of(selection))
        fixed = np.flatnonzero(np.isin(allowed.group_of, allowed.include))
        return self._whole(np.concatenate([*promising, drawn, fixed]))

    def _whole(self, columns: IntArray) -> IntArray:
        return whole_groups(self.constraints, columns)

    def _round(self, working: IntArray, size: int, n_threads: int) -> _Round:
        """Anneal in a working set."""
        search = self._among(working)
        searches = [search, *(other for other in search.also if isinstance(other, Search))]
        found = [_Found(one, one.anneal(size, n_threads), working) for one in searches]
        return _Round(working, search, found)

    def _judged(self, round_: _Round, best: list[IntArray], n_threads: int) -> AnnealingResult:
        """The result of the last round, with the best of those before among its candidates."""
        search, working = round_.search, round_.working
        size = round_.found[0].annealed.size
        known = {id(one.search): one for one in round_.found}
        theirs = [
            known[id(source)].candidates
            if id(source) in known
            else source.candidates(size, n_threads=n_threads)
            for source in search.also
        ]
        theirs.append(padded([np.searchsorted(working, subset) for subset in best]))
        result = search.judge(round_.found[0].annealed, theirs, n_threads=n_threads)
        return of_all_columns(result, working)


def of_all_columns(result: AnnealingResult, working: IntArray) -> AnnealingResult:
    """A result in a working set, by the numbers that its columns have among all."""
    columns = np.append(working, -1)
    return replace(
        result, subsets=columns[result.subsets], start_subsets=columns[result.start_subsets]
    )


AnySearch: TypeAlias = Search | WorkingSetSearch


@dataclass(frozen=True, eq=False)
class _Found:
    """Replicas of one criterion, annealed in a working set."""

    search: Search
    annealed: Annealed
    working: IntArray

    @property
    def candidates(self) -> IntArray:
        """Subsets that may win, by places in the working set."""
        return self.search.candidates_of(self.annealed)[0]

    @property
    def best(self) -> IntArray:
        """The best subset that a replica climbs to."""
        subsets, values = self.annealed.chains.climbed()
        subset = subsets[np.argmax(values)]
        return self.working[subset[subset >= 0]]


@dataclass(frozen=True, eq=False)
class _Round:
    """One round: a working set, the search in it, and what its criteria found."""

    working: IntArray
    search: Search
    found: list[_Found]

    def with_columns(self, columns: IntArray) -> IntArray:
        """The working set and these."""
        return np.union1d(self.working, columns)
