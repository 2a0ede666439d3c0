"""Models on candidates: their record, what fits them, and who is fitted to the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, Protocol, TypeAlias

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


# ---- Who is fitted to the end, where only the best subset is wanted ----------------------------
#
# 1. One candidate, the incumbent, is fitted roughly: the preferred one, or the most promising.
# 2. So are the others; the core gives up those that can't reach it (_core/fits/shortlist.hpp).
# 3. Those that may still be the best are fitted to the end, until the best is one that was.
#
# The first one that separates the classes completely has won: those after it are not fitted.

# A fit may be the best whose distance to it is less than so many times what it has left.
CONTENDER = 10.0

# Fits to the end: subsets by their numbers, and where each goes on from.
Finish: TypeAlias = Callable[[IntArray, FloatArray], Fits]


def fit_shortlist(
    n_subsets: int,
    rough: Callable[[IntArray, Fits | None], Fits],
    finish: Finish,
    rounding: float = 0.0,
    first: int = 0,
) -> Fits:
    """Fit subsets, in order of preference, as far as it takes to know the best.

    `rough` gets the numbers of some subsets, and the incumbent's fit once it is there. Losses of
    rough fits may be off by `rounding`, apart from what is left. The incumbent is the `first` to be
    fitted: another than the preferred one only where no subset can separate the classes.
    """
    order = np.r_[first, :first, first + 1 : n_subsets]

    def parts() -> Iterator[Fits]:
        incumbent = rough(order[:1], None)
        yield incumbent
        if n_subsets > 1:
            yield rough(order[1:], incumbent)

    fits = in_turn(parts(), n_subsets, best_only=True).take(np.argsort(order))
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
