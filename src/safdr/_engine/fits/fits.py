"""What chooses the winner among the candidate subsets: models on them, and their losses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from safdr._engine.arrays import FloatArray, IntArray


class Fits(Protocol):
    """One model a subset."""

    @property
    def losses(self) -> FloatArray:
        """Loss of each model, the smaller the better."""

    @property
    def separated(self) -> NDArray[np.bool_]:
        """Whether the optimum of a model lies at infinity."""

    @property
    def converged(self) -> NDArray[np.bool_]:
        """Whether a model is known to be at its optimum."""

    @property
    def coefficients(self) -> FloatArray | None:
        """Slopes of linear models: subsets first, features last."""

    @property
    def intercepts(self) -> FloatArray | None:
        """Their intercepts."""

    @property
    def n_iter(self) -> IntArray:
        """Iterations of each fit."""


class Fitter(Protocol):
    """Fits models to subsets of one size."""

    @property
    def loss_name(self) -> str:
        """What the losses are."""

    def fit(self, subsets: IntArray, *, best_only: bool = False, n_threads: int = 1) -> Fits:
        """Fit a model to each subset; to the end only the best, where that is all that counts.

        The subsets then come in order of preference: of those with equal losses the first one is
        the best. After one that no other can beat they need not be fitted:
        their losses and coefficients are NaN, not separated, without iterations.
        """

    def baseline(self) -> float:
        """Loss of the model without features."""


@dataclass(frozen=True, eq=False)
class PaddedFits:
    """Models on subsets of several lengths; coefficients are filled up with zeros."""

    losses: FloatArray
    separated: NDArray[np.bool_]
    converged: NDArray[np.bool_]
    coefficients: FloatArray | None
    intercepts: FloatArray | None
    n_iter: IntArray


def reordered(fits: Fits, order: IntArray) -> PaddedFits:
    """Take the models in another order.

    Parameters
    ----------
    fits : Fits
        One model a subset.
    order : ndarray of shape (n_subsets,)
        Which of them comes where.

    Returns
    -------
    PaddedFits
    """
    slopes, offsets = fits.coefficients, fits.intercepts
    return PaddedFits(
        losses=fits.losses[order],
        separated=fits.separated[order],
        converged=fits.converged[order],
        coefficients=None if slopes is None else slopes[order],
        intercepts=None if offsets is None else offsets[order],
        n_iter=fits.n_iter[order],
    )


def fit_padded(fitter: Fitter, subsets: IntArray, *, best_only: bool, n_threads: int) -> Fits:
    """Fit a model to each subset, where rows may be filled up with -1.

    Parameters
    ----------
    fitter : Fitter
        What to fit.
    subsets : ndarray of shape (n_subsets, longest)
        Features of each subset, then -1.
    best_only, n_threads
        As `Fitter.fit` takes them.

    Returns
    -------
    Fits
    """
    lengths = np.sum(subsets >= 0, axis=1)
    if lengths.min() == subsets.shape[1]:
        return fitter.fit(subsets, best_only=best_only, n_threads=n_threads)
    parts = {
        int(length): fitter.fit(
            subsets[lengths == length, :length],
            best_only=best_only,
            n_threads=n_threads,
        )
        for length in np.unique(lengths)
    }
    return _joined(parts, lengths, subsets.shape[1])


def _joined(parts: dict[int, Fits], lengths: IntArray, longest: int) -> PaddedFits:
    """The fits of each length, back in the order of the subsets."""
    order = np.argsort(np.concatenate([np.flatnonzero(lengths == n) for n in parts]))
    fits = list(parts.values())
    slopes = [part.coefficients for part in fits if part.coefficients is not None]
    offsets = [part.intercepts for part in fits if part.intercepts is not None]
    padded = [np.pad(s, [(0, 0)] * (s.ndim - 1) + [(0, longest - s.shape[-1])]) for s in slopes]
    joined = PaddedFits(
        losses=np.concatenate([part.losses for part in fits]),
        separated=np.concatenate([part.separated for part in fits]),
        converged=np.concatenate([part.converged for part in fits]),
        coefficients=np.concatenate(padded) if padded else None,
        intercepts=np.concatenate(offsets) if offsets else None,
        n_iter=np.concatenate([part.n_iter for part in fits]),
    )
    return reordered(joined, order)
