"""Who is fitted to the end, where only the best subset is wanted.

1. The candidate that is preferred, the incumbent, is fitted roughly.
2. So are the others; the core gives up those that can't reach it (_core/fits/shortlist.hpp).
3. Those that may still be the best are fitted to the end, until the best is one that was.

The first one that separates the classes completely has won: those after it are not fitted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.fits.fits import Fits, forget_after_separation, in_turn, theta_of

# A fit may be the best whose distance to it is less than so many times what it has left.
CONTENDER = 10.0

# Fits to the end: subsets by their numbers, and where each goes on from.
Finish: TypeAlias = Callable[[IntArray, FloatArray], Fits]


def fit_shortlist(
    n_subsets: int,
    rough: Callable[[slice, Fits | None], Fits],
    finish: Finish,
    rounding: float = 0.0,
) -> Fits:
    """Fit subsets, in order of preference, as far as it takes to know the best.

    `rough` gets the numbers of some subsets, and the incumbent's fit once it is there. Losses of
    rough fits may be off by `rounding`, apart from what is left.
    """

    def parts() -> Iterator[Fits]:
        incumbent = rough(slice(0, 1), None)
        yield incumbent
        if n_subsets > 1:
            yield rough(slice(1, None), incumbent)

    fits = in_turn(parts(), n_subsets, best_only=True)
    fit_contenders(fits, finish, rounding)
    return fits


def fit_contenders(fits: Fits, finish: Finish, rounding: float = 0.0) -> None:
    """Fit to the end those that may be the best, until the best is one that was."""
    losses = fits.losses
    finished = fits.separated | fits.converged
    while True:
        least = losses - np.where(finished, 0.0, CONTENDER * fits.left + rounding)
        # Where the classes are separated completely nothing is left to do.
        hopeful = (least <= np.fmin.reduce(losses)) & (losses > 0)
        contenders = np.flatnonzero(hopeful & ~finished)
        if not len(contenders):
            return
        carry_on(fits, contenders, finish)
        finished[contenders] = True
        forget_after_separation(fits)


def carry_on(fits: Fits, numbers: IntArray, finish: Finish) -> None:
    """Fit some of the subsets to the end, and write what is known then."""
    if not len(numbers):
        return
    final = finish(numbers, theta_of(fits, numbers))
    final = final._replace(n_iter=final.n_iter + fits.n_iter[numbers])
    for all_of_them, some in zip(fits, final, strict=True):
        all_of_them[numbers] = some
