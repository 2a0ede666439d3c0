"""Gains of features outside a subset, when added or exchanged for a member."""

from __future__ import annotations

import numpy as np

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.criterion import Criterion


def outside_gains(criterion: Criterion, allowed: AllowedSubsets, subset: IntArray) -> FloatArray:
    """Return the gain of each group: added to a subset, then in place of each member."""
    # A group gains at least as much as its best column. The gain of members is minus
    # infinity.
    # With P = A_SS⁻¹, slopes W = P·A_S and weights w = P·D_S, a column has the residual
    # variance v and the residual products r. Without the members I they are v +
    # W_I'·P_II⁻¹·W_I and r + W_I'·P_II⁻¹·w_I.
    across = np.hstack([part for _, part in criterion.columns.rows(subset)])
    inverse = np.linalg.pinv(criterion.block(subset), hermitian=True)
    slopes, weights = inverse @ across, inverse @ criterion.D[subset]
    variance = criterion.columns.diagonal - np.einsum("ij,ij->j", across, slopes)
    products = criterion.D - across.T @ weights
    group_of = allowed.group_of[subset]
    parts = [np.empty(0, dtype=np.int64)]
    parts += [np.flatnonzero(group_of == member) for member in np.unique(group_of)]
    gains = np.full((len(parts), allowed.n_groups), -np.inf)
    for row, part in zip(gains, parts, strict=True):
        back = np.linalg.pinv(inverse[np.ix_(part, part)], hermitian=True)
        v = variance + np.einsum("ij,ij->j", slopes[part], back @ slopes[part])
        r = products + slopes[part].T @ back @ weights[part]
        skipped = v <= 0
        skipped[subset] = True
        gain = np.sum(r**2, axis=1) / np.where(skipped, 1.0, v)
        np.maximum.at(row, allowed.group_of, np.where(skipped, -np.inf, gain))
    return gains


def best_replacements(
    criterion: Criterion,
    allowed: AllowedSubsets,
    cost: FloatArray | None,
    subset: IntArray,
    n_best: int,
) -> IntArray:
    kept = allowed.selection_of(subset)
    members = np.flatnonzero(kept)
    gains = outside_gains(criterion, allowed, subset)[1:]
    if cost is not None:
        gains -= np.bincount(allowed.group_of, cost, minlength=allowed.n_groups)
    gains[:, allowed.exclude] = -np.inf
    for member, gain in zip(members, gains, strict=True):
        if allowed.conflicts is not None:
            gain[allowed.conflicts[np.setdiff1d(members, member)].any(axis=0)] = -np.inf
        best = np.argsort(-gain, kind="stable")[:n_best]
        kept[best[gain[best] > -np.inf]] = True
    return allowed.columns_of(kept)
