"""The record of fitted models, and the contract of what fits them to candidates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
    left: FloatArray | Any = None  # what a rough fit could still take off its loss

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
        the best. One that no other can beat has won. Those after it are not fitted: their losses
        and coefficients are NaN, not separated, without iterations.
        """

    def baseline(self) -> float:
        """Loss of the model without features."""


def from_core(
    theta: FloatArray,
    losses: FloatArray,
    separated: NDArray[np.bool_],
    converged: NDArray[np.bool_],
    left: FloatArray,
    n_iter: IntArray,
) -> Fits:
    """What the core returns; it keeps slopes and intercepts in one array."""
    return Fits(losses, separated, converged, n_iter, theta[..., :-1], theta[..., -1], left)


def theta_of(fits: Fits, which: IntArray) -> FloatArray:
    """Slopes and intercepts of some models, as the core takes them to start from."""
    some = fits.take(which)
    return np.concatenate([some.coefficients, some.intercepts[..., None]], axis=-1)


def fit_padded(fitter: Fitter, subsets: IntArray, *, best_only: bool, n_threads: int) -> Fits:
    """Fit a model to each subset, where rows may be filled up with -1."""
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


def padded(subsets: Sequence[IntArray]) -> IntArray:
    """Subsets as rows, filled up with -1 to the same length."""
    rows = np.full((len(subsets), max(map(len, subsets))), -1, dtype=np.int64)
    for row, subset in zip(rows, subsets, strict=True):
        row[: len(subset)] = subset
    return rows


def in_turn(parts: Iterable[Fits], n_subsets: int, *, best_only: bool) -> Fits:
    """Join the fits of parts of the subsets; with `best_only` those up to complete separation."""
    done: list[Fits] = []
    n_left = n_subsets
    for part in parts:
        done.append(part)
        n_left -= len(part.losses)
        if best_only and not part.losses.all():
            break
    if n_left:
        done.append(Fits(*(np.zeros((n_left, *some.shape[1:]), some.dtype) for some in done[0])))
    fits = joined(done)
    if best_only:
        forget_after_separation(fits)
    return fits


def joined(parts: list[Fits]) -> Fits:
    """Fits of one part of the subsets after the other."""
    if len(parts) == 1:
        return parts[0]
    together = zip(*parts, strict=True)
    arrays: list[Any] = [None if each[0] is None else np.concatenate(each) for each in together]
    return Fits(*arrays)


def _padded(fits: Fits, longest: int) -> Fits:
    """Coefficients filled up with zeros."""
    if fits.coefficients is None:
        return fits
    slopes = fits.coefficients
    width = [(0, 0)] * (slopes.ndim - 1) + [(0, longest - slopes.shape[-1])]
    return fits._replace(coefficients=np.pad(slopes, width))


def forget_after_separation(fits: Fits) -> None:
    """Leave no trace of fits after the first that separates the classes completely.

    Some may have been made, by other threads or in another order: the answer must not tell. They
    become NaN, without steps.
    """
    if fits.losses.all():
        return
    rest = int(np.argmin(fits.losses != 0.0)) + 1
    for some in fits:
        some[rest:] = np.nan if some.dtype.kind == "f" else 0
