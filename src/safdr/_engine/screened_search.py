"""A search among the features that a screen keeps for each size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from safdr._engine import columns as sources
from safdr._engine.arrays import IntArray
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.search import Search
from safdr.errors import NoSubsetError
from safdr.result import AnnealingResult

# Sizes up to each multiple of this number are searched in one pool of columns.
SIZES_A_POOL = 30


class ScreenedSearch:
    """`Search` among the columns that the screen keeps for each size.

    Sizes share a pool, the columns of the largest of them: its moments, batches and rows are
    computed once. The pool depends on the data and the size alone, and so does a result.
    """

    def __init__(
        self,
        columns: Callable[[int], IntArray],
        usable: IntArray,
        in_pool: Callable[[IntArray], Search],
        constraints: AllowedSubsets,
        seed: int,
    ) -> None:
        self._columns, self._usable = columns, usable  # of each size; those that no limit excludes
        self._in_pool = in_pool
        self.constraints = constraints
        self.seed = seed
        self._last: tuple[IntArray, Search] | None = None

    def prepare(self, size: int) -> ScreenedSearch:
        """Compute the pool of this size, and return the search itself."""
        self._search_of(self._pool(size)).prepare(size)
        return self

    def run(self, size: int, *, n_threads: int = 1) -> AnnealingResult:
        self.constraints.check_size(size)
        columns, usable = self._columns(size), self._usable
        try:
            return self._run(size, columns, self._pool(size), n_threads)
        except NoSubsetError:
            if len(usable) == len(columns) or len(usable) > sources.MAX_DENSE:
                raise
            return self._run(size, usable, usable, n_threads)

    def _run(self, size: int, columns: IntArray, pool: IntArray, n_threads: int) -> AnnealingResult:
        search = self._search_of(pool)
        if len(columns) < len(pool):
            search = search.among(np.searchsorted(pool, columns))
        found = search.run(size, n_threads=n_threads)
        return replace(found, subsets=np.append(pool, -1)[found.subsets], n_screened=len(columns))

    def _pool(self, size: int) -> IntArray:
        last = SIZES_A_POOL * -(-size // SIZES_A_POOL)
        return self._columns(min(last, max(size, self.constraints.largest)))

    def _search_of(self, pool: IntArray) -> Search:
        last = self._last
        if last is None or not np.array_equal(last[0], pool):
            last = self._last = (pool, self._in_pool(pool))
        return last[1]


AnySearch: TypeAlias = Search | ScreenedSearch
