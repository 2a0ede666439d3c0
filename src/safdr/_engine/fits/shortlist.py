"""Fits in order of preference: who goes on to the end, and when the contest is over."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safdr._engine.arrays import IntArray

# A fit may be the best whose distance to it is less than so many times what it has left.
CONTENDER = 10.0

# One entry a subset: coefficients, cross-entropies, whether separated, whether converged, what is
# left, steps.
Fitted = list[NDArray[Any]]


def in_turn(parts: Iterable[Fitted], n_subsets: int, *, contest: bool) -> Fitted:
    """Join the fits of parts of the subsets.

    Parameters
    ----------
    parts : iterable of Fitted
        Each is asked for once the one before is known not to end the contest.
    n_subsets : int
        How many subsets all parts have.
    contest : bool
        Whether complete separation, a cross-entropy of 0, ends it.

    Returns
    -------
    Fitted
        As `end_contest` leaves them, if it is one.
    """
    done: list[Fitted] = []
    n_left = n_subsets
    for part in parts:
        done.append(part)
        n_left -= len(part[1])
        if contest and not part[1].all():
            break
    if n_left:
        done.append([np.zeros((n_left, *some.shape[1:]), some.dtype) for some in done[0]])
    fits = done[0] if len(done) == 1 else [np.concatenate(some) for some in zip(*done, strict=True)]
    if contest:
        end_contest(fits)
    return fits


def fit_contenders(
    fits: Fitted, finish: Callable[[IntArray], Fitted], rounding: float = 0.0
) -> None:
    """Fit to the end those that may be the best, until the best is one that was.

    Parameters
    ----------
    fits : Fitted
        As far as they have come; what is known at the end is written there.
    finish : callable
        Fits the subsets of some numbers to the end.
    rounding : float, default=0.0
        What the cross-entropies may be off by, apart from what is left.
    """
    _, cross_entropies, separated, converged, left, _ = fits
    finished = separated | converged
    while True:
        least = cross_entropies - np.where(finished, 0.0, CONTENDER * left + rounding)
        # Where the classes are separated completely nothing is left to do.
        hopeful = (least <= np.fmin.reduce(cross_entropies)) & (cross_entropies > 0)
        contenders = np.flatnonzero(hopeful & ~finished)
        if not len(contenders):
            return
        carry_on(fits, contenders, finish)
        finished[contenders] = True
        end_contest(fits)


def carry_on(fits: Fitted, numbers: IntArray, finish: Callable[[IntArray], Fitted]) -> None:
    """Fit some of the subsets to the end, and write what is known then.

    Parameters
    ----------
    fits : Fitted
        Of all subsets.
    numbers : ndarray of int
        Which of them go on; there may be none.
    finish : callable
        As in `fit_contenders`.
    """
    if not len(numbers):
        return
    final = finish(numbers)
    final[-1] += fits[-1][numbers]  # steps
    for all_of_them, some in zip(fits, final, strict=True):
        all_of_them[numbers] = some


def end_contest(fits: Fitted) -> None:
    """Leave no trace of fits after the first that separates the classes completely.

    Some may have been made, by other threads or in another order: the answer must not tell.

    Parameters
    ----------
    fits : Fitted
        NaN is written to those after it, and no steps.
    """
    if fits[1].all():
        return
    rest = int(np.argmin(fits[1] != 0.0)) + 1
    for some in fits:
        some[rest:] = np.nan if some.dtype.kind == "f" else 0
