"""Who is fitted to the end, where only the best subset is wanted.

1. The candidate that is preferred, the incumbent, is fitted roughly.
2. So are the others; the core gives up those that can't reach it (_core/fits/shortlist.hpp).
3. Those that may still be the best are fitted to the end, until the best is one that was.

The first one that separates the classes completely has won: those after it are not fitted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from safdr._engine.arrays import IntArray
from safdr._engine.fits.fits import Fits, joined

# A fit may be the best whose distance to it is less than so many times what it has left.
CONTENDER = 10.0


def fit_shortlist(
    n_subsets: int,
    rough: Callable[[slice, Fits | None], Fits],
    finish: Callable[[IntArray, Fits], Fits],
    rounding: float = 0.0,
) -> Fits:
    """Fit subsets, in order of preference, as far as it takes to know the best.

    `rough` gets the numbers of some subsets, and the incumbent's fit once it is there; `finish`
    those that go on, and all fits so far. Losses of rough fits may be off by `rounding`, apart from
    what is left.
    """

    def parts() -> Iterator[Fits]:
        incumbent = rough(slice(0, 1), None)
        yield incumbent
        if n_subsets > 1:
            yield rough(slice(1, None), incumbent)

    fits = in_turn(parts(), n_subsets, best_only=True)
    fit_contenders(fits, lambda some: finish(some, fits), rounding)
    return fits


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


def fit_contenders(fits: Fits, finish: Callable[[IntArray], Fits], rounding: float = 0.0) -> None:
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


def carry_on(fits: Fits, numbers: IntArray, finish: Callable[[IntArray], Fits]) -> None:
    """Fit some of the subsets to the end, and write what is known then."""
    if not len(numbers):
        return
    final = finish(numbers)
    final = final._replace(n_iter=final.n_iter + fits.n_iter[numbers])
    for all_of_them, some in zip(fits, final, strict=True):
        all_of_them[numbers] = some


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
