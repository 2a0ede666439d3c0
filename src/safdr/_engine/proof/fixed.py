"""Features that the bounds at the root fix, without a search."""

from __future__ import annotations

import numpy as np

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.proof.root import Root, most_saved


def fixed_features(root: Root, size: int, value: float) -> tuple[IntArray, IntArray]:
    """Return the features fixed in and fixed out for all subsets above this value."""
    here = np.arange(len(root.free))
    always: list[int] = []
    never: list[int] = []
    P, beta, total = root.inverse, root.coefficients, root.all
    n_missing = size - len(root.included)
    while root.has_bounds and 0 < n_missing < len(here):
        squares = np.sum(beta**2, axis=1)
        cost, n_out = root.cost[root.free[here]], len(here) - n_missing
        with_j, without_j = _least_losses(
            root.delta[here] * squares - cost,
            squares / np.diag(P) - most_saved(cost, n_out),
            n_out,
        )
        out = total - without_j + root.slack <= value
        in_ = (total - with_j + root.slack <= value) & ~out
        if not (out | in_).any():
            break
        always += root.free[here[in_]].tolist()
        never += root.free[here[out]].tolist()
        if out.any():
            weight = np.linalg.solve(P[np.ix_(out, out)], np.hstack([P[out], beta[out]]))
            total += float(cost[out].sum() - np.sum(beta[out] * weight[:, len(here) :]))
            beta = beta - P[:, out] @ weight[:, len(here) :]
            P = P - P[:, out] @ weight[:, : len(here)]
        stay = ~(out | in_)
        P, beta, here = P[np.ix_(stay, stay)], beta[stay], here[stay]
        n_missing -= int(in_.sum())
    return np.sort(np.array(always, dtype=np.int64)), np.sort(np.array(never, dtype=np.int64))


def _least_losses(
    together: FloatArray, alone: FloatArray, n_out: int
) -> tuple[FloatArray, FloatArray]:
    """Return the least loss of leaving out `n_out` features: with and without each feature."""
    sums, largest = np.sort(together), np.sort(alone)
    total = sums[:n_out].sum()
    among = together <= sums[n_out - 1]
    with_j = np.where(among, total, total - sums[n_out - 1] + together)
    without_j = np.where(among, total - together + sums[n_out], total)
    with_j = np.maximum(with_j, np.maximum(alone, largest[n_out - 1]))
    without_j = np.maximum(
        without_j, np.where(alone <= largest[n_out - 1], largest[n_out], largest[n_out - 1])
    )
    return with_j, without_j
