"""Forward and backward greedy selection on the criterion, with the kernel's rule on collinearity.

A member is collinear where the others leave it a variance of at most `collinear_tol` of its own,
and take most of what it has. The kernel never lets one in; neither do these.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from safdr._engine.criterion import Criterion

IntArray = NDArray[np.int64]


def forward(criterion: Criterion, max_size: int) -> list[IntArray]:
    """Add the feature that raises the criterion most, from none on.

    Parameters
    ----------
    criterion : Criterion
        To be maximised.
    max_size : int
        Largest size.

    Returns
    -------
    list of ndarray
        Sorted subsets of 1, 2, … features; fewer where all others are collinear.
    """
    # Of each feature, what the members leave: `own` of its variance, `left` of its discriminant.
    own, left = np.diag(criterion.A).copy(), criterion.D.copy()
    explained = np.zeros((max_size, criterion.n_features))
    allowed = _usable(criterion)
    members: list[int] = []
    while len(members) < max_size:
        allowed &= ~_collinear(criterion, own, np.arange(criterion.n_features))
        if not allowed.any():
            break
        gains = np.where(allowed, (left**2).sum(axis=1) / np.where(allowed, own, 1.0), -np.inf)
        j, n = int(gains.argmax()), len(members)
        explained[n] = (criterion.A[j] - explained[:n, j] @ explained[:n]) / np.sqrt(own[j])
        left = left - np.outer(explained[n], left[j] / np.sqrt(own[j]))
        own = own - explained[n] ** 2
        allowed[j] = False
        members.append(j)
    return [np.sort(members[:size]) for size in range(1, len(members) + 1)]


def backward(criterion: Criterion, max_size: int) -> list[IntArray]:
    """Drop the feature that lowers the criterion least, from all features on.

    As long as there are collinear members, one of those is dropped.

    Parameters
    ----------
    criterion : Criterion
        To be maximised.
    max_size : int
        Largest size that is handed back.

    Returns
    -------
    list of ndarray
        Sorted subsets of 1, 2, … features.
    """
    members = np.flatnonzero(_usable(criterion))
    subsets: list[IntArray] = []
    while len(members) > 0:
        # Inverted anew each time: slower than an update, and as exact as can be.
        P = np.linalg.inv(criterion.A[np.ix_(members, members)])
        p = np.diag(P)
        losses = ((P @ criterion.D[members]) ** 2).sum(axis=1) / p
        collinear = _collinear(criterion, 1.0 / p, members)
        if not collinear.any():
            collinear[:] = True
            if len(members) <= max_size:
                subsets.append(members)
        members = np.delete(members, np.where(collinear, losses, np.inf).argmin())
    return subsets[::-1]


def _usable(criterion: Criterion) -> NDArray[np.bool_]:
    usable = np.ones(criterion.n_features, dtype=bool)
    usable[criterion.redundant] = False
    return usable


def _collinear(
    criterion: Criterion, own: NDArray[np.float64], features: IntArray
) -> NDArray[np.bool_]:
    variance = np.diag(criterion.A)[features]
    return np.asarray((own <= criterion.collinear_tol) & (own < 0.5 * variance))
