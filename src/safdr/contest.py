"""Fits in order of preference: the first that separates the classes completely ends the contest."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
        done.append([np.empty((n_left, *some.shape[1:]), some.dtype) for some in done[0]])
    fits = done[0] if len(done) == 1 else [np.concatenate(some) for some in zip(*done, strict=True)]
    if contest:
        end_contest(fits)
    return fits


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
