"""Models on candidates: their record, and what fits them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from safdr._engine.arrays import FloatArray, IntArray


class Fits(NamedTuple):
    """One model a subset: entry i of each array belongs to subset i."""

    losses: FloatArray  # the smaller the better
    separated: NDArray[np.bool_]  # whether the optimum lies at infinity
    converged: NDArray[np.bool_]  # whether the optimum was reached; not so under separation
    n_iter: IntArray
    coefficients: FloatArray | Any = None  # slopes: subsets first, features last
    intercepts: FloatArray | Any = None
    left: FloatArray | Any = None  # bound of what a loss may still fall by

    @classmethod
    def of_losses(cls, losses: FloatArray) -> Fits:
        """Models of which nothing but the loss is known."""
        nothing = np.zeros(len(losses), dtype=np.int64)
        return cls(losses, nothing > 0, nothing == 0, nothing)

    def take(self, which: IntArray) -> Fits:
        """The models of some subsets, in the order asked for."""
        some: list[Any] = [None if each is None else each[which] for each in self]
        return Fits(*some)


class Fitter(Protocol):
    """Fits models to subsets of one size."""

    @property
    def loss_name(self) -> str:
        """What the losses are."""

    def fit(self, subsets: IntArray, *, best_only: bool = False, n_threads: int = 1) -> Fits:
        """Fit a model to each subset; to the end only the best, where that is all that counts.

        The subsets then come in order of preference: of those with equal losses the first one is
        the best. The losses of the others are good to about a tenth of their distance to it.
        """

    def baseline(self) -> float:
        """Loss of the model without features."""


@dataclass(frozen=True, eq=False)
class ColumnsFitter:
    """Fits to subsets of very many columns, on those that occur."""

    fitter_of: Callable[[IntArray], Fitter]

    @property
    def loss_name(self) -> str:
        """What the losses are."""
        return self._of_one.loss_name

    def fit(self, subsets: IntArray, *, best_only: bool = False, n_threads: int = 1) -> Fits:
        """Fit a model to each subset."""
        columns, places = np.unique(subsets, return_inverse=True)
        fitter = self.fitter_of(columns)
        return fitter.fit(places.reshape(subsets.shape), best_only=best_only, n_threads=n_threads)

    def baseline(self) -> float:
        """Loss of the model without features."""
        return self._of_one.baseline()

    @property
    def _of_one(self) -> Fitter:
        return self.fitter_of(np.zeros(1, dtype=np.int64))


def distinct_rows(subsets: IntArray) -> tuple[IntArray, IntArray]:
    """Like np.unique of rows, which takes several times as long for some dozens of them."""
    n_subsets, size = subsets.shape
    whole = np.dtype((np.void, size * subsets.itemsize))
    rows = np.ascontiguousarray(subsets).view(whole).ravel().tolist()
    places = {row: i for i, row in enumerate(dict.fromkeys(rows))}
    inverse = np.array([places[row] for row in rows])
    first = np.empty(len(places), dtype=np.intp)
    # The last one written stays.
    first[inverse[::-1]] = np.arange(n_subsets - 1, -1, -1)
    return subsets[first], inverse


def joined(parts: list[Fits]) -> Fits:
    """Fits of one part of the subsets after the other."""
    if len(parts) == 1:
        return parts[0]
    together = zip(*parts, strict=True)
    arrays: list[Any] = [None if each[0] is None else np.concatenate(each) for each in together]
    return Fits(*arrays)
