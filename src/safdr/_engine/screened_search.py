"""A search among the features that a screen keeps for each size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol, TypeAlias

import numpy as np

from safdr._engine import columns as sources
from safdr._engine.arrays import IntArray
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.search import Search
from safdr.errors import NoSubsetError
from safdr.result import AnnealingResult


class ColumnScreen(Protocol):
    """The columns to search at each size."""

    def columns(self, size: int) -> IntArray:
        """Return the sorted columns that the screen keeps for a size."""

    @property
    def usable(self) -> IntArray:
        """All columns that may be selected."""

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Pairs of duplicates: the kept and the dropped column."""


class ScreenedSearch:
    """`Search` among the columns that the screen keeps for each size.

    The columns of a size do not depend on other sizes, and neither does its result.
    """

    def __init__(
        self,
        screen: ColumnScreen,
        among: Callable[[IntArray], Search],
        constraints: AllowedSubsets,
        seed: int,
    ) -> None:
        self._screen = screen
        self._among = among
        self.constraints = constraints
        self.seed = seed
        # Sizes often share their columns: all of them, or as many as the user asked for.
        self._last: tuple[IntArray, Search] | None = None

    @property
    def duplicates(self) -> list[tuple[int, int]]:
        """Pairs of duplicates: the kept and the dropped column."""
        return self._screen.pairs

    def prepare(self, size: int) -> ScreenedSearch:
        """Compute the screen up to this size, and return the search itself."""
        self._search_among(self._screen.columns(size)).prepare(size)
        return self

    def run(self, size: int, *, n_threads: int = 1) -> AnnealingResult:
        self.constraints.check_size(size)
        columns = self._screen.columns(size)
        try:
            found = self._search_among(columns).run(size, n_threads=n_threads)
        except NoSubsetError:
            usable = self._screen.usable
            if len(usable) == len(columns) or len(usable) > sources.MAX_DENSE:
                raise
            columns = usable
            found = self._search_among(columns).run(size, n_threads=n_threads)
        return among_all_columns(found, columns)

    def _search_among(self, columns: IntArray) -> Search:
        last = self._last
        if last is None or not np.array_equal(last[0], columns):
            last = self._last = (columns, self._among(columns))
        return last[1]


def among_all_columns(result: AnnealingResult, columns: IntArray) -> AnnealingResult:
    """Return the result with indices among all columns."""
    of_all = np.append(columns, -1)
    return replace(result, subsets=of_all[result.subsets], n_screened=len(columns))


AnySearch: TypeAlias = Search | ScreenedSearch
