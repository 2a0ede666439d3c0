"""Results of fits, and the protocol of fitters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from safdr._engine.arrays import FloatArray, IntArray


class Fits(NamedTuple):
    """One model per subset: entry i of each array belongs to subset i."""

    losses: FloatArray  # the smaller the better
    separated: NDArray[np.bool_]  # whether the optimum lies at infinity
    converged: NDArray[np.bool_]  # whether the optimum was reached; not so under separation
    coefficients: FloatArray | Any = None  # slopes: subsets first, features last
    intercepts: FloatArray | Any = None
    left: FloatArray | Any = None  # optimality gap: bound on a further decrease of the loss

    @classmethod
    def of_losses(cls, losses: FloatArray) -> Fits:
        no = np.zeros(len(losses), dtype=bool)
        return cls(losses, no, ~no)

    def take(self, which: IntArray) -> Fits:
        some: list[Any] = [None if each is None else each[which] for each in self]
        return Fits(*some)


class Fitter(Protocol):
    """Fits models to subsets of one size."""

    @property
    def loss_name(self) -> str:
        """Name of the loss."""

    def fit(self, subsets: IntArray, *, best_only: bool = False, n_threads: int = 1) -> Fits:
        """Fit a model to each subset; with `best_only`, only the best one to convergence.

        The subsets then come in order of preference: the first one wins among equal losses. Other
        losses are accurate to about a tenth of their distance to the best.
        """

    def baseline(self) -> float:
        """Return the loss of the model without features."""


@dataclass(frozen=True, eq=False)
class ColumnsFitter:
    """A fitter for subsets of very many columns, which reads only those that occur."""

    fitter_of: Callable[[IntArray], Fitter]

    @property
    def loss_name(self) -> str:
        return self._of_one.loss_name

    def fit(self, subsets: IntArray, *, best_only: bool = False, n_threads: int = 1) -> Fits:
        columns, places = np.unique(subsets, return_inverse=True)
        fitter = self.fitter_of(columns)
        return fitter.fit(places.reshape(subsets.shape), best_only=best_only, n_threads=n_threads)

    def baseline(self) -> float:
        return self._of_one.baseline()

    @property
    def _of_one(self) -> Fitter:
        return self.fitter_of(np.zeros(1, dtype=np.int64))


def joined(parts: list[Fits]) -> Fits:
    if len(parts) == 1:
        return parts[0]
    together = zip(*parts, strict=True)
    arrays: list[Any] = [None if each[0] is None else np.concatenate(each) for each in together]
    return Fits(*arrays)


def fit_padded(fitter: Fitter, subsets: IntArray, *, best_only: bool, n_threads: int) -> Fits:
    lengths, longest = np.sum(subsets >= 0, axis=1), subsets.shape[1]
    if lengths.min() == longest:
        return fitter.fit(subsets, best_only=best_only, n_threads=n_threads)
    rows, parts = [], []
    for length in np.unique(lengths):
        rows.append(np.flatnonzero(lengths == length))
        some = subsets[rows[-1], :length]
        fits = fitter.fit(some, best_only=best_only, n_threads=n_threads)
        parts.append(_padded(fits, longest))
    return joined(parts).take(np.argsort(np.concatenate(rows)))


def _padded(fits: Fits, longest: int) -> Fits:
    if fits.coefficients is None:
        return fits
    slopes = fits.coefficients
    width = [(0, 0)] * (slopes.ndim - 1) + [(0, longest - slopes.shape[-1])]
    return fits._replace(coefficients=np.pad(slopes, width))
